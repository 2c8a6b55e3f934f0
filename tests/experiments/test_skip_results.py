"""Tables of skip-thoughts: which runs count, who was there first, what the claims come to."""

import numpy as np
import pytest

from lnlib.experiments.skip_thoughts import TASKS, results


def made(norm, rate, seed, losses, start="code", ms=10.0, tasks=(50.0, 60.0)):
    """A record of two epochs of 10 updates, measured before, within and after them."""
    names = [kind + task for kind in ("", "bag_") for task in TASKS]
    curves = {"epoch": [0.0, 0.5, 1.0, 2.0], "val_nll": losses,
              "update_ms": [None, 2 * ms, ms, ms],
              **{n: [tasks[0] / 100, None, None, tasks[1] / 100] for n in names}}  # fmt: skip
    cases = {t: 10 for t in TASKS} | {f"{t}_most": 6 for t in TASKS}
    return {
        "settings": {"norm": norm, "start": start, "learning_rate": rate, "batch_size": 4,
                     "length": 9, "epochs": 2, "updates_an_epoch": 10, "condition": "start"},
        "seed": seed, "data": {"cases": cases}, "curves": curves,
    }  # fmt: skip


def book():
    runs = []
    for s in (0, 1, 2):
        runs += [
            made("none", 0.1, s, [9, 8, 7, 6 + s / 10]),
            made("none", 0.2, s, [9, 8, 5 - s / 10, 6], tasks=(50, 61 + s)),
            made("none", 0.1, s, [9, 8, 7, 5.5], "scaled", tasks=(50, 66)),
            made("layer", 0.1, s, [9, 8, 6, 6]),
            made("layer", 0.2, s, [9, 4.9, 4.8, 5], ms=12.0, tasks=(51, 65 - s)),
        ]
    return runs


def test_each_arm_counts_at_the_rate_of_its_lowest_mean_loss():
    assert results.sweep(book())["none", "code"] == pytest.approx({0.1: 6.1, 0.2: 4.9})
    found = results.at_best_rates(book())
    rates = {arm: {r["settings"]["learning_rate"] for r in runs} for arm, runs in found.items()}
    assert rates == {("none", "code"): {0.2}, ("none", "scaled"): {0.1}, ("layer", "code"): {0.2}}


def test_seconds_are_those_of_the_updates_alone():
    run = made("none", 0.1, 0, [9, 8, 7, 6])
    np.testing.assert_allclose(results.seconds(run), [0, 0.1, 0.15, 0.25])
    assert results.update_ms(run) == pytest.approx(12.5)
    assert results.reached(run, 7.5) == pytest.approx((10, 0.15))
    assert np.isnan(results.reached(run, 1.0)).all()


def test_claims_are_differences_seed_by_seed_below_0_where_they_are_true():
    found = {claim.text: claim for claim in results.claims(results.at_best_rates(book()))}
    faster = found["faster to the best loss of none (share)"]
    # The best of none, 5, 4.9 and 4.8, comes at 10 updates; layer is there at 5, 5 and 10.
    np.testing.assert_allclose(faster.differences, [-0.5, -0.5, 0])
    mr = found["better on MR at the end than none (points)"]
    np.testing.assert_allclose(mr.differences, [-4, -2, 0], atol=1e-9)
    behind = found["better on CR at the end than none with a scaled start (points)"]
    assert (behind.verdict, mr.verdict) == ("does not hold", "undecided")


def test_the_table_says_what_cannot_be_compared_and_when_a_rate_lies_at_the_edge():
    alone = made("layer", 0.3, 7, [9, 8, 7, 6])
    alone["settings"]["batch_size"] = 99
    told = results.text([*book(), alone])
    assert "none                 0.1: 6.100  0.2: 4.900*  (at the edge)" in told
    assert "99 sentences of at most 9 words, 20 updates: at_best_rates: records must have" in told
    assert "open, not run here" in told


def test_two_runs_of_one_rate_and_seed_are_refused():
    with pytest.raises(ValueError, match=r"got none, 0\.2 twice with one seed"):
        results.at_best_rates([*book(), made("none", 0.2, 1, [9, 8, 1, 1])])
