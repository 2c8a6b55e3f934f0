"""The exercises of the chapter ``convnet``."""

import numpy as np

import lnlib
from lnbook.exercises import Function


def _ring(side):
    ring = np.ones((side, side), bool)
    ring[1:-1, 1:-1] = False
    return ring


def _border_activity(a):
    on = (a > 0).mean(0)
    ring = _ring(on.shape[-1])
    return on[ring].mean(), on[~ring].mean()


def _maps(rng):
    yield (
        np.array([[[2.0, -1, 3], [-1, 4, -2], [1, -5, -1]], [[1.0, 2, 3], [0, -4, 0], [-1, 1, 2]]]),
    )
    yield (rng.normal(0.3, 1, size=(7, 5, 5)),)


def _turned(x):
    return lnlib.layer_norm(np.moveaxis(x, 1, -1)).swapaxes(1, -1)


def _channel_norm(x):
    moved = np.moveaxis(x, 1, -1)
    return np.moveaxis(lnlib.layer_norm(moved), -1, 1)


def _batches(rng):
    yield (np.array([1.0, 3, 8, 0, 2, 2, 5, 4]).reshape(1, 2, 2, 2),)
    yield (rng.normal(2, 3, size=(3, 4, 5, 5)),)


def _per_unit(x):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)


def _per_unit_cases(rng):
    yield (np.array([1.0, 3, 8, 0, 2, 2, 5, 4]).reshape(2, 1, 2, 2),)
    yield (rng.normal(2, 3, size=(6, 2, 3, 3)) * np.arange(1, 10).reshape(3, 3),)


EXERCISES = {
    "border-activity": Function(
        _border_activity,
        cases=_maps,
        returns=("border", "interior"),
        misconceptions={
            "the border, the outermost ring, is the first of the two numbers.": lambda a: (
                _border_activity(a)[::-1]
            ),
            "a unit is active if its summed input is above 0; this counts 0 as active.": (
                lambda a: _border_activity(a + 1e-12)
            ),
            "this is the mean of the summed inputs, not the fraction above 0.": lambda a: (
                a.mean(0)[_ring(a.shape[-1])].mean(),
                a.mean(0)[~_ring(a.shape[-1])].mean(),
            ),
        },
        on_success="These are the two numbers under each map.",
    ),
    "layer-norm-over-channels": Function(
        _channel_norm,
        cases=_batches,
        misconceptions={
            "`lnlib.layer_norm` normalizes over the last axis, here a row of the image; move the "
            "channels there first.": lambda x: lnlib.layer_norm(x),
            "the channels have to be moved back to their axis.": (
                lambda x: lnlib.layer_norm(np.moveaxis(x, 1, -1))
            ),
            "rows and columns of the image are swapped.": _turned,
        },
        on_success="Each position now has its own mean and standard deviation, including the "
        "border.",
    ),
    "batch-norm-per-unit": Function(
        _per_unit,
        cases=_per_unit_cases,
        misconceptions={
            "`nn.BatchNorm2d` pools the positions of a channel; here each position has statistics "
            "of its own: axis 0.": lambda x: (
                (x - x.mean((0, 2, 3), keepdims=True))
                / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
            ),
            "this pools all units of an image, as layer norm does.": lambda x: (
                (x - x.mean((1, 2, 3), keepdims=True))
                / np.sqrt(x.var((1, 2, 3), keepdims=True) + 1e-5)
            ),
            "divide by the standard deviation, the square root of the variance.": lambda x: (
                (x - x.mean(0)) / (x.var(0) + 1e-5)
            ),
        },
        on_success="Now every unit has standard deviation 1, at the border as well. This norm "
        "needs a batch, and a unit that never changes has output 0.",
    ),
}
