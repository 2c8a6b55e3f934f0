"""The paired bootstrap: all resamples for few differences, and intervals."""

import numpy as np
import pytest

from lnlab import comparison
from lnlab.comparison import interval


def listed(differences, level):
    """All resamples by three nested loops, and quantiles by counting."""
    means = sorted((a + b + c) / 3 for a in differences for b in differences for c in differences)
    tail = (1 - level) / 2

    def quantile(p):
        return next(m for k, m in enumerate(means, start=1) if k / len(means) >= p)

    return quantile(tail), quantile(1 - tail)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_all_27_resamples_of_three_differences_are_used(level):
    differences = np.array([0.3, -1.2, 7.0])
    assert interval(differences, level=level) == pytest.approx(listed(differences, level))


@pytest.mark.parametrize("differences", [[1.0], [[1.0, 2.0]], [1.0, np.nan]])
def test_too_few_differences_raise_an_error(differences):
    with pytest.raises(ValueError, match="differences must be two or more finite numbers"):
        interval(np.array(differences))
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, such as 0.95, got 95"):
        interval(np.array([1.0, 2.0]), level=95)


def test_few_seeds_have_their_range_and_ten_an_interval():
    d = np.array([0.3, -1.2, 7.0, 1.0, 2.0, 0.1, 0.2, 3.0, -1.0])
    assert comparison.limits(d) == (-1.2, 7.0)
    assert comparison.limits_name(9) == "lowest to highest"
    more = np.append(d, 4.0)
    assert comparison.limits(more) == comparison.t_interval(more) != (more.min(), more.max())
    assert comparison.limits_name(10) == "95% interval"
