"""Deep transformers with and without a norm: the baseline must start at chance."""

import math

import pytest

from lnlab import comparison
from lnlab.claims.feedforward import BROKEN, deep
from tests.cases.toy_records import InMemory, make

CHANCE = math.log(65)


def runs(norm, seed, *, first=CHANCE, last=2.0, initialization="gpt2", depth=24, scaled=True,
         middle=None, rate=1e-3, **given):  # fmt: skip
    """A run that starts at a loss and levels off at another, or goes there from one between."""
    curves = {"epoch": [0, 1, 6], "val_nll": [first, last if middle is None else middle, last]}
    return make("transformer", seed, curves, norm=norm, depth=depth, learning_rate=rate,
                initialization=initialization, residual_scaling=scaled, **given)  # fmt: skip


def pair(**given):
    """Two seeds of both arms."""
    return [runs(norm, seed, last=2.0 + (norm == "none"), **given)
            for norm in ("layer", "none") for seed in (0, 1)]  # fmt: skip


@pytest.mark.parametrize("first", [CHANCE + 0.6, 750, math.nan])
def test_a_baseline_that_starts_above_chance_is_not_testable(first):
    broken = [run for run in pair(first=first) if run["settings"]["norm"] == "none"]
    sound = [run for run in pair() if run["settings"]["norm"] == "layer"]
    (result,) = deep(InMemory(broken + sound))
    assert str(result.label) == f"not testable here: {BROKEN}"


def test_the_verdict_rests_on_residual_scaling_where_that_is_recorded():
    xavier = pair(initialization="xavier", scaled=False)
    result = deep(InMemory(xavier))
    assert [one.counts for one in result] == [True]
    result = deep(InMemory(xavier + pair()))
    assert [(one.counts, "GPT-2" in one.description) for one in result] == [
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("recorded", [(12, 6), (24, 12)])
def test_the_verdict_rests_on_24_blocks_alone(recorded):
    every = [run for depth in recorded
             for run in pair(initialization="xavier", scaled=False, depth=depth)]  # fmt: skip
    assert [one.counts for one in deep(InMemory(every))] == [depth == 24 for depth in recorded]


def test_post_norm_is_compared_with_the_same_baseline_and_does_not_count():
    post = [runs("layer", seed, last=2.5, place="post") for seed in (0, 1)]
    findings = deep(InMemory(pair() + post))
    assert [one.counts for one in findings] == [True, False]
    assert [one.differences.tolist() for one in findings] == [[-1, -1], [-0.5, -0.5]]


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_losses_that_still_fall_are_not_testable_and_those_that_rise_late_are(norm):
    def label(middle):
        others = [run for run in pair() if run["settings"]["norm"] != norm]
        (result,) = deep(InMemory(others + [runs(norm, seed, middle=middle) for seed in (0, 1)]))
        return str(result.label)

    assert label(3.0) == f"not testable here: {comparison.NO_PLATEAU}"
    assert not label(1.5).startswith("not testable here")


def test_each_arm_has_its_best_rate_of_those_that_both_have_and_says_which():
    ends = {
        ("layer", 3e-4): 2.3, ("layer", 1e-3): 2.2, ("none", 3e-4): 2.4, ("none", 1e-3): 2.5,
        # The other arm has not been trained at these.
        ("layer", 3e-3): 1.9, ("none", 1e-4): 2.0,
    }  # fmt: skip
    every = [runs(norm, seed, rate=rate, last=last)
             for (norm, rate), last in ends.items() for seed in (0, 1)]  # fmt: skip
    (result,) = deep(InMemory(every))
    assert result.differences.tolist() == pytest.approx([-0.2, -0.2])
    assert result.shares.tolist() == pytest.approx([-0.2 / 2.4] * 2)
    used = {(r["settings"]["norm"], r["settings"]["learning_rate"]) for r in result.runs}
    assert used == {("layer", 1e-3), ("none", 3e-4)}
    assert result.description.endswith("pre-norm at rate 0.001 versus no norm at 0.0003")
    warm = [runs(norm, seed, warm_up=60, last=1.5) for norm in ("layer", "none") for seed in (0, 1)]
    (result,) = deep(InMemory(every + warm))
    assert result.description.endswith(
        "at rate 0.001 with warm-up versus no norm at 0.001 with warm-up"
    )
