"""Plateaus, final values and updates to a target, with known answers."""

import math

import numpy as np
import pytest

from lnlab import comparison
from lnlab.experiments import _curves

AT = np.arange(17.0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.exp(-AT), ""),
        (np.where(AT < 9, 9 - AT, 0), ""),
        (17 - AT, comparison.NO_PLATEAU),
        # Falls evenly from s to 0 over the last two quarters of 4 updates, whose means are 3s/4 and
        # s/4; the improvement is 1 - s/4.
        (np.interp(AT, [0, 8, 16], [1.0, 0.039, 0]), ""),
        (np.interp(AT, [0, 8, 16], [1.0, 0.040, 0]), comparison.NO_PLATEAU),
        (np.interp(AT, [0, 8, 16], [1.0, 0, 0.5]), comparison.WORSENS),
        (AT, comparison.NO_PROGRESS),
        (np.where(AT < 12, 1 / (1 + AT), math.nan), comparison.DIVERGED),
        (np.full(17, math.nan), comparison.DIVERGED),
        # Measured at uneven distances.
        (np.where(np.isin(AT, [0, 1, 2, 3, 11, 16]), np.exp(-AT), math.nan), ""),
    ],
)
def test_curves_plateau_if_the_last_quarters_differ_by_less_than_2_percent(values, reason):
    assert _curves.no_plateau(AT, np.asarray(values, float)) == reason
    assert _curves.no_plateau(AT, 5 - 3 * (5 - np.asarray(values, float))) == reason  # any unit


def test_steps_to_a_target_are_interpolated_on_the_smoothed_curve():
    at, values = np.array([0.0, 10, 20, 40, 80]), np.array([8.0, 8, 2, 2, 2])
    # Smoothed: 8, 6, 4, 2, 2.
    for target, steps in ((8, 0), (7, 5), (3, 30), (2, 40), (1.9, math.inf)):
        assert _curves.steps_to_target(at, values, target) == steps
    spike = np.array([8.0, 8, -1, 8, 8])  # one low point is not enough
    assert _curves.steps_to_target(at, spike, 4) == math.inf


def test_ratios_are_infinite_if_a_target_was_never_reached():
    ratio = _curves.steps_to_target_ratio
    assert (ratio(30, 40), ratio(math.inf, 40), ratio(40, math.inf)) == (0.75, math.inf, -math.inf)
    assert math.isnan(ratio(math.inf, math.inf))
    assert math.isnan(ratio(3, 0))
