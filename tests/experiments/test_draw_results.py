"""Tables of DRAW: which runs count, what is a pair, who was there first, and the paper's claims."""

import math

import numpy as np
import pytest

from lnlib.experiments import draw
from lnlib.experiments._arms import arms
from lnlib.experiments.draw import results
from lnlib.runs import record

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]


def made(arm, rate, seed, bounds, end, **other):
    """A record with these bounds on validation, that took 2 s an epoch; a longer one ``other``."""
    settings = draw.Settings(**results.NAMED[arm], learning_rate=rate, epochs=3,
                             updates_an_epoch=100, **other)  # fmt: skip
    curves = {"epoch": EPOCHS, "val_bound": bounds, "wall_s": [2 * e + 1 for e in EPOCHS],
              "test_bound_of_all": [None] * 4 + [end]}  # fmt: skip
    return {"settings": settings.as_dict(), "seed": seed, "curves": curves}


def book(**other):
    """Plain is best at its last point, layer norm there at half of it; and a run explodes."""
    found = []
    for s in range(3):
        found += [
            made(results.PLAIN, 0.1, s, [9, 8, 7, 6, 5 + s / 10], 5.0 + s, **other),
            made(results.PLAIN, 0.2, s, [9, 8, 4 + 9 * (s > 0), None, None], None, **other),
            made(results.CHOSEN, 0.1, s, [9, 8, 7, 4.5, 4.6], 4.0 + s, **other),
            made(results.LAYER, 0.1, s, [9, 9, 9, 9, 9], 9.0, **other),
            made(results.LAYER, 0.2, s, [9, 6, 5 - s / 10, 4.7, 4.8], 4.5 + 2 * s, **other),
        ]
    return found


def test_each_arm_counts_at_the_rate_with_the_lowest_bounds_on_validation():
    found = arms(book(), results.NAMED, results.bounds)
    assert list(found) == ["none", "none, chosen start", "layer"]
    assert found["none"].rates == pytest.approx({0.1: 5.1, 0.2: (4 + 8 + 8) / 3})
    assert {name: arm.rate for name, arm in found.items()} == {
        "none": 0.1, "none, chosen start": 0.1, "layer": 0.2,
    }  # fmt: skip


def test_points_are_after_so_many_updates_and_seconds():
    run = made(results.LAYER, 0.1, 0, [9, 8, None, 6, 3], None)
    assert results.updates(run).tolist() == [0, 50, 100, 200, 300]
    assert results.seconds(run).tolist() == [1, 2, 3, 5, 7]
    assert np.isnan(results.bounds(run)).tolist() == [False, False, True, False, False]
    assert math.isnan(results.final(run))


def test_runs_of_other_settings_are_another_kind():
    both = book() + book(glimpses=16, batch_size=8)
    found = results.kinds(both)
    assert [len(runs) for _, runs in found] == [15, 15]
    assert found[1][0] == {"batch_size": 8, "epochs": 3, "glimpses": 16, "updates_an_epoch": 100}
    kept = [made(results.LAYER, 0.1, s, [9, 8, 7, 6, 5], 5.0, keep=s) for s in (0, 1)]
    assert len(results.kinds(kept)) == 1


def test_the_tables_say_what_was_found_beside_the_paper():
    said = results.text(book() + book(glimpses=16))
    first, second = said.split("\n\n")
    assert "Settings: epochs 3, updates an epoch 100" in first
    assert "glimpses 16" in second
    assert "    none                 0.1: 5.10*  0.2: 6.67" in first
    assert "    layer                5.00" not in first
    assert "    none                 6.00 (5.00 to 7.00), 3 seeds; 82.36 in the paper" in first
    assert "    layer                6.50 (4.50 to 8.50), 3 seeds; 82.09 in the paper" in first
    plain, chosen = first.split("  Layer norm against none, ")[1:]
    assert chosen.startswith("chosen start, 3 seeds (lowest to highest):")
    assert "end: +0.50 nats (-0.50 to +1.50); lower, as in the paper: undecided" in plain
    assert "33 %, 33 %, 33 %, mean 33 % (33 to 33); fewer: holds; almost half, " in plain
    assert "as in the paper (at most 60%): holds" in plain
    assert "seconds to the same: 43 %, 43 %, 43 %, mean 43 % (43 to 43); fewer: holds" in plain
    assert "lowest: never, never, never; fewer: does not hold; almost half" in chosen


def test_records_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match=r"records must differ in arm, .*, got none, 0\.1 twice"):
        results.text([*book(), made(results.PLAIN, 0.1, 0, [9, 8, 7, 6, 5], 5.0)])


@pytest.mark.skipif(not draw.RECORDED, reason="the book has no records of DRAW yet")
def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge():
    sweep = draw.PLANNED[0].given["images"]
    runs = [run for run in record.read_all("draw") if run["settings"]["images"] == sweep]
    found = arms(runs, results.NAMED, results.bounds)
    for name, arm in found.items():
        assert tuple(arm.rates) == draw.RATES
        assert arm.rate == draw.TUNED[tuple(results.NAMED[name].values())]
        assert not arm.at_edge
