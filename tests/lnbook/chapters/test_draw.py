"""Curves, rates and verdicts of DRAW are those of the records, whatever is recorded."""

import numpy as np
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
    assert list(known.kinds[figures.MAIN]) == list(run_groups.LOOKS)
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


def test_curves_lie_at_the_points_or_on_a_grid_of_seconds_that_all_runs_reach(known):
    where, values = known.curves(figures.MAIN, figures.LAYER, "updates")
    assert where.tolist() == [0, 50, 100, 200, 300]
    assert values.tolist() == [[91, 61, 56, 51 - s, 46] for s in range(3)]
    where, values = known.curves(figures.MAIN, figures.LAYER, "seconds")
    assert (where[0], where[-1]) == (0, 6)  # the plain runs' end
    # Seed 2 takes 7 s an epoch: at 3.5 s it has been measured, at 1.75 s it is on its way.
    assert np.interp(3.5, where, values[2]) == pytest.approx(61, abs=0.6)
    assert np.interp(1.75, where, values[2]) == pytest.approx(76, abs=0.6)


def test_the_lead_is_taken_seed_by_seed(known):
    _, lead = known.lead(figures.MAIN, figures.CHOSEN, "updates")
    assert lead.tolist() == [[0, -10, -5, 8 - s, 4] for s in range(3)]
    odd = figures.Runs([r for r in book() if (r["settings"]["norm"], r["seed"]) != ("none", 0)],
                       results.TASK)  # fmt: skip
    _, lead = odd.lead(figures.MAIN, figures.CHOSEN, "updates")
    assert lead.tolist() == [[0, -10, -5, 8 - s, 4] for s in (1, 2)]


def test_the_share_is_where_layer_norm_s_line_first_is_as_low(monkeypatch):
    monkeypatch.setattr(runs.Runs, "EARLY", 50)
    known = figures.Runs(book(), results.TASK)
    where, share = known.share(figures.MAIN, figures.PLAIN, "updates")
    assert where.tolist() == [50, 100, 200, 300]
    # Seed 0, from 90 at 0 and 60 at 50 updates: 80, 70, 60 and 50 are there at 16.7, 33.3, ...
    assert share[0] == pytest.approx([1 / 3, 1 / 3, 1 / 4, 200 / 300])
    assert share[1][-1] == pytest.approx((100 + 100 * 5 / 6) / 300)
    where, share = known.share(figures.MAIN, figures.PLAIN, "seconds")
    assert where.tolist() == [1, 2, 4, 6]
    assert share[0] == pytest.approx([0.5, 0.5, 3 / 8, 1])
    _, never = known.share(figures.MAIN, figures.CHOSEN, "updates")
    assert np.isnan(never[:, -2:]).all()
    text = curves.RACE.describe_curves(known, "share", "updates")
    assert text.startswith("Updates that layer norm needs for the other's lowest bound")
    assert "in its first 100: 50 %, in all 300: more than all (mean of 3 seeds)." in text


def test_the_sentence_says_where_the_lead_was_largest_and_what_is_left(known):
    text = curves.RACE.describe_curves(known, "lead", "updates")
    assert "no norm, 20.0 ahead after 50 updates and 5.0 ahead at the end" in text
    assert "tuned initialization, 10.0 ahead after 50 updates and 4.0 behind at the end" in text
    text = curves.RACE.describe_curves(known, "loss", "updates")
    assert "no norm 51.0, no norm, tuned initialization 42.0, layer norm 46.0" in text


@pytest.mark.parametrize("axis", learning_curves.AXES)
@pytest.mark.parametrize("shown", curves.RACE.shown.values())
@pytest.mark.parametrize("kind", [figures.MAIN, runs.LONGER])
def test_every_arm_that_is_recorded_is_drawn(known, kind, shown, axis):
    (figure,) = curves.RACE.draw_curves(known, shown, axis, kind)
    lines = {t.name for t in figure.data if t.name and "edge" not in t.name}
    labels = {look[0] for look in run_groups.LOOKS.values()}
    against = {"compared with no norm", "compared with no norm, tuned initialization"}
    assert lines == (labels if shown == "loss" else against)


def test_each_best_rate_has_a_ring_and_an_end_is_said_to_be_one(known):
    (figure,) = curves.RACE.draw_rates(known)
    rings = [(t.x[0], t.y[0]) for t in figure.data if t.mode == "markers"]
    assert rings == [(0.2, 50), (0.1, 40)]
    text = curves.RACE.describe_rates(known)
    assert "no norm at 0.2 (50.0 nats, 70.0 at the worst rate)" in text
    assert "layer norm at 0.1, the edge of the grid (40.0 nats" in text
    assert run_groups.MISSING in curves.RACE.describe_rates(figures.Runs(book(), results.TASK))


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
