"""Plateaus of curves and the number of updates to a target; lower values are better.

:mod:`lnlab.comparison` describes the protocol.
"""

import math

import numpy as np

from lnlab.comparison import DIVERGED, NO_PLATEAU, NO_PROGRESS, WORSENS

TARGETS = (0.5, 0.75, 0.9)  # of the way from the initial value to the baseline's plateau
LAST, FEWEST = 0.25, 3  # the end of a curve: fraction of the measuring points, and the minimum
DRIFT = 0.02  # plateau: fraction of the improvement from the quarter before the end to the end


def no_plateau(updates: np.ndarray, values: np.ndarray) -> str:
    """Return why a curve has not reached a plateau, or ``""`` if it has.

    Args:
        updates: Number of updates at each measuring point, increasing, shape ``(points,)``.
        values: Values there, of which lower is better; NaN where nothing was measured.

    Example:
        >>> at = np.arange(17.0)
        >>> no_plateau(at, np.exp(-at)), no_plateau(at, 17 - at)
        ('', 'stopped before a plateau')
    """
    known = ~np.isnan(values)
    if known.sum() < 2 or not known[-1]:
        return DIVERGED
    fine = np.linspace(0, LAST, 201)  # equal weights, however points are spaced
    last, before = (
        np.interp(updates[-1] * (1 - k * LAST - fine), updates[known], values[known]).mean()
        for k in (0, 1)
    )
    improved = values[known][0] - last
    if improved <= 0:
        return NO_PROGRESS
    if abs(before - last) < DRIFT * improved:
        return ""
    return NO_PLATEAU if before > last else WORSENS


def end_value(values: np.ndarray) -> float:
    """Return the mean of the last quarter of the measured values, at least three of them.

    Example:
        >>> end_value(np.array([9.0, 4.0, 3.0, 2.0]))
        3.0
    """
    if not len(values) or np.isnan(values[-1]):
        return math.nan
    known = values[~np.isnan(values)]
    return float(known[-max(FEWEST, round(LAST * len(known))) :].mean())


def smoothed(values: np.ndarray) -> np.ndarray:
    """Return the moving average over three measuring points; the first value is unchanged.

    Example:
        >>> smoothed(np.array([9.0, 6.0, 3.0, 0.0]))
        array([9. , 6. , 3. , 1.5])
    """
    around = [values[max(0, k - 1) : k + 2].mean() for k in range(1, len(values))]
    return np.array([*values[:1], *around])


def targets(values: np.ndarray) -> np.ndarray:
    """Return the targets, from the mean curve of a baseline that has reached its plateau."""
    first = values[~np.isnan(values)][0]
    return first + np.array(TARGETS) * (end_value(values) - first)


def steps_to_target(updates: np.ndarray, values: np.ndarray, target: float) -> float:
    """Return the number of updates at which a smoothed curve first reaches a target.

    Values between measuring points are interpolated linearly. Infinite if it is never reached.

    Example:
        >>> steps_to_target(np.array([0.0, 100, 200, 300]), np.array([9.0, 6, 3, 0]), 4.5)
        150.0
    """
    known = ~np.isnan(values)
    steps, curve = np.asarray(updates)[known], smoothed(np.asarray(values)[known])
    reached = np.flatnonzero(curve <= target)
    if not len(reached):
        return math.inf
    k = int(reached[0])
    if k == 0:
        return float(steps[0])
    fraction = (curve[k - 1] - target) / (curve[k - 1] - curve[k])
    return float(steps[k - 1] + fraction * (steps[k] - steps[k - 1]))


def steps_to_target_ratio(method: float, baseline: float) -> float:
    """Return the ratio of two numbers of updates, either of which can be infinite.

    Infinite if only the method never reached the target, minus infinity if only the baseline never
    did, NaN if neither did.
    """
    if math.isinf(baseline):
        return math.nan if math.isinf(method) else -math.inf
    return method / baseline if baseline > 0 else math.nan
