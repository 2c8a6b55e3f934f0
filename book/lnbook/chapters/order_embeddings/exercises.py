"""The exercises of the chapter on order embeddings."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value

# sticks-out


def penalty(caption: np.ndarray, picture: np.ndarray) -> float:
    """Return by how much a caption lies above a picture."""
    return (np.maximum(0, caption - picture) ** 2).sum()


def _pairs(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([0.5, 0.25]), np.array([0.25, 0.75])
    yield rng.random(6), rng.random(6)
    yield 2 * rng.random(9), rng.random(9)


# recall-at-k


def recall(places: np.ndarray, k: int) -> float:
    """Return the share of places from 1 to k."""
    return (places <= k).mean()


def _places(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([1, 5, 2, 9]), 2
    yield np.array([10, 11, 10, 1, 40]), 10
    yield rng.integers(1, 30, 50), 5


# place-of-the-right-one


def place(penalties: np.ndarray, right: int) -> int:
    """Return at which place the right one comes: of a tie, the last."""
    return (penalties <= penalties[right]).sum()


def _ranked(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([0.5, 0.25, 0.5, 0.75]), 0
    yield np.zeros(7), 3
    yield rng.integers(0, 6, 20) / 4, 11
    yield rng.random(30), 4


# numbers-of-a-box


def numbers(
    w: float, h: float, x1: float, y1: float, x2: float, y2: float
) -> tuple[float, float, float]:
    """Return root of the share of the area, and the center from 0 to 1."""
    area = (x2 - x1) * (y2 - y1) / (w * h)
    return area**0.5, (x1 + x2) / 2 / w, (y1 + y2) / 2 / h


def _boxes(rng: np.random.Generator) -> Iterator[tuple]:
    yield 100.0, 50.0, 10.0, 5.0, 60.0, 25.0
    for _ in range(3):
        w, h = rng.uniform(100, 600, 2)
        x1, x2 = np.sort(rng.uniform(0, w, 2))
        y1, y2 = np.sort(rng.uniform(0, h, 2))
        yield w, h, x1, y1, x2, y2


# time-of-equal-updates

NONE_MS, LAYER_MS = 14.9, 9.4  # of an update, as recorded

EXERCISES = {
    "sticks-out": Function(
        penalty,
        cases=_pairs,
        wrong={
            "you penalize what the picture has and the caption does not say. A caption may say "
            "less; turn the difference round.": lambda c, p: (np.maximum(0, p - c) ** 2).sum(),
            "that is a distance: it penalizes a caption for saying less, too. Cut off what is "
            "below 0 first.": lambda c, p: ((c - p) ** 2).sum(),
            "what sticks out is squared before it is added up.": lambda c, p: np.maximum(
                0, c - p
            ).sum(),
            "add the squares up; do not average them.": lambda c, p: (
                np.maximum(0, c - p) ** 2
            ).mean(),
        },
        right="It is not symmetric: swapped, picture and caption have another penalty.",
    ),
    "recall-at-k": Function(
        recall,
        cases=_places,
        wrong={
            "place k itself counts as found.": lambda places, k: (places < k).mean(),
            "that is how many were found; recall is their share.": lambda places, k: (
                places <= k
            ).sum(),
        },
        right="R@10 of 0.8: in 8 of 10 searches the right one is among the first ten.",
    ),
    "place-of-the-right-one": Function(
        place,
        cases=_ranked,
        wrong={
            "of a tie the right one must come last, not first: a network that gives all captions "
            "one penalty would be perfect.": lambda p, right: (p < p[right]).sum() + 1,
            "places are counted from 1.": lambda p, right: (p <= p[right]).sum() - 1,
            "the smallest penalty comes first.": lambda p, right: (p >= p[right]).sum(),
        },
        right="A network that cannot tell captions apart is last with every one of them.",
    ),
    "numbers-of-a-box": Function(
        numbers,
        cases=_boxes,
        returns=("root", "x", "y"),
        wrong={
            "take the root of the share: a box half as wide and half as high counts half.": (
                lambda w, h, x1, y1, x2, y2: (
                    (x2 - x1) * (y2 - y1) / (w * h),
                    (x1 + x2) / 2 / w,
                    (y1 + y2) / 2 / h,
                )
            ),
            "x and y are those of the center, not of the corner.": lambda w, h, x1, y1, x2, y2: (
                ((x2 - x1) * (y2 - y1) / (w * h)) ** 0.5,
                x1 / w,
                y1 / h,
            ),
            "these are pixels; a picture's size must not matter.": lambda w, h, x1, y1, x2, y2: (
                ((x2 - x1) * (y2 - y1)) ** 0.5,
                (x1 + x2) / 2,
                (y1 + y2) / 2,
            ),
        },
        right="With whether it is there and how often, these are the five numbers of a category.",
    ),
    "time-of-equal-updates": Value(
        100 * LAYER_MS / NONE_MS,
        within=0.6,
        wrong={
            100 * NONE_MS / LAYER_MS: "that is how much longer it takes without a norm.",
            100 - 100 * LAYER_MS / NONE_MS: "that is what is saved.",
            100.0: "in updates it is; in seconds an update with layer norm takes less here.",
        },
        right="About 60 % of the time, and layer norm has not learnt anything faster: the code of "
        "one GRU is faster. Ask of every such claim whether it counts updates or seconds.",
        otherwise="divide the milliseconds of the one by those of the other.",
    ),
}
