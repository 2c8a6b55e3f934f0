"""The exercises of the chapter ``convnet``."""

from __future__ import annotations

import numpy as np

import lnlib
from lnbook.exercises import Function, Value


def _ring(side):
    ring = np.ones((side, side), bool)
    ring[1:-1, 1:-1] = False
    return ring


def _how_often(a):
    on = (a > 0).mean(0)
    ring = _ring(on.shape[-1])
    return on[ring].mean(), on[~ring].mean()


def _maps(rng):
    yield (
        np.array([[[2.0, -1, 3], [-1, 4, -2], [1, -5, -1]], [[1.0, 2, 3], [0, -4, 0], [-1, 1, 2]]]),
    )
    yield (rng.normal(0.3, 1, size=(7, 5, 5)),)


def _empty(x):
    return -x.mean() / x.std()


def _pictures(rng):
    yield (np.array([[0.0, 0, 0], [0, 9, 0], [0, 0, 0]]),)
    x = np.zeros((2, 6, 6))
    x[:, 2:-2, 2:-2] = rng.normal(-1, 2, size=(2, 2, 2))
    yield (x,)


def _turned(x):
    return lnlib.layer_norm(np.moveaxis(x, 1, -1)).swapaxes(1, -1)


def _by_place(x):
    moved = np.moveaxis(x, 1, -1)
    return np.moveaxis(lnlib.layer_norm(moved), -1, 1)


def _batches(rng):
    yield (np.array([1.0, 3, 8, 0, 2, 2, 5, 4]).reshape(1, 2, 2, 2),)
    yield (rng.normal(2, 3, size=(3, 4, 5, 5)),)


def _each_unit(x):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)


def _of_each_unit(rng):
    yield (np.array([1.0, 3, 8, 0, 2, 2, 5, 4]).reshape(2, 1, 2, 2),)
    yield (rng.normal(2, 3, size=(6, 2, 3, 3)) * np.arange(1, 10).reshape(3, 3),)


EXERCISES = {
    "share-of-the-ring": Value(
        24 / 49,
        wrong={
            24.0: "this is their number; asked is their share of all 49.",
            28 / 49: "the corners belong to two sides: count them once.",
            25 / 49: "these are the units inside.",
            4 * 27 / 28**2: "this is layer 1, of 28 × 28 places; layer 3 has 7 × 7.",
        },
        right="Nearly half of layer 3; in layer 1 it is 108 of 784.",
        otherwise="7 × 7 places, of which 5 × 5 are inside.",
    ),
    "how-often-on": Function(
        _how_often,
        cases=_maps,
        returns=("border", "elsewhere"),
        wrong={
            "`border` is the outermost ring, the first of the two.": lambda a: _how_often(a)[::-1],
            "a unit is on if its summed input is above 0; this counts 0 as on.": (
                lambda a: _how_often(a + 1e-12)
            ),
            "this is the mean of the summed inputs, not the share above 0.": lambda a: (
                a.mean(0)[_ring(a.shape[-1])].mean(),
                a.mean(0)[~_ring(a.shape[-1])].mean(),
            ),
        },
        right="These are the two numbers under each map.",
    ),
    "empty-border": Function(
        _empty,
        cases=_pictures,
        wrong={
            "the sign is wrong: 0 less the mean.": lambda x: x.mean() / x.std(),
            "this is for units that were 1 before; an empty border is 0.": lambda x: (
                (1 - x.mean()) / x.std()
            ),
            "divide by the standard deviation, not by the variance.": lambda x: -x.mean() / x.var(),
            "the norm divides by the standard deviation, too.": lambda x: -x.mean(),
        },
        tolerance=1e-5,
        right="One number for the whole border: on if the mean of all units is below 0, else off.",
    ),
    "one-place-at-a-time": Function(
        _by_place,
        cases=_batches,
        wrong={
            "`lnlib.layer_norm` runs over the last axis, here a row of the image; move the "
            "channels there first.": lambda x: lnlib.layer_norm(x),
            "the channels must come back to their axis.": (
                lambda x: lnlib.layer_norm(np.moveaxis(x, 1, -1))
            ),
            "rows and columns of the image have changed places.": _turned,
        },
        right="Each place has its own mean now, so that a dim border is as loud as the middle.",
    ),
    "each-unit-its-own": Function(
        _each_unit,
        cases=_of_each_unit,
        wrong={
            "batch norm of a convolutional network pools the places of a channel; here each place "
            "is alone: axis 0.": lambda x: (
                (x - x.mean((0, 2, 3), keepdims=True))
                / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
            ),
            "this pools all units of a picture, as layer norm does.": lambda x: (
                (x - x.mean((1, 2, 3), keepdims=True))
                / np.sqrt(x.var((1, 2, 3), keepdims=True) + 1e-5)
            ),
            "divide by the standard deviation, the root of the variance.": lambda x: (
                (x - x.mean(0)) / (x.var(0) + 1e-5)
            ),
        },
        right="Now every unit has deviation 1, at the border, too. It needs a batch, and a unit "
        "that never changes stays at 0.",
    ),
}
