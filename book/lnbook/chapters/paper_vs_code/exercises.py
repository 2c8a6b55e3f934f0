"""The exercises of the chapter ``paper_vs_code``."""

import numpy as np

from lnbook.exercises import Function, Value
from lnlib.norms import layer_norm

# Eps outside the square root.


def _outside(x, *, ddof=0, inside=False, root=True, axis=-1, eps=1e-5):
    centered = x - x.mean(axis, keepdims=True)
    var = x.var(axis, ddof=ddof, keepdims=True)
    if not root:
        return centered / (var + eps)
    return centered / (np.sqrt(var + eps) if inside else np.sqrt(var) + eps)


def _outside_cases(rng):
    # Square, so that a wrong axis raises no error; small numbers, so that eps matters.
    for shape, size in (((2, 3), 1e-4), ((3, 3), 1e-5), ((4, 5), 1.0)):
        yield (size * rng.normal(size=shape),)


# A bias in two places.


def _gates(from_x, from_h, b, *, inside=1, outside=1, after_h=0, joint=False):
    if joint:
        return layer_norm(from_x + from_h + b) + b
    return layer_norm(from_x + inside * b) + layer_norm(from_h + after_h * b) + outside * b


def _gates_cases(rng):
    for cases, units in ((1, 1), (2, 2), (4, 3)):
        yield (*rng.normal(size=(2, cases, 4 * units)), rng.normal(size=4 * units))


# Eq. 32 with the factors of eq. 33.


def _metric(a, variance, delta, *, factors=True, half=True, axis=0, over=True, square=True):
    x_hat = (a - a.mean(axis, keepdims=True)) / a.std(axis, keepdims=True)
    power = 2 if square else 1
    terms = variance * (x_hat**power if factors else 1) * delta**2
    total = terms.sum(1).mean() if over else terms.sum()
    return total / (2 if half else 1)


def _metric_cases(rng):
    for cases, units in ((3, 2), (4, 4), (50, 3)):
        yield (
            rng.normal(size=(cases, units)) * 3 + 1,
            rng.uniform(0.05, 0.25, size=(cases, units)),
            rng.normal(size=units),
        )


EXERCISES = {
    "eps-outside": Function(
        lambda x: _outside(x),
        cases=_outside_cases,
        misconceptions={
            "eps is inside the square root, as in the authors' Theano code and PyTorch.": (
                lambda x: _outside(x, inside=True)
            ),
            "this divides by the variance; the standard deviation is its square root.": (
                lambda x: _outside(x, root=False)
            ),
            "this divides the sum of squares by H − 1; eq. 16 divides it by H.": lambda x: _outside(
                x, ddof=1
            ),
            "mean and standard deviation are computed per column; that is batch norm.": (
                lambda x: _outside(x, axis=0)
            ),
            "eps is missing, which matters when the numbers are small.": (
                lambda x: _outside(x, eps=0)
            ),
        },
        on_success="The same default of 1e-5 has different units: those of x here, those of x² in "
        "PyTorch.",
    ),
    "b-twice": Function(
        lambda from_x, from_h, b: _gates(from_x, from_h, b),
        cases=_gates_cases,
        misconceptions={
            "b is added only after the norms; that is eq. 20.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, inside=0)
            ),
            "b is added only inside the norm; add it again after the norms.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, outside=0)
            ),
            "b is added inside both norms; only the norm of the input term has it.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, after_h=1)
            ),
            "b is added inside the norm of the state; it belongs in the norm of the input.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, inside=0, after_h=1)
            ),
            "b is added twice after the norms; one of the two belongs inside.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, inside=0, outside=2)
            ),
            "this normalizes the sum, as eq. 4 does; eq. 20 normalizes the two parts.": (
                lambda from_x, from_h, b: _gates(from_x, from_h, b, joint=True)
            ),
        },
        on_success="As long as b is 0, as at initialization, the outputs equal those of eq. 20.",
    ),
    "negative-delta": Value(
        -0.8,
        misconceptions={
            0.8: "that is eq. 7 as printed; the new standard deviation is |δ|σ, not δσ.",
            -1.6: "the magnitude of δ cancels; only its sign remains.",
            1.6: "the magnitude of δ cancels; only its sign remains.",
        },
        on_success="Layer norm is invariant to the magnitude of δ, but not to its sign.",
        hint="multiply a − μ by δ, and σ by |δ|.",
    ),
    "nats": Value(
        1.31,
        atol=0.006,
        misconceptions={
            0.27: "that is the difference in nats, a logarithm; take its exponential.",
            1.2057: "that reads the difference in bits; a nat is a natural logarithm.",
            1.0033: "that is the ratio of the two bounds; a difference of logarithms is a ratio "
            "of probabilities.",
            0.7634: "that is the reciprocal; the smaller number of nats is better.",
        },
        on_success="By the bound, the model with layer norm gives a test image 1.31 times the "
        "probability.",
        hint="a difference of natural logarithms is the logarithm of a ratio.",
    ),
    "factors-of-eq-32": Function(
        lambda a, variance, delta: _metric(a, variance, delta),
        cases=_metric_cases,
        misconceptions={
            "these are the terms of eq. 32 as printed; the factors (a − μ)²/σ² are missing.": (
                lambda a, variance, delta: _metric(a, variance, delta, factors=False)
            ),
            "these are the statistics of layer norm; batch norm averages over examples, axis 0.": (
                lambda a, variance, delta: _metric(a, variance, delta, axis=1)
            ),
            "the factor 1/2 is missing.": (
                lambda a, variance, delta: _metric(a, variance, delta, half=False)
            ),
            "the expectation is a mean over the examples, not a sum.": (
                lambda a, variance, delta: _metric(a, variance, delta, over=False)
            ),
            "the factor must be squared: it occurs once for each of the two gains of a term.": (
                lambda a, variance, delta: _metric(a, variance, delta, square=False)
            ),
        },
        on_success="This is eq. 8 with the Fisher matrix of eq. 9, for independent labels of any "
        "family.",
    ),
}
