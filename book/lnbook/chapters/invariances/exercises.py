"""The exercises of the chapter ``invariances``."""

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


# The black box.


def _probe(*tests):
    """Return a solver: the first test that changes nothing determines the norm.

    Args:
        *tests: Pairs of a name and a function that returns changed X and W. The last argument is
            the name that is returned if no test matches.
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
        misconceptions={
            (
                1,
                1,
                0,
                1,
                0,
                1,
            ): "that is the row of layer norm. RMS norm does not subtract a mean, so "
            "a shift shared by all units changes the output.",
            (1, 0, 1, 1, 0, 1): "all units of an example share one root mean square, so the factor "
            "of a single unit does not cancel.",
            (1, 1, 0, 1, 1, 1): "RMS norm does not subtract a mean, so neither a shift of the "
            "weights nor one of the data cancels.",
            (1, 0, 0, 1, 0, 0): "each example has its own root mean square, so the factor of that "
            "example cancels.",
        },
        on_success="The row of RMS norm differs from that of layer norm in one cell: RMS norm "
        "subtracts no mean, so it is not invariant to re-centering of the weights.",
        hint="apply the transformation to the summed inputs of one example, then divide "
        "by their root mean square.",
    ),
    "delta-and-gamma": Function(
        _delta_and_gamma,
        cases=_weights,
        returns=("delta", "gamma"),
        misconceptions={
            "the norms of the matrices include the shift; subtract the mean of each column "
            "first.": _by_length,
            "this is 1 / delta. W' is delta times W, not the reverse.": (_by_centered_length),
            "gamma is the difference between W' and delta W, not between W' and "
            "W.": _without_factor,
            "gamma is the same for every unit, and each unit is a row: compute means over "
            "`axis=0`.": (_over_rows),
        },
        on_success="Layer norm is invariant to one positive factor of W and one vector added to "
        "all its rows.",
    ),
    "half-by-eps": Value(
        np.sqrt(1e-5 / 3),
        atol=3e-5,
        misconceptions={
            np.sqrt(
                1e-5
            ): "with this factor the variance equals eps, and the output is 0.71 times as large.",
            1e-5: "eps is added to the variance, so it has the units of the square of the input.",
            0.5: "halving the summed inputs hardly changes the output; the norm removes the "
            "factor.",
        },
        on_success="Below √(eps/3) the output is less than half of what it is without eps.",
        hint="with σ = 1 the output is multiplied by s/√(s² + eps). Set that to 1/2.",
    ),
    "name-the-norm": Function(
        _reference,
        cases=lambda rng: [(Box(name),) for name in ("weight", "batch", "layer")],
        misconceptions={
            "re-scaling all data does not distinguish layer norm from batch norm. Re-scale a "
            "single example.": (
                _probe(
                    ("layer", lambda X, W: (2 * X, W)),
                    ("batch", lambda X, W: (X + 1, W)),
                    "weight",
                )
            ),
            "re-scaling one unit does not distinguish batch norm from weight norm. Shift the "
            "data.": (_probe(("layer", _one_case), ("batch", _one_unit), "weight")),
            "layer norm is not invariant to a shift of the data. Re-scale a single example.": (
                _probe(("layer", lambda X, W: (X + 1, W)), ("batch", _one_unit), "weight")
            ),
        },
        on_success="Two experiments are enough to distinguish the three norms.",
    ),
}
