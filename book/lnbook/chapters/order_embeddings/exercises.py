"""The exercises of the chapter ``order_embeddings``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

# order-violation-penalty


def penalty(caption: np.ndarray, image: np.ndarray) -> float:
    """Return the sum of the squared violations of the order, ``max(0, caption - image)``."""
    return (np.maximum(0, caption - image) ** 2).sum()


def _vectors(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([0.5, 0.25]), np.array([0.25, 0.75])
    yield rng.random(6), rng.random(6)
    yield 2 * rng.random(9), rng.random(9)


# rank-of-the-correct-caption


def rank(penalties: np.ndarray, correct: int) -> int:
    """Return the rank of the correct caption; among ties it comes last."""
    return (penalties <= penalties[correct]).sum()


def _penalties(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([0.5, 0.25, 0.5, 0.75]), 0
    yield np.zeros(7), 3
    yield rng.integers(0, 6, 20) / 4, 11
    yield rng.random(30), 4


# recall-at-k


def recall(ranks: np.ndarray, k: int) -> float:
    """Return the fraction of ranks from 1 to k."""
    return (ranks <= k).mean()


def _ranks(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([1, 5, 2, 9]), 2
    yield np.array([10, 11, 10, 1, 40]), 10
    yield rng.integers(1, 30, 50), 5


# margin-ranking-loss


def ranking_loss(E: np.ndarray, margin: float) -> float:
    """Return the hinge loss over all mismatched images and captions, per matching pair.

    Args:
        E: Penalties, shape ``(N, N)``: a row per caption and a column per image; matching pairs are
            on the diagonal.
        margin: Minimum difference between the penalties of mismatched and matching pairs.
    """
    matching = np.diagonal(E)
    images = np.maximum(0, margin + matching[:, None] - E)
    captions = np.maximum(0, margin + matching - E)
    return ((images + captions) * ~np.eye(len(E), dtype=bool)).sum() / len(E)


def _only_images(E: np.ndarray, margin: float) -> float:
    losses = np.maximum(0, margin + np.diagonal(E)[:, None] - E)
    return (losses * ~np.eye(len(E), dtype=bool)).sum() / len(E)


def _with_diagonal(E: np.ndarray, margin: float) -> float:
    return ranking_loss(E, margin) + 2 * margin


def _not_averaged(E: np.ndarray, margin: float) -> float:
    return ranking_loss(E, margin) * len(E)


def _without_margin(E: np.ndarray, margin: float) -> float:
    return ranking_loss(E, 0.0)


def _matrices(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[0.25, 0.5], [0.0, 0.5]]), 0.125
    yield rng.random((3, 3)), 0.05
    yield rng.random((6, 6)), 0.5


EXERCISES = {
    "order-violation-penalty": Function(
        penalty,
        cases=_vectors,
        misconceptions={
            "you penalize what the image has and the caption does not mention, which is allowed; "
            "swap the two in the difference.": lambda c, p: (np.maximum(0, p - c) ** 2).sum(),
            "this is a squared distance, which also penalizes a caption that mentions less; set "
            "negative differences to 0 first.": lambda c, p: ((c - p) ** 2).sum(),
            "square each violation before you sum them.": lambda c, p: np.maximum(0, c - p).sum(),
            "sum the squared violations instead of averaging them.": lambda c, p: (
                np.maximum(0, c - p) ** 2
            ).mean(),
        },
        on_success="The penalty is not symmetric: it changes if caption and image are swapped.",
    ),
    "rank-of-the-correct-caption": Function(
        rank,
        cases=_penalties,
        misconceptions={
            "among ties the correct caption must come last. If it came first, a model that gives "
            "all captions the same penalty would have a perfect score.": lambda p, correct: (
                (p < p[correct]).sum() + 1
            ),
            "ranks start at 1.": lambda p, correct: (p <= p[correct]).sum() - 1,
            "the smallest penalty has rank 1.": lambda p, correct: (p >= p[correct]).sum(),
        },
        on_success="A model that gives all captions the same penalty gets the worst possible rank.",
    ),
    "recall-at-k": Function(
        recall,
        cases=_ranks,
        misconceptions={
            "rank k counts as well.": lambda ranks, k: (ranks < k).mean(),
            "this is the number of hits; recall is their fraction of all queries.": (
                lambda ranks, k: (ranks <= k).sum()
            ),
        },
        on_success="An R@10 of 0.8 means that in 8 of 10 queries the correct candidate is in the "
        "top ten.",
    ),
    "margin-ranking-loss": Function(
        ranking_loss,
        cases=_matrices,
        misconceptions={
            "you compare each caption with the other images (its row). Also compare each image "
            "with the other captions (its column).": _only_images,
            "leave out the diagonal: a matching pair is not compared with itself.": _with_diagonal,
            "divide the sum by the number of matching pairs.": _not_averaged,
            "add the margin before you set negative values to 0.": _without_margin,
        },
        on_success="Pairs that are already separated by the margin have no gradient, so training "
        "concentrates on the mistakes.",
    ),
}
