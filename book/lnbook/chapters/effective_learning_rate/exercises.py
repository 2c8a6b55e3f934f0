"""The exercises of the chapter ``effective_learning_rate``."""

import numpy as np

from lnbook.exercises import Function, Value


def _after(length, rate, gradients):
    return np.sqrt(length**2 + rate**2 * (gradients**2).sum())


def _after_cases(rng):
    yield 3.0, 2.0, np.array([2.0])
    yield 1.0, 0.5, rng.uniform(0.5, 2, size=5)
    yield 4.0, 0.1, rng.uniform(1, 9, size=20)


def _degrees(w, step):
    new = w + step
    cosine = (w * new).sum() / np.linalg.norm(w) / np.linalg.norm(new)
    return np.degrees(np.arccos(cosine))


def _degrees_cases(rng):
    yield np.array([1.0, 0.0]), np.array([0.0, 1.0])
    yield np.array([2.0, 1.0]), np.array([1.0, 1.0])
    yield rng.normal(size=(3, 4)), rng.normal(size=(3, 4))


def _compute(x, W, b, delta, *, centered=True, halved=True, variance=True, factors=True, axis=1):
    a = x @ W.T
    shift = a.mean(axis=axis, keepdims=True) if centered else 0
    a_hat = (a - shift) / a.std(axis=axis, keepdims=True)
    p = 1 / (1 + np.exp(-(a_hat + b)))
    terms = (delta * (a_hat if factors else 1)) ** 2 * (p * (1 - p) if variance else 1)
    return terms.sum(axis=1).mean() / (2 if halved else 1)


def _other(**options):
    return lambda x, W, b, delta: _compute(x, W, b, delta, **options)


def _metric_cases(rng):
    for cases, inputs, units in ((2, 2, 3), (5, 3, 4), (20, 4, 6)):
        yield (
            rng.normal(size=(cases, inputs)),
            rng.normal(size=(units, inputs)),
            rng.normal(size=units),
            rng.normal(size=units) / 10,
        )


EXERCISES = {
    "length-after-steps": Function(
        _after,
        cases=_after_cases,
        misconceptions={
            "the *squares* of the norms of the steps add up, and the square root comes last.": (
                lambda length, rate, gradients: length + rate * gradients.sum()
            ),
            "each step is the rate *times* the gradient, so its square has the rate squared.": (
                lambda length, rate, gradients: np.sqrt(length**2 + rate * (gradients**2).sum())
            ),
            "an orthogonal step makes the norm larger, not smaller.": (
                lambda length, rate, gradients: np.sqrt(
                    np.abs(length**2 - rate**2 * (gradients**2).sum())
                )
            ),
            "this is the square of the norm.": lambda length, rate, gradients: (
                length**2 + rate**2 * (gradients**2).sum()
            ),
            "each step is orthogonal to the current weights; the steps do not lie on one line. "
            "Square each before you add.": lambda length, rate, gradients: np.sqrt(
                length**2 + (rate * gradients.sum()) ** 2
            ),
        },
        on_success="Pythagoras, once per step: plain gradient descent can only increase the norm "
        "of such weights.",
    ),
    "degrees-turned": Function(
        _degrees,
        cases=_degrees_cases,
        misconceptions={
            "this is the angle between the weights and the step, not between the weights before "
            "and *after* it.": lambda w, step: np.degrees(
                np.arccos((w * step).sum() / np.linalg.norm(w) / np.linalg.norm(step))
            ),
            "these are radians; 180 degrees are π.": lambda w, step: np.radians(_degrees(w, step)),
            "this is the cosine; the angle is its `np.arccos`.": lambda w, step: np.cos(
                np.radians(_degrees(w, step))
            ),
        },
        on_success="Under a norm only this angle changes the outputs; the norm of the weights does "
        "not.",
        tolerance=1e-5,
    ),
    "same-run": Value(
        0.5,
        on_success="25 times the learning rate: the gradient is a fifth as large, and the step has "
        "to be five times as large as before.",
        misconceptions={
            0.1: "a factor of 5 compensates for the smaller gradient, but the step also has to be "
            "five times as large as before, because the weights are.",
            0.02: "with the old learning rate the weights turn 25 times more slowly.",
            0.0008: "the gradient of larger weights is smaller, so the learning rate must be "
            "larger.",
            0.004: "the gradient of larger weights is smaller, so the learning rate must be "
            "larger.",
        },
        hint="the learning rate divided by the squared norm must stay the same.",
    ),
    "metric-of-the-gains": Function(
        lambda x, W, b, delta: _compute(x, W, b, delta),
        cases=_metric_cases,
        misconceptions={
            "this is eq. 32 with the outputs of layer norm; eq. 33 has the factors ((a − μ)/σ)².": (
                _other(factors=False)
            ),
            "the ½ is missing.": _other(halved=False),
            "Cov[y | x] is missing: the variance p(1 − p) of each label.": _other(variance=False),
            "the mean is not subtracted from the summed inputs.": _other(centered=False),
            "these are the statistics of batch norm; those of layer norm run over the units, "
            "`axis=1`.": (_other(axis=0)),
        },
        on_success="Rescaling `x` or `W` does not change it, because the normalized inputs are the "
        "same.",
    ),
}
