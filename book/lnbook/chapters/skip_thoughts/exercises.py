"""The exercises of the chapter ``skip_thoughts``."""

import numpy as np

import lnlib
from lnbook.exercises import Function


def _updates_to_target(updates, losses, target):
    k = int(np.argmax(losses <= target))
    share = (losses[k - 1] - target) / (losses[k - 1] - losses[k])
    return updates[k - 1] + share * (updates[k] - updates[k - 1])


def _curves(rng):
    yield np.array([0, 10, 30]), np.array([8.0, 6.0, 2.0]), 5.0
    yield np.array([0, 25, 100, 200]), np.array([7.5, 5.5, 5.0, 4.5]), 4.75
    updates = np.cumsum(rng.integers(1, 50, size=8))
    losses = 8 - np.cumsum(rng.uniform(0.1, 0.5, size=8))
    yield updates, losses, float(losses[4] + losses[5]) / 2


def _first_below(updates, losses, target):
    return updates[np.argmax(losses <= target)]


def _last_above(updates, losses, target):
    return updates[np.argmax(losses <= target) - 1]


def _unsorted(updates, losses, target):
    return np.interp(target, losses, updates)


def _cosines(vectors, k):
    x = vectors - vectors.mean(0)
    return x @ x[k] / np.linalg.norm(x, axis=1) / np.linalg.norm(x[k])


def _nearest(vectors, k, count):
    cosines = _cosines(vectors, k)
    cosines[k] = -np.inf
    return np.argsort(-cosines)[:count]


def _not_centered(vectors, k, count):
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ vectors[k] / lengths
    cosines[k] = -np.inf
    return np.argsort(-cosines)[:count]


def _by_inner_product(vectors, k, count):
    x = vectors - vectors.mean(0)
    products = x @ x[k]
    products[k] = -np.inf
    return np.argsort(-products)[:count]


def _nearest_cases(rng):
    # Far from the origin: without centering, or by inner products, others are nearest.
    yield np.array([[9.0, 8], [9, 9], [8, 9], [14, 12], [8, 7.5], [7, 9.5]]), 0, 2
    yield np.array([[1.0, 0], [5, 5.5], [2, 0.1], [-6, -4], [0, 2]]), 2, 3
    yield rng.normal(3, 1, size=(12, 4)) * rng.uniform(0.3, 3, size=(12, 1)), 5, 4


def _area(scores, labels):
    positive, negative = scores[labels == 1], scores[labels == 0]
    return np.mean(positive[:, None] > negative) + np.mean(positive[:, None] == negative) / 2


def _area_cases(rng):
    yield np.array([3.0, 1.0, 2.0, 0.0]), np.array([1, 1, 0, 0])
    yield np.array([1.0, 1.0, 0.0, 2.0]), np.array([1, 0, 0, 1])
    yield rng.integers(0, 6, size=15).astype(float), np.tile([0, 1, 0], 5)


def _candidate(from_x, from_h, r):
    return np.tanh(lnlib.layer_norm(from_x) + lnlib.layer_norm(from_h) / (1 + np.exp(-r)))


def _candidate_cases(rng):
    yield np.array([[1.0, 3.0, 2.0, 8.0]]), np.array([[0.0, 5.0, 1.0, 1.0]]), np.zeros((1, 4))
    yield rng.normal(1, 2, size=(3, 6)), rng.normal(2, 3, size=(3, 6)), rng.normal(size=(3, 6))


EXERCISES = {
    "updates-to-target": Function(
        _updates_to_target,
        cases=_curves,
        misconceptions={
            "this is the first measured point below the target; interpolate between it and the "
            "one before.": _first_below,
            "this is the last measured point above the target; interpolate between it and the "
            "next one.": _last_above,
            "np.interp needs increasing x values, and losses decrease; reverse both arrays.": (
                _unsorted
            ),
        },
        on_success="The ratio of these numbers for two networks is the speedup.",
    ),
    "nearest-neighbors": Function(
        _nearest,
        cases=_nearest_cases,
        misconceptions={
            "a sentence is not a neighbor of itself; leave out `k`.": lambda vectors, k, count: (
                np.argsort(-_cosines(vectors, k))[:count]
            ),
            "these are the farthest sentences; the nearest one has the largest cosine.": (
                lambda vectors, k, count: np.argsort(_cosines(vectors, k))[:count]
            ),
            "subtract the mean of all vectors first.": (
                _not_centered
            ),
            "these are inner products; a cosine is divided by both norms.": _by_inner_product,
        },
        on_success="The lists under the maps were computed in this way.",
    ),
    "area-under-the-roc-curve": Function(
        _area,
        cases=_area_cases,
        misconceptions={
            "a tie counts one half, so that equal scores for all pairs give 1/2.": (
                lambda scores, labels: np.mean(
                    scores[labels == 1][:, None] > scores[labels == 0]
                )
            ),
            "this is the fraction in which the pair with label 0 has the higher score.": (
                lambda scores, labels: 1 - _area(scores, labels)
            ),
        },
        on_success="It depends only on the order of the scores, so it needs no threshold. Chance "
        "level is 1/2.",
    ),
    "gru-candidate": Function(
        _candidate,
        cases=_candidate_cases,
        misconceptions={
            "apply a sigmoid to the summed inputs of the reset gate first.": (
                lambda from_x, from_h, r: np.tanh(
                    lnlib.layer_norm(from_x) + r * lnlib.layer_norm(from_h)
                )
            ),
            "normalize the two products separately, not their sum.": (
                lambda from_x, from_h, r: np.tanh(
                    lnlib.layer_norm(from_x + from_h / (1 + np.exp(-r)))
                )
            ),
            "in eq. 27 the gate multiplies the normalized product; here it is inside the norm.": (
                lambda from_x, from_h, r: np.tanh(
                    lnlib.layer_norm(from_x) + lnlib.layer_norm(from_h / (1 + np.exp(-r)))
                )
            ),
            "the tanh is missing.": (
                lambda from_x, from_h, r: np.arctanh(_candidate(from_x, from_h, r))
            ),
        },
        on_success="Because the products are normalized separately, small word vectors have an "
        "effect from the first update.",
    ),
}  # fmt: skip
