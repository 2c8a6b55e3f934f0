"""Figure 6 and its table: the numbers drawn are the numbers recorded."""

import copy

import numpy as np
import pytest

from lnlib.explore import FAILS, HOLDS, MIXED
from lnlib.figures import mnist

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def run(norm, size, seed, nll, error):
    curves = {
        "x": "epoch",
        "epoch": EPOCHS,
        "train_nll": [2.3, nll * 4, nll * 2, nll],
        "test_nll": [2.3, 1.0, 0.5, 0.2],
        "batch_nll": [None, 1.0, 0.5, 0.2],
        "test_error": [0.9, error * 4, error * 2, error],
    }
    made = {"wall_s": 60.0, "device": "CPU: x", "threads": 1, "date": "2026-11-20T", "torch": "2"}
    settings = {"norm": norm, "batch_size": size, "epochs": 2}
    return {"settings": settings, "seed": seed, "curves": curves, "provenance": made}


def records(layer=0.02, batch=0.03):
    return [
        run(norm, size, seed, nll=error * 3, error=error + 0.001 * seed)
        for size in (128, 4)
        for norm, error in (("layer", layer), ("batch", batch * (1 + (size == 4))))
        for seed in (0, 1, 2)
    ]


@pytest.fixture
def runs():
    return mnist.Runs(records())


def lines(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_a_line_is_the_mean_of_the_seeds_and_its_band_their_range(runs):
    figure = mnist.draw(runs, 2.0, ["layer", "batch"], 2.0)[3]  # test error at batch size 4
    assert lines(figure)["batch norm"].y[-1] == pytest.approx(100 * (0.06 + 0.001))
    band = lines(figure)
    assert band["layer norm, highest seed"].y[-1] == pytest.approx(100 * 0.022)
    assert band["layer norm, lowest seed"].y[-1] == pytest.approx(100 * 0.020)
    names = [trace.name for trace in figure.data[:2]]
    assert names == ["layer norm, lowest seed", "layer norm, highest seed"]
    assert [trace.fill for trace in figure.data[:2]] == [None, "tonexty"]  # from low to high


def test_the_cursor_reads_the_last_point_before_it(runs):
    assert runs.at(0.7, "layer", 4, "test_error").mean() == pytest.approx(100 * 4 * (0.02 + 0.001))
    assert runs.at(0.0, "layer", 4, "train_nll").mean() == pytest.approx(2.3)
    assert runs.last == 2


def test_the_sentence_says_the_numbers_at_the_cursor(runs):
    said = mnist.describe(runs, 2.0, ["layer"], 2.0)
    assert "at batch size 128, layer norm 0.060 nats and 2.10 %" in said
    assert said.startswith("Training NLL and test error after 2 epochs")
    assert "after 1 epoch:" in mnist.describe(runs, 1.0, ["layer"], 2.0)
    assert "after 1 epoch:" in mnist.describe(runs, 2.0, ["layer"], 1.0)  # the axis ends there


def test_panels_are_those_of_the_paper_and_share_their_ranges(runs):
    figures = mnist.draw(runs, 1.0, ["layer"], 2.0)
    assert [f.layout.title.text for f in figures] == [title for *_, title in mnist.PANELS]
    assert figures[0].layout.yaxis.range == figures[1].layout.yaxis.range
    assert figures[2].layout.yaxis.range == figures[3].layout.yaxis.range


def verdicts(kept):
    return [row[1] for row in mnist.claims(mnist.Runs(kept)).rows]


def test_claims_hold_fail_or_mix_as_the_seeds_say():
    # Layer norm is better everywhere and does not move; batch norm doubles its error.
    assert verdicts(records()) == [HOLDS] * 5
    # Layer norm is worse at 128, and at 4 where batch norm's error is 0.02.
    assert verdicts(records(layer=0.05, batch=0.01)) == [FAILS, FAILS, HOLDS, FAILS, FAILS]
    mixed = copy.deepcopy(records())
    for r in mixed:
        if r["seed"] == 1 and r["settings"] == {"norm": "layer", "batch_size": 128, "epochs": 2}:
            r["curves"]["test_error"][-1] = 0.5
    assert verdicts(mixed) == [HOLDS, HOLDS, MIXED, MIXED, HOLDS]


def test_the_table_says_where_the_records_come_from(runs):
    table = mnist.origin(runs)
    assert table.rows[0] == ["layer norm, batch size 128", "0, 1, 2", "2", "1.0 min"]
    assert len(table.rows) == 4
    assert table.caption == "Made on CPU: x, 1 thread; PyTorch 2; 2026-11-20."


def test_no_records_says_how_to_make_them():
    with pytest.raises(ValueError, match="record them with: make replay"):
        mnist.Runs([])


def test_runs_measured_at_different_epochs_are_refused():
    kept = records()
    kept[0]["curves"]["epoch"] = [0.0, 0.4, 1.0, 2.0]
    with pytest.raises(ValueError, match="measured at different epochs"):
        mnist.Runs(kept)


def test_the_race_draws_what_it_is_given():
    results = [
        {"layer": {"epoch": 0.0, "train_nll": 2.3, "test_error": 0.9}},
        {"layer": {"epoch": 1.0, "train_nll": 0.5, "test_error": 0.1}},
    ]
    nll, error = mnist.draw_race(results, batch_size=4)
    assert np.array_equal(nll.data[0].y, [2.3, 0.5])
    assert np.allclose(error.data[0].y, [90, 10])
    assert mnist.describe_race(results, batch_size=4) == (
        "After 1 epoch: layer norm 0.500 nats, 10.0% wrong."
    )
    assert "Press Start" in mnist.describe_race([], batch_size=4)
