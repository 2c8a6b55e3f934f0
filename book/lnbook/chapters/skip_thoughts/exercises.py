"""The exercises of the chapter ``skip_thoughts``."""

from __future__ import annotations

import numpy as np

import lnlib
from lnbook.exercises import Function


def _around(chapter):
    return np.stack([chapter[:-2], chapter[1:-1], chapter[2:]], axis=1)


def _around_cases(rng):
    yield (np.array([3, 1, 4, 1, 5]),)
    yield (np.array([7, 8, 9]),)
    yield (rng.integers(0, 99, size=int(rng.integers(5, 9))),)


def _cosines(vectors, k):
    x = vectors - vectors.mean(0)
    return x @ x[k] / np.linalg.norm(x, axis=1) / np.linalg.norm(x[k])


def _nearest(vectors, k, count):
    cosines = _cosines(vectors, k)
    cosines[k] = -np.inf
    return np.argsort(-cosines)[:count]


def _without_centers(vectors, k, count):
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ vectors[k] / lengths
    cosines[k] = -np.inf
    return np.argsort(-cosines)[:count]


def _by_product(vectors, k, count):
    x = vectors - vectors.mean(0)
    products = x @ x[k]
    products[k] = -np.inf
    return np.argsort(-products)[:count]


def _nearest_cases(rng):
    # Far from the origin, one of them long: without centers, or by products, others are nearest.
    yield np.array([[9.0, 8], [9, 9], [8, 9], [14, 12], [8, 7.5], [7, 9.5]]), 0, 2
    yield np.array([[1.0, 0], [5, 5.5], [2, 0.1], [-6, -4], [0, 2]]), 2, 3
    yield rng.normal(3, 1, size=(12, 4)) * rng.uniform(0.3, 3, size=(12, 1)), 5, 4


def _pair(u, v):
    return np.concatenate([np.abs(u - v), u * v])


def _pair_cases(rng):
    yield np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, 0.5])
    yield rng.normal(size=6), rng.normal(size=6)


def _area(scores, labels):
    one, other = scores[labels == 1], scores[labels == 0]
    return np.mean(one[:, None] > other) + np.mean(one[:, None] == other) / 2


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
    "sentence-and-neighbors": Function(
        _around,
        cases=_around_cases,
        wrong={
            "the order is before, sentence, after; these rows run backwards.": lambda chapter: (
                _around(chapter)[:, ::-1]
            ),
            "this is a column for each sentence; asked is a row.": lambda chapter: (
                _around(chapter).T
            ),
            "a chapter is no circle: its last sentence has none after it, its first none before.": (
                lambda chapter: np.stack([np.roll(chapter, 1), chapter, np.roll(chapter, -1)], 1)
            ),
        },
        right="Of each chapter the first and the last sentence are only ever foretold, never read.",
    ),
    "nearest-sentences": Function(
        _nearest,
        cases=_nearest_cases,
        wrong={
            "a sentence is no neighbor of its own; leave `k` out.": lambda vectors, k, count: (
                np.argsort(-_cosines(vectors, k))[:count]
            ),
            "these are the farthest; the largest cosine is the nearest.": (
                lambda vectors, k, count: np.argsort(_cosines(vectors, k))[:count]
            ),
            "take the mean of all vectors away first: what they share tells none apart.": (
                _without_centers
            ),
            "these are products; a cosine divides by both lengths, so that long vectors are not "
            "near to all.": _by_product,
        },
        right="So were the lists under the maps made.",
    ),
    "features-of-a-pair": Function(
        _pair,
        cases=_pair_cases,
        wrong={
            "take the difference without its sign: which caption comes first must not matter.": (
                lambda u, v: np.concatenate([u - v, u * v])
            ),
            "keep the products apart, one a number; do not add them up.": lambda u, v: (
                np.concatenate([np.abs(u - v), [u @ v]])
            ),
            "the differences come first.": lambda u, v: np.concatenate([u * v, np.abs(u - v)]),
        },
        right="Swap the two and nothing changes. Of 128 numbers each they make 256.",
    ),
    "area-under-the-curve": Function(
        _area,
        cases=_area_cases,
        wrong={
            "a tie counts a half: who gives all pairs one score must come to 1/2.": (
                lambda scores, labels: np.mean(
                    scores[labels == 1][:, None] > scores[labels == 0]
                )
            ),
            "this is the share in which the wrong one is ahead.": lambda scores, labels: (
                1 - _area(scores, labels)
            ),
        },
        right="It asks for the order alone, so it needs no threshold. Luck comes to 1/2.",
    ),
    "candidate-of-eq-27": Function(
        _candidate,
        cases=_candidate_cases,
        wrong={
            "the reset gate passes through a sigmoid first.": lambda from_x, from_h, r: np.tanh(
                lnlib.layer_norm(from_x) + r * lnlib.layer_norm(from_h)
            ),
            "each product has a norm of its own; here one norm is over the sum.": (
                lambda from_x, from_h, r: np.tanh(
                    lnlib.layer_norm(from_x + from_h / (1 + np.exp(-r)))
                )
            ),
            "here the gate is inside the norm; in eq. 27 it is outside.": (
                lambda from_x, from_h, r: np.tanh(
                    lnlib.layer_norm(from_x) + lnlib.layer_norm(from_h / (1 + np.exp(-r)))
                )
            ),
            "tanh is missing.": lambda from_x, from_h, r: np.arctanh(_candidate(from_x, from_h, r)),
        },
        right="Eq. 27. As each product has its own norm, words of tiny vectors are heard at once.",
    ),
}  # fmt: skip
