"""Tables of DRAW: which runs count, what is a pair, who was there first, and the paper's claims."""

import math

import numpy as np
import pytest

from lnlib.experiments import draw
from lnlib.experiments.draw import results
from lnlib.runs import record

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]


def made(arm, rate, seed, bounds, end, **other):
    """A record with these bounds on validation, that took 2 s an epoch; a longer one ``other``."""
    norm, start = arm
    settings = draw.Settings(norm=norm, start=start, learning_rate=rate, epochs=3,
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


def test_the_rate_of_an_arm_is_the_one_with_the_lowest_mean_on_validation():
    found = results.sweep(book())
    assert list(found) == list(draw.ARMS)
    assert found[results.PLAIN] == pytest.approx({0.1: 5.1, 0.2: (4 + 8 + 8) / 3})
    assert found[results.LAYER] == pytest.approx({0.1: 9, 0.2: 4.7})
    runs = results.at_best_rates(book())
    rates = {arm: {r["settings"]["learning_rate"] for r in rs.values()} for arm, rs in runs.items()}
    assert rates == {results.PLAIN: {0.1}, results.CHOSEN: {0.1}, results.LAYER: {0.2}}


def test_the_race_is_to_the_first_point_as_good_as_the_others_best():
    runs = results.at_best_rates(book())
    found = results.pairs(runs[results.LAYER], runs[results.PLAIN])
    # Plain after 300 updates and 7 s; layer norm just so after 100 in seed 0, and before in others.
    np.testing.assert_allclose(found.updates, [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(found.seconds, [3 / 7, 3 / 7, 3 / 7])
    np.testing.assert_allclose(found.bound, [-0.5, 0.5, 1.5])
    found = results.pairs(runs[results.LAYER], runs[results.CHOSEN])
    assert np.isinf(found.updates).all()  # 4.7 and not 4.5


def test_only_seeds_that_both_arms_have_are_pairs():
    runs = results.at_best_rates(book())
    del runs[results.PLAIN][1]
    assert len(results.pairs(runs[results.LAYER], runs[results.PLAIN]).bound) == 2


def test_a_run_that_exploded_is_infinitely_bad_from_there():
    run = made(results.LAYER, 0.1, 0, [9, 8, None, math.nan, 3], None)
    assert results.bounds(run).tolist() == [9, 8, math.inf, math.inf, 3]
    assert results.final(run) == math.inf


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
    against = first.split("Layer norm against ")[1:]
    assert [part.split(",")[0] for part in against] == ["none", "none"]
    assert (
        "bound at the end: +0.50 (-0.50 to +1.50) nats; lower, as in the paper: undecided"
        in (against[0])
    )
    assert (
        "33 (33 to 33) %; fewer: holds; almost half, as in the paper (at most 60 %): holds"
        in (against[0])
    )
    assert "seconds to the same: 43 (43 to 43) %; fewer: holds" in against[0]
    assert "never there in 3 of 3" in against[1]
    assert "fewer: does not hold" in against[1]


def test_records_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match=r"records must differ in norm, .*, got none, 0\.1 twice"):
        results.text([*book(), made(results.PLAIN, 0.1, 0, [9, 8, 7, 6, 5], 5.0)])


@pytest.mark.skipif(not record.read_all("draw"), reason="the book has no records of DRAW yet")
def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge():
    for odd, runs in results.kinds(record.read_all("draw")):
        if odd.get("epochs") != draw.GRIDS[0].given["epochs"]:
            continue
        for arm, rates in results.sweep(runs).items():
            assert tuple(rates) == draw.RATES
            assert min(rates, key=rates.get) == draw.TUNED[arm]
            assert min(rates) < draw.TUNED[arm] < max(rates)
