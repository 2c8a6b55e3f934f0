"""Recorded runs as arrays: grouping, sorting, comparison, and errors."""

import copy

import numpy as np
import pytest

from lnlab.analysis.recorded import RecordedRuns

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def run(norm, size, seed, epochs=EPOCHS, **settings):
    """A record whose numbers identify their origin."""
    value = {"layer": 1, "batch": 2}[norm] + size / 1000 + seed / 10
    curves = {"epoch": epochs, "train_nll": [k + value for k in range(len(epochs))]}
    curves["test_error"] = [None, *(value / 100 for _ in epochs[1:])]
    settings = {"norm": norm, "batch_size": size} | settings
    return {"settings": settings, "seed": seed, "curves": curves}


def records():
    return [
        run("layer", 4, 2), run("layer", 4, 0), run("batch", 4, 0), run("layer", 4, 1),
        run("batch", 4, 2), run("batch", 4, 3), run("layer", 128, 0, EPOCHS[1:]),
    ]  # fmt: skip


def read(given):
    return RecordedRuns(given, lambda s: (s["norm"], s["batch_size"]), "make replay")


LAYER, BATCH, LARGE = ("layer", 4), ("batch", 4), ("layer", 128)


def test_rows_are_sorted_by_seed_and_errors_in_percent():
    runs = read(records())
    assert [*runs.groups] == [LAYER, BATCH, LARGE]
    assert (runs.seeds(LAYER), runs.seeds(BATCH)) == ([0, 1, 2], [0, 2, 3])
    np.testing.assert_allclose(runs.curves(LAYER, "train_nll")[:, 1], [2.004, 2.104, 2.204])
    errors = runs.curves(BATCH, "test_error")
    assert np.isnan(errors[:, 0]).all()
    np.testing.assert_allclose(errors[:, 3], [2.004, 2.204, 2.304])


@pytest.mark.parametrize(("epoch", "point"), [(0, 0), (0.4999, 1), (0.9, 1), (1, 2), (7, 3)])
def test_values_are_from_the_last_measured_point(epoch, point):
    runs = read(records())
    at = runs.at(epoch, LAYER, "train_nll")
    np.testing.assert_array_equal(at, runs.curves(LAYER, "train_nll")[:, point])


def test_pairs_use_common_seeds():
    runs = read(records())
    pairs = runs.pairs(1.0, BATCH, LAYER, "train_nll")
    np.testing.assert_allclose(pairs, [[4.004, 4.204], [3.004, 3.204]])
    np.testing.assert_allclose(runs.difference(1.0, LAYER, BATCH, "train_nll"), [-1, -1])


def test_epochs_are_those_of_a_group_or_of_all_runs():
    runs = read(records())
    assert runs.epochs(LARGE).tolist() == [0.5, 1.0, 2.0] == runs.common().tolist()
    assert runs.epochs(LAYER).tolist() == EPOCHS == runs.among([LAYER, BATCH]).epochs().tolist()
    with pytest.raises(ValueError, match="must be measured at the same epochs; record them anew"):
        runs.epochs()


def test_unknown_groups_raise_an_error_that_lists_known_ones():
    with pytest.raises(ValueError, match="no run of weight, 8 was given; there are layer, 4"):
        read(records()).curves(("weight", 8), "train_nll")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no records were given; record them with: make replay"),
        ([*records(), run("layer", 4, 1)], "layer, 4: a seed occurs twice"),
        (
            [*records(), run("layer", 4, 9, EPOCHS[:3])],
            "layer, 4: runs must be measured at the same",
        ),
        (
            [*records(), run("batch", 4, 9, momentum=0.2, eps=1)],
            "batch, 4: runs must differ only in the seed, got different eps, momentum; select",
        ),
    ],
    ids=["none", "seed", "epochs", "settings"],
)
def test_incomparable_runs_raise_an_error(given, message):
    with pytest.raises(ValueError, match=message):
        read(copy.deepcopy(given))
