"""Curves, rates and verdicts of DRAW are those of the records, whatever is recorded."""

import pytest

from lnbook.chapters.draw import curves, figures, network, runs
from lnbook.figures import learning_curves, run_groups
from lnlab.experiments._task import STARTS
from lnlab.experiments.draw import Settings, results

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]


def made(arm, rate, seed, bounds, end, slow=1.0, **other):
    """A record of 300 updates, measured at five points; 2 s an epoch times ``slow``."""
    settings = Settings(**STARTS[arm], learning_rate=rate, epochs=3, updates_an_epoch=100,
                        **other)  # fmt: skip
    wall = [2 * slow * e for e in EPOCHS]
    curves = {"epoch": EPOCHS, "val_bound": bounds, "wall_s": wall, "test_kl": [1.0] * 5,
              "test_bound": [b + 1 for b in bounds],
              "test_bound_of_all": [None] * 4 + [end]}  # fmt: skip
    return {"settings": settings.as_dict(), "seed": seed, "curves": curves}


def book(**other):
    """Layer norm has no norm's best bound at half its updates, and is slower; chosen wins."""
    result = []
    for s in range(3):
        result += [
            made(figures.PLAIN, 0.1, s, [90, 80, 70, 60, 50], 50.0 + s, **other),
            made(figures.CHOSEN, 0.1, s, [90, 70, 60, 42, 41], 41.0, **other),
            made(figures.LAYER, 0.2, s, [90, 60, 55, 50 - s, 45], 52.0 - s, slow=1.5 + s, **other),
        ]
    return result


def sweep():
    return [
        made(arm, rate, 0, [90, 80, 75, 72, low], low, images=50)
        for arm, lows in ((figures.PLAIN, (55, 50, 70)), (figures.LAYER, (40, 41, 42)))
        for rate, low in zip((0.1, 0.2, 0.3), lows, strict=True)
    ]


@pytest.fixture(scope="module")
def known():
    return figures.Runs(sweep() + book() + book(glimpses=16)[:4], results.TASK)


def test_runs_are_told_apart_by_their_kind(known):
    assert list(known.recorded()) == ["standard settings", "16 glimpses"]
    assert known.missing == ["batch size 8"]
    assert {name: arm.rate for name, arm in known.sweep.items()} == {"none": 0.2, "layer": 0.1}
    assert list(known.kinds[figures.MAIN]) == list(run_groups.STYLES)
    assert list(figures.controls(known)) == ["kind", "shown", "axis"]
    small = figures.Runs(book(batch_size=8), results.TASK)
    assert (list(small.kinds), small.sweep) == (["batch size 8"], {})
    assert list(figures.controls(small)) == ["shown", "axis"]
    again = [made(figures.CHOSEN, 0.05, s, [90, 70, 60, 42, 39], 39.0) for s in range(3)]
    two_rates = figures.Runs(book() + again, results.TASK)
    assert two_rates.sweep == {}
    assert two_rates.kinds[figures.MAIN][figures.CHOSEN].rate == 0.05


def test_without_records_there_is_a_sentence():
    with pytest.raises(ValueError, match="no records were given; record them with"):
        figures.Runs([], results.TASK)


@pytest.mark.parametrize("axis", learning_curves.AXES)
@pytest.mark.parametrize("shown", curves.RACE.shown.values())
@pytest.mark.parametrize("kind", [figures.MAIN, runs.LONGER])
def test_every_arm_that_is_recorded_is_drawn(known, kind, shown, axis):
    (figure,) = curves.RACE.draw_curves(known, shown, axis, kind)
    lines = {t.name for t in figure.data if t.name and "edge" not in t.name}
    labels = {look[0] for look in run_groups.STYLES.values()}
    against = {"compared with no norm", "compared with no norm, tuned initialization"}
    assert lines == (labels if shown == "loss" else against)


def test_the_drawing_s_one_way_from_the_digit_to_the_canvas_meets_both_norms():
    ways = {}
    for wire in network.FLOW.wires:
        ways.setdefault(wire.source, []).append(wire.target)
    way, kinds = ["x"], []
    while way[-1] in ways:
        way.append(ways[way[-1]][0])
        kinds.append(network.FLOW.boxes[way[-1]].label)
    assert kinds == ["read", "LSTM", "LN", "z", "LSTM", "LN", "write", "", "canvas"]
    assert ways["c"] == ["add", "read"]
    assert ways["norm_d"] == ["write", "h_next"]
