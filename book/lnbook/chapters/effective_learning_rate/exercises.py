"""The exercises of the chapter ``effective_learning_rate``."""

from __future__ import annotations

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
    "three-times-as-long": Value(
        (1 / 9, 1 / 3, 1 / 3),
        within=5e-3,
        right="One factor 1/3 for each end of a block that is w₁; the length is the root of the "
        "curvature.",
        wrong={
            (1 / 3, 1 / 3, 1 / 3): "w₁ stands at both ends of its own block, and each end brings a "
            "factor 1/3.",
            (1 / 9, 1 / 9, 1 / 3): "w₂ is as long as before, so its end of the block brings no "
            "factor.",
            (1 / 9, 1 / 3, 1 / 9): "that is what becomes of ds²; a length is its root.",
            (9, 3, 3): "longer weights make the same step do *less*.",
            (1, 1, 1): "the outputs do not change, but what a step does to them does.",
        },
        otherwise="count how often 1/σ₁ stands in each, and remember that ds is a root.",
    ),
    "length-after-steps": Function(
        _after,
        cases=_after_cases,
        wrong={
            "the squares of the steps add up, and the root comes last; these are their lengths.": (
                lambda length, rate, gradients: length + rate * gradients.sum()
            ),
            "each step is the rate *times* the gradient, so its square has the rate squared.": (
                lambda length, rate, gradients: np.sqrt(length**2 + rate * (gradients**2).sum())
            ),
            "a step at a right angle makes the weights longer, not shorter.": (
                lambda length, rate, gradients: np.sqrt(
                    np.abs(length**2 - rate**2 * (gradients**2).sum())
                )
            ),
            "this is the length's square.": lambda length, rate, gradients: (
                length**2 + rate**2 * (gradients**2).sum()
            ),
            "the steps stand at right angles to the weights, not all in one line: square each "
            "before you add.": lambda length, rate, gradients: np.sqrt(
                length**2 + (rate * gradients.sum()) ** 2
            ),
        },
        right="Pythagoras, once a step: plain gradient descent can only make such weights longer.",
    ),
    "degrees-turned": Function(
        _degrees,
        cases=_degrees_cases,
        wrong={
            "this is the angle between the weights and the step; asked is where they point "
            "*after* it.": lambda w, step: np.degrees(
                np.arccos((w * step).sum() / np.linalg.norm(w) / np.linalg.norm(step))
            ),
            "these are radians; 180 degrees are π.": lambda w, step: np.radians(_degrees(w, step)),
            "this is the cosine; the angle is its `np.arccos`.": lambda w, step: np.cos(
                np.radians(_degrees(w, step))
            ),
        },
        right="A step counts by this angle, for the length says nothing under a norm.",
        tolerance=1e-5,
    ),
    "same-run": Value(
        0.5,
        right="25 times the rate: the gradient is a fifth, and the step has to be five times as "
        "long.",
        wrong={
            0.1: "five times the rate makes up for the gradient, which is a fifth; but the step "
            "also has to be five times as long as before.",
            0.02: "with the old rate the weights turn 25 times more slowly.",
            0.0008: "the gradient of longer weights is smaller, so the rate must be larger.",
            0.004: "the gradient of longer weights is smaller, so the rate must be larger.",
        },
        otherwise="keep the rate over the squared length what it was.",
    ),
    "metric-of-the-gains": Function(
        lambda x, W, b, delta: _compute(x, W, b, delta),
        cases=_metric_cases,
        wrong={
            "this is eq. 32 with layer norm's outputs; eq. 33 has the factors ((a - μ)/σ)².": (
                _other(factors=False)
            ),
            "the ½ is missing.": _other(halved=False),
            "Cov[y | x] is missing: the variance p(1 - p) of each label.": _other(variance=False),
            "the mean is not taken off the summed inputs.": _other(centered=False),
            "these are batch norm's statistics; layer norm's run over the units, `axis=1`.": (
                _other(axis=0)
            ),
        },
        right="Scale `x` or `W` and nothing happens to it: the normalized inputs are the same.",
    ),
}
