"""Base of the replays: the updates of measurements, and the points that are shown."""

import numpy as np
import pytest

from lnbook.widgets.replay import base


@pytest.mark.parametrize(
    ("settings", "cases", "wanted"),
    [
        ({"updates_an_epoch": 250}, {}, [0, 62, 250, 750]),
        ({"batch_size": 32}, {"train_questions": 6400 + 31}, [0, 50, 200, 600]),
    ],
)
def test_epochs_are_numbers_of_updates_or_passes(settings, cases, wanted):
    run = {"settings": settings, "data": {"cases": cases}, "curves": {"epoch": [0, 0.25, 1, 3]}}
    assert base.updates(run) == wanted


def record(arm, seed=0, array=True, epochs=(0, 1), size=3):
    arrays = {"maps": np.zeros((2, size))} if array else {}
    return {"settings": {"norm": arm, "start": "usual", "updates_an_epoch": 10}, "seed": seed,
            "curves": {"epoch": list(epochs)}, "arrays": arrays}  # fmt: skip


def test_the_first_run_with_the_array_is_selected_for_each_arm():
    runs = [
        record("none", 0, array=False),
        record("layer", 1),
        record("none", 2),
        record("none", 3),
    ]
    arms = {"a": {"norm": "none"}, "b": {"norm": "layer"}, "c": {"norm": "batch"}}
    result = base.select_runs(runs, arms, "maps")
    assert {name: run["seed"] for name, run in result.items()} == {"a": 2, "b": 1}


ARMS = [("layer", "usual"), ("none", "usual")]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "contain at least one run; record them with"),
        ([record("none"), record("none", 1)], r"one run per norm and start, got two of \('none'"),
        ([record("none", array=False)], "of runs with keep, this one has no maps; record it"),
        ([record("none"), record("layer", size=4)], "same shape of maps, got shapes"),
        ([record("none"), record("layer", epochs=(0, 2))], "same updates and the same shape"),
    ],
)
def test_incompatible_records_raise_an_error(records, message):
    with pytest.raises(ValueError, match=f"^Widget: records must .*{message}"):
        base.records_by_arm("Widget", records, ARMS, "maps", "x")
