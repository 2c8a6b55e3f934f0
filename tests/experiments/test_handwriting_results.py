"""Tables of handwriting: which runs count, where, and who was there first."""

import numpy as np
import pytest

from lnlib.experiments import handwriting
from lnlib.experiments.handwriting import results
from lnlib.runs import record

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def made(norm, start, rate, seed, losses, *, seconds=1.0, **settings):
    """A record with these losses on lines of new writers; a test loss at each point."""
    chosen = handwriting.Settings(norm=norm, start=start, learning_rate=rate, **settings)
    curves = {
        "epoch": EPOCHS,
        "wall_s": [seconds * k for k in range(4)],
        "val_new_nll": losses,
        "test_new_nll": [9.0, 8.0, 0.5 + seed / 10 + (norm == "layer"), 7.0],
    }
    return {"settings": chosen.as_dict(), "seed": seed, "curves": curves}


def book(seeds=(0, 1, 2)):
    """Without norm the lower rate is better, with layer norm the higher."""
    runs = []
    for s in seeds:
        runs += [
            made("none", "usual", 0.1, s, [3.0, 2.5, 1.0 - s / 10, 1.1], seconds=2.0),
            made("none", "usual", 0.2, s, [3.0, None, None, None]),
            made("layer", "usual", 0.1, s, [3.0, 2.0, 1.5, 1.4]),
            made("layer", "usual", 0.2, s, [3.0, 0.95, 0.2, 0.3]),
        ]
    return runs


def test_the_rate_of_an_arm_is_the_one_with_the_lowest_mean_of_best_losses():
    found = results.sweep(book())
    assert found["none", "usual"] == pytest.approx({0.1: 0.9, 0.2: 3.0})
    assert found["layer", "usual"] == pytest.approx({0.1: 1.4, 0.2: 0.2})
    runs = results.at_best_rates(book())
    assert [r["settings"]["learning_rate"] for r in runs["layer", "usual"].values()] == [0.2] * 3
    assert list(runs["none", "usual"]) == [0, 1, 2]


def test_a_run_counts_on_each_split_where_it_was_best_on_validation():
    runs = results.at_best_rates(book())
    none, layer = (list(runs[arm].values()) for arm in (("none", "usual"), ("layer", "usual")))
    val, test = results.rows(none, layer)
    assert (val.split, test.split) == ("val_new", "test_new")
    np.testing.assert_allclose(val.difference, [-0.8, -0.7, -0.6])
    np.testing.assert_allclose(test.none, [0.5, 0.6, 0.7])
    np.testing.assert_allclose(test.difference, [1, 1, 1])


def test_the_race_is_to_the_first_point_as_good_as_the_best_without_norm():
    runs = results.at_best_rates(book())
    none, layer = (list(runs[arm].values()) for arm in (("none", "usual"), ("layer", "usual")))
    found = results.race(none, layer)
    # The best without norm, 1.0, 0.9 and 0.8, comes after 100 updates and 4 s; with layer norm 0.95
    # after 50 updates and 1 s, 0.2 after 100 and 2 s.
    np.testing.assert_allclose(found.updates, [0.5, 1, 1])
    np.testing.assert_allclose(found.seconds, [0.25, 0.5, 0.5])
    assert results.verdict(found.seconds) == "holds"
    never = results.race(layer, none)
    assert np.isinf(never.updates).all()
    assert results.verdict(never.updates) == "does not hold"
    assert results.verdict(np.array([0.5, np.inf, 0.5])) == "undecided"


def test_runs_of_each_kind_have_a_table_of_their_own():
    runs = [
        *book(),
        made("layer", "usual", 0.2, 0, [3.0, 2.0, 1.0, 0.5], batch_size=2, epochs=10),
        made("none", "chosen", 0.2, 0, [3.0, 2.0, 1.0, 0.25], batch_size=2, epochs=10),
    ]
    # What was kept and how the start was chosen make no kind.
    runs.append(made("none", "chosen", 0.1, 0, [2.0, 1.0, 0.5, 0.4], keep=9, input_scale=3.0))
    said = results.text(runs)
    first, second = said.split("\n\n")
    assert first.startswith("== settings as usual\n")
    assert second.startswith("== epochs 10, batch_size 2\n")
    assert "  none usual    0.1: 0.900*  0.2: 3.000" in first
    assert "  none chosen   0.1: 0.400*" in first
    assert "updates to its best, in percent: 50, 100, 100; sooner (figure 5): undecided" in first
    assert "seconds to its best, in percent: 25, 50, 50; sooner (figure 5): holds" in first
    (row,) = (s for s in first.splitlines() if s.startswith("  test_new_nll") and "(+1.000" in s)
    assert row.split() == [
        *("test_new_nll", "0.600", "1.600", "+1.000", "(+1.000", "to", "+1.000)"),
        *("lower:", "does", "not", "hold"),
    ]
    assert "none from the chosen start" in second
    assert "none from the usual start" not in second
    assert "updates to its best, in percent: never;" in second


def test_records_that_cannot_be_compared_are_refused():
    with pytest.raises(
        ValueError, match=r"must differ in norm, start, rate or seed, got none, usu"
    ):
        results.text(book() + book())


kept = record.read_all("handwriting", epochs=4)


@pytest.mark.skipif(not kept, reason="nothing is recorded yet")
def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge():
    for arm, rates in results.sweep(kept).items():
        assert tuple(rates) == handwriting.RATES
        assert min(rates, key=rates.__getitem__) == handwriting.TUNED[arm]
        assert min(rates) < handwriting.TUNED[arm] < max(rates)
