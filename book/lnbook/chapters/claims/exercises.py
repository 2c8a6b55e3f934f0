"""The exercises of the chapter ``claims``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

# share-of-updates


def share(plain: np.ndarray, other: np.ndarray) -> float:
    """Return the updates to the lowest loss of ``plain``, as a fraction of its own updates."""
    best = int(np.argmin(plain))
    reached = np.flatnonzero(other <= plain[best])
    return (reached[0] + 1) / (best + 1) if len(reached) else np.inf


def _share_cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.0, 1.2, 1.2])
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.9, 1.7, 1.8])  # never as low
    yield np.array([2.0, 1.0, 3.0]), np.array([2.5, 1.5, 0.5])  # later
    for _ in range(3):
        yield rng.uniform(1, 3, size=20), rng.uniform(0.8, 3, size=20)


def _share_with_end_for_never(plain: np.ndarray, other: np.ndarray) -> float:
    """Return a wrong answer: a target that is never reached counts as reached at the end."""
    result = share(plain, other)
    return result if np.isfinite(result) else len(other) / (np.argmin(plain) + 1)


# effective-smoothness


def smoothness(gradient: np.ndarray, others: np.ndarray, rates: np.ndarray) -> float:
    """Return the largest ratio of the change of the gradient to the norm of the step."""
    return float((_changes(gradient, others) / (rates * np.linalg.norm(gradient))).max())


def _changes(gradient: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.linalg.norm(others - gradient, axis=1)


def _smoothness_cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 4.0]), np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([0.1, 1.0])
    for points, size in ((1, 2), (3, 5), (6, 4)):
        others = rng.normal(size=(points, size))
        yield rng.normal(size=size), others, rng.uniform(0.1, 2, size=points)


EXERCISES = {
    "share-of-updates": Function(
        share,
        cases=_share_cases,
        on_success="This ratio can be compared between tasks. It is infinite if the other run is "
        "never as low, so that this does not count as a tie.",
        misconceptions={
            "this is when the other run is at its own best; the target is the plain run's best.": (
                lambda plain, other: (np.argmin(other) + 1) / (np.argmin(plain) + 1)
            ),
            "a run that never reaches the target does not reach it at its end: return `np.inf`.": (
                _share_with_end_for_never
            ),
            "the ratio is inverted: divide the other run's updates by the plain run's.": (
                lambda plain, other: 1 / share(plain, other)
            ),
        },
    ),
    "effective-smoothness": Function(
        smoothness,
        cases=_smoothness_cases,
        on_success="For a quadratic function along an axis this is its curvature.",
        misconceptions={
            "divide the change by the norm of the step: the rate times the norm of the gradient.": (
                lambda gradient, others, rates: _changes(gradient, others).max()
            ),
            "the norm of a step is the rate times the norm of the gradient, not only the rate.": (
                lambda gradient, others, rates: (_changes(gradient, others) / rates).max()
            ),
            "this is the mean over the steps; return the largest ratio.": (
                lambda gradient, others, rates: (
                    _changes(gradient, others) / (rates * np.linalg.norm(gradient))
                ).mean()
            ),
        },
    ),
}
