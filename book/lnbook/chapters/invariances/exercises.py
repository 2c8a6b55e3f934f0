"""The exercises of the chapter ``invariances``."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.invariances.material import Box
from lnbook.exercises import Function, Value

# The factor and the shift of eq. 6.


def _delta_and_gamma(W, W_new):
    C, C_new = (V - V.mean(axis=0) for V in (W, W_new))
    delta = (C * C_new).sum() / (C * C).sum()
    return delta, (W_new - delta * W).mean(axis=0)


def _by_length(W, W_new):
    delta = np.linalg.norm(W_new) / np.linalg.norm(W)
    return delta, (W_new - delta * W).mean(axis=0)


def _by_centered_length(W, W_new):
    delta, gamma = _delta_and_gamma(W, W_new)
    return 1 / delta, gamma


def _without_factor(W, W_new):
    return _delta_and_gamma(W, W_new)[0], (W_new - W).mean(axis=0)


def _over_rows(W, W_new):
    delta, gamma = _delta_and_gamma(W.T, W_new.T)
    return delta, gamma


def _weights(rng):
    # Two square matrices, so that a wrong axis raises no error.
    for shape, delta in (((2, 2), 2.0), ((3, 3), 0.5), ((5, 4), 3.0)):
        W = rng.normal(size=shape)
        yield W, delta * W + rng.normal(size=shape[1])


# Rows that sum to 0.


def _rows(rng):
    for shape in ((2, 2), (3, 3), (5, 8)):
        yield (rng.normal(size=shape) + 0.5,)


# The black box.


def _probe(*tests):
    """Return a solver: the first test that changes nothing names the norm, the last name is left.

    Args:
        *tests: Pairs of a name and a function of X and W that returns them changed; at last a name.
    """

    def solve(layer):
        rng = np.random.default_rng(3)
        X, W = rng.normal(size=(8, 4)), rng.normal(size=(6, 4))
        before = layer(X, W)
        for name, change in tests[:-1]:
            if np.allclose(layer(*change(X, W)), before):
                return name
        return tests[-1]

    return solve


def _one_case(X, W):
    return X * np.r_[2, np.ones(len(X) - 1)][:, None], W


def _one_unit(X, W):
    return X, W * np.r_[2, np.ones(len(W) - 1)][:, None]


_name = _probe(("layer", _one_case), ("batch", lambda X, W: (X + 1, W)), "weight")


def _reference(layer):
    return _name(layer)


EXERCISES = {
    "row-of-rms-norm": Value(
        (1, 0, 0, 1, 0, 1),
        wrong={
            (1, 1, 0, 1, 0, 1): "that is layer norm's row. RMS norm takes no mean away, so a shift "
            "that all units share stays.",
            (1, 0, 1, 1, 0, 1): "one root mean square serves all units of an example, so the "
            "factor of one unit does not cancel.",
            (1, 1, 0, 1, 1, 1): "nothing is centered: neither a shift of the weights nor one of "
            "the data is undone.",
            (1, 0, 0, 1, 0, 0): "each example has a root mean square of its own, which takes the "
            "factor of that example with it.",
        },
        right="RMS norm has layer norm's row but for one cell: without a mean, no re-centering.",
        otherwise="let the transformation act on the summed inputs of one example, then divide "
        "them by their root mean square.",
    ),
    "delta-and-gamma": Function(
        _delta_and_gamma,
        cases=_weights,
        returns=("delta", "gamma"),
        wrong={
            "the lengths of the matrices hold the shift too; take the mean of each column away "
            "first.": _by_length,
            "this delta is its inverse: W' is delta times W, not the other way round.": (
                _by_centered_length
            ),
            "gamma is what W' has beyond delta W, not beyond W.": _without_factor,
            "gamma is the same for every unit, and a unit is a row: take means over `axis=0`.": (
                _over_rows
            ),
        },
        right="All that layer norm forgets of a weight matrix is one factor and one vector.",
    ),
    "rows-without-a-sum": Function(
        lambda W: W - W.mean(axis=1, keepdims=True),
        cases=_rows,
        wrong={
            "this takes one vector away from every unit, which layer norm does anyway; the sums of "
            "the rows still differ.": lambda W: W - W.mean(axis=0),
            "one number less everywhere leaves the sums of the rows as far apart as before.": (
                lambda W: W - W.mean()
            ),
            "now every row sums to 1, but each unit has been scaled by a factor of its own; take "
            "away, do not divide.": lambda W: W / W.sum(axis=1, keepdims=True),
            "that is the sum of each row, not its mean: a number taken away from D weights counts "
            "D times.": lambda W: W - W.sum(axis=1, keepdims=True),
        },
        right="A shift of all pixels now adds 0 to every summed input.",
    ),
    "half-by-eps": Value(
        np.sqrt(1e-5 / 3),
        within=3e-5,
        wrong={
            np.sqrt(1e-5): "there the variance is as large as eps, and 0.71 of the output is left.",
            1e-5: "eps is in squared units of the summed inputs: it is added to the variance.",
            0.5: "a factor of a half in the summed inputs hardly changes the output: that is what "
            "the norm is for.",
        },
        right="Below √(eps/3) layer norm is closer to no norm than to a norm.",
        otherwise="with σ = 1 the output is s/√(s² + eps) of what it was; set that to 1/2.",
    ),
    "name-the-norm": Function(
        _reference,
        cases=lambda rng: [(Box(name),) for name in ("weight", "batch", "layer")],
        wrong={
            "re-scaling the data does not tell layer norm from batch norm; re-scale one example.": (
                _probe(
                    ("layer", lambda X, W: (2 * X, W)),
                    ("batch", lambda X, W: (X + 1, W)),
                    "weight",
                )
            ),
            "re-scaling one unit does not tell batch norm from weight norm; shift the data.": (
                _probe(("layer", _one_case), ("batch", _one_unit), "weight")
            ),
            "a shift of the data is not forgotten by layer norm; re-scale a single example.": (
                _probe(("layer", lambda X, W: (X + 1, W)), ("batch", _one_unit), "weight")
            ),
        },
        right="Two experiments tell three norms apart, and none looks inside.",
    ),
}
