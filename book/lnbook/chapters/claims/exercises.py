"""The exercises of the chapter ``claims``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

# share-of-updates


def share(plain: np.ndarray, curve: np.ndarray) -> float:
    """Return after what fraction of the plain run's way to its lowest loss another is as low."""
    best = int(np.argmin(plain))
    reached = np.flatnonzero(curve <= plain[best])
    return (reached[0] + 1) / (best + 1) if len(reached) else np.inf


def _curves(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.0, 1.2, 1.2])
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.9, 1.7, 1.8])  # never
    yield np.array([2.0, 1.0, 3.0]), np.array([2.5, 1.5, 0.5])  # later than the plain one
    for _ in range(3):
        yield rng.uniform(1, 3, size=20), rng.uniform(0.8, 3, size=20)


def _never_is_the_end(plain: np.ndarray, other: np.ndarray) -> float:
    result = share(plain, other)
    return result if np.isfinite(result) else len(other) / (np.argmin(plain) + 1)


# effective-smoothness


def smoothness(gradient: np.ndarray, others: np.ndarray, rates: np.ndarray) -> float:
    """Return the largest ratio of the change of the gradient to the length of the step."""
    changes = np.linalg.norm(others - gradient, axis=1)
    return float((changes / (rates * np.linalg.norm(gradient))).max())


def _walks(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 4.0]), np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([0.1, 1.0])
    for points, size in ((1, 2), (3, 5), (6, 4)):
        others = rng.normal(size=(points, size))
        yield rng.normal(size=size), others, rng.uniform(0.1, 2, size=points)


EXERCISES = {
    "share-of-updates": Function(
        share,
        cases=_curves,
        right="This ratio can be compared between tasks. It is infinite if the other run never is "
        "as low, so that this does not count as a tie.",
        wrong={
            "this is when the other run is at its own best; the target is the plain run's best.": (
                lambda plain, other: (np.argmin(other) + 1) / (np.argmin(plain) + 1)
            ),
            "a run that never reaches the target does not reach it at its end: return `np.inf`.": (
                _never_is_the_end
            ),
            "the ratio is inverted: divide the other run's updates by the plain run's.": (
                lambda plain, other: 1 / share(plain, other)
            ),
        },
    ),
    "effective-smoothness": Function(
        smoothness,
        cases=_walks,
        right="For a quadratic function along an axis this is its curvature.",
        wrong={
            "the change has to be divided by the length of the step, the rate times the norm of "
            "the gradient.": lambda gradient, others, rates: np.linalg.norm(
                others - gradient, axis=1
            ).max(),
            "the length of a step is the rate times the norm of the gradient, not only the rate.": (
                lambda gradient, others, rates: (
                    np.linalg.norm(others - gradient, axis=1) / rates
                ).max()
            ),
            "this is the mean over the steps; return the largest ratio.": (
                lambda gradient, others, rates: (
                    np.linalg.norm(others - gradient, axis=1) / (rates * np.linalg.norm(gradient))
                ).mean()
            ),
        },
    ),
}
