"""The exercises of the chapter ``draw``."""

from __future__ import annotations

import numpy as np

import lnlib
from lnbook.exercises import Function, Value


def _centers(center, stride, size):
    return center + (np.arange(size) - (size - 1) / 2) * stride


def _centers_cases(rng):
    yield 13.5, 6.75, 5
    yield 4.0, 0.5, 2
    yield 20.0, 3.0, 4
    yield rng.uniform(5, 22), rng.uniform(0.5, 3), int(rng.integers(2, 7))


def _filter(center, deviation):
    heights = np.exp(-((np.arange(28) - center) ** 2) / (2 * deviation**2))
    return heights / heights.sum()


def _filter_cases(rng):
    yield 13.5, 1.0
    yield 2.0, 0.6
    yield 26.5, 3.0
    yield rng.uniform(5, 22), rng.uniform(0.5, 3)


def _code(mean, deviation):
    return ((mean**2 + deviation**2 - np.log(deviation**2) - 1) / 2).sum()


def _code_cases(rng):
    yield np.array([0.0, 1.0]), np.array([1.0, 0.5])
    yield rng.normal(size=20), rng.uniform(0.2, 1.5, 20)


def _out(c, o, gain, bias):
    return lnlib.layer_norm(c, gain, bias)


def _shown(c, o, gain, bias):
    return np.tanh(_out(c, o, gain, bias)) / (1 + np.exp(-o))


def _shown_cases(rng):
    yield np.array([[1.0, 3.0, 2.0, 8.0]]), np.zeros((1, 4)), np.ones(4), np.zeros(4)
    yield (
        rng.normal(2, 3, size=(3, 6)),
        rng.normal(size=(3, 6)),
        rng.uniform(0.5, 2, 6),
        rng.normal(size=6),
    )


def _reached(updates, bounds, target):
    return updates[np.flatnonzero(bounds <= target)[0]]


def _reached_cases(rng):
    yield np.array([0, 250, 500]), np.array([540.0, 180.0, 170.0]), 180.0
    yield np.arange(0, 2000, 250), np.array([540.0, 200, 171, 169.5, 172, 160, 158, 150]), 170.0
    updates, bounds = np.cumsum(rng.integers(50, 300, size=9)), rng.uniform(150, 250, size=9)
    yield updates, bounds, np.median(bounds)


EXERCISES = {
    "coin-flips": Value(
        784 * np.log(2),
        wrong={
            784.0: "these are bits: a coin is one bit, and ln 2 nats.",
            np.log(2): "this is one pixel; the image has 28 times 28.",
            784 * 0.5: "0.5 is the probability of a pixel; its nats are minus its logarithm.",
        },
        right="That is where every run of this page begins.",
        otherwise="the probabilities of independent pixels multiply, so their logarithms add.",
    ),
    "place-the-filters": Function(
        _centers,
        cases=_centers_cases,
        wrong={
            "the first filter lies at the center here; the middle of all of them should.": (
                lambda center, stride, size: center + np.arange(size) * stride
            ),
            "the stride is from one filter to the next, not over the whole window.": (
                lambda center, stride, size: np.linspace(
                    center - stride / 2, center + stride / 2, size
                )
            ),
            "they are half a stride off: the middle of 0 to `size - 1` is `(size - 1) / 2`.": (
                lambda center, stride, size: center + (np.arange(size) - size / 2) * stride
            ),
        },
        right="These are the dots of the picture, along one side.",
    ),
    "blur-a-filter": Function(
        _filter,
        cases=_filter_cases,
        wrong={
            "the weights must add up to 1: divide them by their sum.": (
                lambda center, deviation: np.exp(
                    -((np.arange(28) - center) ** 2) / (2 * deviation**2)
                )
            ),
            "in a Gaussian the distance is squared.": lambda center, deviation: (
                np.exp(-np.abs(np.arange(28) - center) / (2 * deviation**2))
                / np.exp(-np.abs(np.arange(28) - center) / (2 * deviation**2)).sum()
            ),
        },
        right="Near the edge the sum keeps it from fading: each filter always has weight 1.",
    ),
    "price-of-a-code": Function(
        _code,
        cases=_code_cases,
        wrong={
            "this is the mean of the numbers; the whole code is paid for, so sum.": (
                lambda mean, deviation: _code(mean, deviation) / len(mean)
            ),
            "there is a half before it all.": lambda mean, deviation: 2 * _code(mean, deviation),
            "the logarithm is of the variance, the deviation squared.": lambda mean, deviation: (
                (mean**2 + deviation**2 - np.log(deviation) - 1) / 2
            ).sum(),
        },
        right="A code that says nothing, mean 0 and deviation 1, is free.",
    ),
    "norm-on-the-way-out": Function(
        _shown,
        cases=_shown_cases,
        wrong={
            "here there is no norm: `lnlib.layer_norm(c, gain, bias)` goes inside tanh.": (
                lambda c, o, gain, bias: np.tanh(c) / (1 + np.exp(-o))
            ),
            "the norm stands behind tanh here; in eq. 31 it is inside.": (
                lambda c, o, gain, bias: lnlib.layer_norm(np.tanh(c), gain, bias) / (1 + np.exp(-o))
            ),
            "the output gate passes through a sigmoid first.": lambda c, o, gain, bias: (
                np.tanh(_out(c, o, gain, bias)) * o
            ),
            "the output gate is missing.": lambda c, o, gain, bias: np.tanh(_out(c, o, gain, bias)),
        },
        right="Eq. 31. What goes on to the next step is c itself, which no norm has touched.",
    ),
    "first-as-low": Function(
        _reached,
        cases=_reached_cases,
        wrong={
            "this is the last of them; asked is the first.": lambda updates, bounds, target: (
                updates[np.flatnonzero(bounds <= target)[-1]]
            ),
            "this is its place in the list; asked are the updates.": (
                lambda updates, bounds, target: np.flatnonzero(bounds <= target)[0]
            ),
            "as low counts, too: `<=`.": lambda updates, bounds, target: updates[
                np.flatnonzero(bounds < target)[0]
            ],
        },
        right="Divided by the other's updates to the same target, this is the ratio in the table.",
    ),
}
