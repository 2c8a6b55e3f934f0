"""Two methods, the same seeds: is one lower, or is it undecided?

Runs of one seed share their initial weights and the order of their cases, so differences are
taken pair by pair, and what a seed does to both drops out. Every verdict of the book on recorded
runs is :func:`verdict`'s.
"""

from __future__ import annotations

import itertools

import numpy as np

DRAWS = 20_000
EXACT = 6  # up to 6 differences all resamples are listed, 46,656 of them
#: Equally good methods differ in one direction in 2 of 2^n cases: below 5 % from six seeds on.
ENOUGH = 6
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


def _real(differences: np.ndarray) -> bool:
    """Say whether these are real numbers on one axis, with no mask, which would be lost."""
    d = np.asarray(differences)
    return not np.ma.isMaskedArray(differences) and d.dtype.kind in "fiub" and d.ndim == 1


def interval(
    differences: np.ndarray, *, level: float = 0.95, rng: np.random.Generator | None = None
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean.

    ::

        resample n of the n differences with replacement, take the mean; again and again
        low, high = the (1 - level)/2 and (1 + level)/2 quantiles of these means

    Up to six differences every resample is listed once, n^n of them, and nothing is random. Of few
    differences it promises more than it keeps: drawn from a normal distribution, ten of them give
    an interval that holds the true mean in about 90 % of cases, three in 75 %.

    Args:
        differences: One a seed, shape ``(n,)``, in any unit.
        level: Share of the means that lie inside, between 0 and 1.
        rng: Draws the resamples where they are too many to list. ``None`` means seed 0.

    Returns:
        ``(low, high)`` in the unit of ``differences``.

    Raises:
        ValueError: If there are fewer than two differences, one is not finite, or ``level`` is
            not between 0 and 1.

    Example:
        >>> interval(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = np.asarray(differences)
    if not _real(differences) or len(d) < 2 or not np.isfinite(d).all():
        raise ValueError(
            "interval: differences must be two or more finite numbers, one a seed, got "
            f"{differences!r}; record more seeds"
        )
    if not 0 < level < 1:
        raise ValueError(f"interval: level must lie between 0 and 1, such as 0.95, got {level!r}")
    n, d = len(d), d.astype(float)
    if n <= EXACT:
        drawn = np.array(list(itertools.product(range(n), repeat=n)))
    else:
        drawn = np.random.default_rng(0 if rng is None else rng).integers(n, size=(DRAWS, n))
    # Sorted first: the same three numbers in another order must not differ in the last digit.
    unit = 2.0 ** n.bit_length() if np.abs(d).max() > 1e300 else 1.0  # or their sum overflows
    means = np.sort(d / unit)[np.sort(drawn, axis=1)].mean(axis=1)
    # No interpolation: a quantile is a mean that was drawn.
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low * unit), float(high * unit)


def bounds(differences: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest of a few differences, the 95 % interval of more.

    Fewer than six differences have no 95 % interval: were both methods equally good, all of them
    would lie on one side of 0 too often. Nor have those of which one is infinite, where something
    was never reached.

    Args:
        differences: One a seed, shape ``(n,)``, in any unit.

    Returns:
        ``(low, high)`` in the unit of ``differences``.

    Raises:
        ValueError: If ``differences`` are not real numbers on one axis, or masked, or none.

    Example:
        >>> bounds(np.array([-3.0, -1.0, -2.0]))
        (-3.0, -1.0)
    """
    d = np.asarray(differences)
    if not _real(differences) or not len(d):
        raise ValueError(
            "bounds: differences must be real, without a mask, and of shape (n,), one a seed, got "
            f"{type(differences).__name__} of {d.dtype} {d.shape}; judge each column alone"
        )
    d = d.astype(float)
    if len(d) >= ENOUGH and np.isfinite(d).all():
        return interval(d)
    return float(d.min()), float(d.max())


def bounds_name(n: int) -> str:
    """Return what :func:`bounds` gives for ``n`` differences, in words.

    Example:
        >>> bounds_name(3), bounds_name(10)
        ('lowest to highest', '95 % interval')
    """
    return "95 % interval" if n >= ENOUGH else "lowest to highest"


def verdict(differences: np.ndarray) -> str:
    """Judge by paired differences, below 0 where a claim is true, whether it holds.

    Args:
        differences: One a seed, shape ``(n,)``, in any unit.

    Returns:
        ``HOLDS`` if both :func:`bounds` lie below 0, ``FAILS`` if both lie above, else
        ``UNDECIDED``; one seed leaves everything undecided.

    Example:
        >>> verdict(np.array([-3.0, -1.0, -2.0])), verdict(np.array([-3.0, 0.5, -2.0]))
        ('holds', 'undecided')
    """
    if np.ndim(differences) and len(differences) < 2:
        return UNDECIDED
    low, high = bounds(differences)
    return HOLDS if high < 0 else FAILS if low > 0 else UNDECIDED
