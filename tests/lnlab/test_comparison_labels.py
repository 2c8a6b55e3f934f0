"""Labels, their tests and Holm's correction, with known answers."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab import comparison
from lnlab.comparison import Evidence, label


@pytest.mark.parametrize(("less", "more"), [(0, 10), (3, 9), (6, 6), (1, 11)])
def test_infinite_differences_use_a_sign_test(less, more):
    d = np.array([-1.0] * less + [2.0] * (more - 1) + [math.inf, 0.0, math.nan])
    assert comparison.p_value(d) == pytest.approx(stats.binomtest(less, less + more).pvalue)


def test_equal_differences_are_significant_unless_they_are_0():
    assert comparison.p_value(np.full(10, -0.5)) == 0
    assert comparison.p_value(np.zeros(10)) == 1
    assert comparison.p_value(np.array([-0.5])) == 1


TEN = np.array([-1.0, -2.0, -1.5, -0.5, -1.2, -0.7, -1.1, -0.9, -1.4, -0.2])


@pytest.mark.parametrize(
    ("differences", "text", "side"),
    [
        ([-3.0, -1.0, -2.0], "3 of 3 seeds", 1),
        ([3.0, 1.0, 2.0], "0 of 3 seeds", -1),
        ([-3.0, 0.0, -2.0], "2 of 3 seeds", 0),  # equal values do not agree with the claim
        ([-3.0, math.inf, -2.0], "2 of 3 seeds", 0),
        ([-3.0, math.nan, -2.0], "2 of 3 seeds", 0),
        ([-3.0], "1 of 1 seed", 1),
        (TEN[:9], "9 of 9 seeds", 1),  # nine seeds have no verdict
        (TEN, "supported", 1),
        (-TEN, "contradicted", -1),
        (TEN - TEN.mean(), "undecided", 0),
        ([*TEN[:9], math.inf], "supported", 1),  # 9 of 10 by the sign test, p = 0.02
        ([*TEN[:8], math.inf, math.inf], "undecided", 0),
        ([math.inf] * 10, "contradicted", -1),
        ([math.nan] * 3, "not testable here", 0),
    ],
)
def test_differences_have_their_label(differences, text, side):
    result = label(np.array(differences))
    assert (result.text, result.side) == (text, side)
    few = len(differences) < 10
    kinds = {"not testable here": Evidence.NONE}
    assert result.evidence == kinds.get(text, Evidence.FEW if few else Evidence.MANY)


def test_the_label_uses_the_corrected_p_value():
    p = comparison.p_value(TEN)
    assert p < 0.001
    assert label(TEN, 0.051).text == "undecided"
    weak = TEN - TEN.mean() - 0.42  # below 5% without correction
    assert 0.01 < comparison.p_value(weak) < 0.05
    assert label(weak).text == "supported"
    few = [np.array([-3.0, 1.0]), comparison.NO_PLATEAU, np.full(10, np.nan)]  # not tested
    result = comparison.labels([weak, TEN - TEN.mean(), *few, TEN, weak, weak])
    assert [str(one) for one in result] == [
        "undecided", "undecided", "1 of 2 seeds", "not testable here: stopped before a plateau",
        "not testable here: no run has a number", "supported", "undecided", "undecided",
    ]  # fmt: skip
    assert comparison.labels([weak, *few])[0].text == "supported"


@pytest.mark.parametrize("differences", [-np.ones((3, 2)), np.ones(0), np.float64(3)])
def test_invalid_differences_raise_an_error(differences):
    with pytest.raises(ValueError, match=r"differences must be of shape \(n,\), one per seed, got"):
        label(differences)


def of(*differences):
    return [label(np.array(d)) for d in differences]


def test_combined_measurements_have_the_weakest_evidence():
    many, against, few = of(TEN, -TEN, [-1.0, 1.0, -2.0])
    open_, gone = (
        comparison.untestable(comparison.NO_PLATEAU),
        comparison.untestable(comparison.BUSY),
    )
    reported = {
        (many, many): "supported",
        (many, against): "undecided",
        (against, against): "contradicted",
        (many, few): "all seeds in 1 of 2 measures",
        (few, of([-1.0, -1, -1])[0], few): "2 to 3 of 3 seeds",
        (few, few): "2 of 3 seeds",
        (many, open_): f"not testable here: 1 of 2 measures: {comparison.NO_PLATEAU}",
        (open_, gone, open_): f"not testable here: {comparison.NO_PLATEAU}; {comparison.BUSY}",
        (open_,): f"not testable here: {comparison.NO_PLATEAU}",
    }
    for result, text in reported.items():
        assert str(comparison.together(result)) == text
    exact = [comparison.exact(np.array(d)) for d in ([-1.0, 0.0], [0.0], [-1.0, 1e-9])]
    assert [(one.text, one.side) for one in exact] == [
        ("holds", 1), ("holds", 1), ("does not hold", -1),
    ]  # fmt: skip
    assert comparison.together(exact[:2]).text == "holds"
    assert comparison.together(exact).text == "does not hold"  # one counterexample is enough
