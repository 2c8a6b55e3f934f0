"""Two methods, the same seeds: how sure is the mean difference?

Runs of one seed share their initial weights and the order of their cases, so differences are
taken pair by pair, and what a seed does to both drops out.
"""

from __future__ import annotations

import itertools

import numpy as np

DRAWS = 20_000
EXACT = 6  # up to 6 differences all resamples are listed, 46,656 of them


def interval(
    differences: np.ndarray, *, level: float = 0.95, rng: np.random.Generator | None = None
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean.

    ::

        resample n of the n differences with replacement, take the mean; again and again
        low, high = the (1 - level)/2 and (1 + level)/2 quantiles of these means

    Up to six differences every resample is listed once, n^n of them, and nothing is random. With
    three the interval is exactly from the lowest difference to the highest: all three draws hit
    the lowest in 1 of 27 resamples, more than the 2.5 % that would be cut off. It then misses the
    middle of a symmetric distribution in 1 case of 4, whatever ``level`` says.

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
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or len(d) < 2 or not np.isfinite(d).all():
        raise ValueError(
            "interval: differences must be two or more finite numbers, one a seed, got "
            f"{differences!r}; record more seeds"
        )
    if not 0 < level < 1:
        raise ValueError(f"interval: level must lie between 0 and 1, such as 0.95, got {level!r}")
    n = len(d)
    if n <= EXACT:
        drawn = np.array(list(itertools.product(range(n), repeat=n)))
    else:
        rng = np.random.default_rng(0) if rng is None else rng
        drawn = rng.integers(n, size=(DRAWS, n))
    # Sorted first: the same three numbers in another order must not differ in the last digit.
    means = np.sort(d)[np.sort(drawn, axis=1)].mean(axis=1)
    # No interpolation: a quantile is a mean that was drawn.
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)
