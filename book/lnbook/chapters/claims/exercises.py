"""The exercises of the chapter that weighs the claims."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value

# share-of-updates


def share(plain: np.ndarray, other: np.ndarray) -> float:
    """Return after what share of the plain run's way to its lowest loss another is as low."""
    best = int(np.argmin(plain))
    there = np.flatnonzero(other <= plain[best])
    return (there[0] + 1) / (best + 1) if len(there) else np.inf


def _curves(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.0, 1.2, 1.2])
    yield np.array([3.0, 2.0, 1.0, 1.5]), np.array([2.0, 1.9, 1.7, 1.8])  # never
    yield np.array([2.0, 1.0, 3.0]), np.array([2.5, 1.5, 0.5])  # later than the plain one
    for _ in range(3):
        yield rng.uniform(1, 3, size=20), rng.uniform(0.8, 3, size=20)


def _never_is_the_end(plain: np.ndarray, other: np.ndarray) -> float:
    found = share(plain, other)
    return found if np.isfinite(found) else len(other) / (np.argmin(plain) + 1)


# effective-smoothness


def smoothness(gradient: np.ndarray, others: np.ndarray, rates: np.ndarray) -> float:
    """Return the largest change of the gradient by the distance walked along it."""
    changes = np.linalg.norm(others - gradient, axis=1)
    return float((changes / (rates * np.linalg.norm(gradient))).max())


def _walks(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([3.0, 4.0]), np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([0.1, 1.0])
    for points, size in ((1, 2), (3, 5), (6, 4)):
        others = rng.normal(size=(points, size))
        yield rng.normal(size=size), others, rng.uniform(0.1, 2, size=points)


# three-seeds: all on one side, whichever, by chance alone

CHANCE = 2 * 0.5**3

EXERCISES = {
    "share-of-updates": Function(
        share,
        cases=_curves,
        right="One number that means the same on every task. Where the other never is as low, it "
        "is infinite: that must not count as a tie.",
        wrong={
            "this asks when the other is at its own best; the aim is the plain run's best.": (
                lambda plain, other: (np.argmin(other) + 1) / (np.argmin(plain) + 1)
            ),
            "a run that never gets there is not there at its end: return `np.inf`.": (
                _never_is_the_end
            ),
            "the share is upside down: the other's updates stand above the plain run's.": (
                lambda plain, other: 1 / share(plain, other)
            ),
        },
    ),
    "three-seeds": Value(
        CHANCE,
        wrong={
            0.125: "that is one side alone; all three could as well fall on the other.",
            0.05: "that is what a 95 % interval promises; three seeds cannot keep it.",
        },
        right="So three seeds that agree are a hint: one such claim in four would agree by chance.",
        otherwise="each difference falls on either side with chance 1/2.",
    ),
    "effective-smoothness": Function(
        smoothness,
        cases=_walks,
        right="It is the steepest change of the slope that was met; for a parabola, its curvature.",
        wrong={
            "the change is to be divided by the distance walked: rate times the gradient's "
            "length.": lambda gradient, others, rates: np.linalg.norm(
                others - gradient, axis=1
            ).max(),
            "the rate alone is no distance; a step is the rate times the gradient.": (
                lambda gradient, others, rates: (
                    np.linalg.norm(others - gradient, axis=1) / rates
                ).max()
            ),
            "this is the mean over the steps; asked for is the largest ratio.": (
                lambda gradient, others, rates: (
                    np.linalg.norm(others - gradient, axis=1) / (rates * np.linalg.norm(gradient))
                ).mean()
            ),
        },
    ),
    "within-a-margin": Function(
        lambda differences, margin: np.abs(differences) - margin,
        cases=lambda rng: [
            (np.array([0.2, -0.2]), 0.1),
            (np.array([0.05, -0.02, 0.0]), 0.1),
            (rng.normal(size=5), 0.3),
        ],
        right="Below 0 in every pair: no pair is further apart than the margin. Without a margin "
        "nothing could ever be called alike.",
        wrong={
            "this asks whether the first is lower; alike has two sides.": (
                lambda differences, margin: differences - margin
            ),
            "the sign is turned round: below 0 is where the claim is true.": (
                lambda differences, margin: margin - np.abs(differences)
            ),
        },
    ),
}
