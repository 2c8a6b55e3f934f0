"""The exercises of the chapter ``draw``."""

import numpy as np

import lnlib
from lnbook.exercises import Function


def _filter(center, std):
    weights = np.exp(-((np.arange(28) - center) ** 2) / (2 * std**2))
    return weights / weights.sum()


def _filter_cases(rng):
    yield 13.5, 1.0
    yield 2.0, 0.6
    yield 26.5, 3.0
    yield rng.uniform(5, 22), rng.uniform(0.5, 3)


def _kl(mean, std):
    return ((mean**2 + std**2 - np.log(std**2) - 1) / 2).sum()


def _kl_cases(rng):
    yield np.array([0.0, 1.0]), np.array([1.0, 0.5])
    yield rng.normal(size=20), rng.uniform(0.2, 1.5, 20)


def _hidden_state(c, o, gain, bias):
    return np.tanh(lnlib.layer_norm(c, gain, bias)) / (1 + np.exp(-o))


def _hidden_state_cases(rng):
    yield np.array([[1.0, 3.0, 2.0, 8.0]]), np.zeros((1, 4)), np.ones(4), np.zeros(4)
    yield (
        rng.normal(2, 3, size=(3, 6)),
        rng.normal(size=(3, 6)),
        rng.uniform(0.5, 2, 6),
        rng.normal(size=6),
    )


EXERCISES = {
    "gaussian-filter": Function(
        _filter,
        cases=_filter_cases,
        misconceptions={
            "the weights must add up to 1: divide them by their sum.": lambda center, std: np.exp(
                -((np.arange(28) - center) ** 2) / (2 * std**2)
            ),
            "square the distance, as in a Gaussian.": lambda center, std: (
                np.exp(-np.abs(np.arange(28) - center) / (2 * std**2))
                / np.exp(-np.abs(np.arange(28) - center) / (2 * std**2)).sum()
            ),
        },
        on_success="A filter near the edge thus has the same total weight as all others.",
    ),
    "kl-term": Function(
        _kl,
        cases=_kl_cases,
        misconceptions={
            "this is the mean over the numbers of the code; the KL divergence is their sum.": (
                lambda mean, std: _kl(mean, std) / len(mean)
            ),
            "divide the sum by 2.": lambda mean, std: 2 * _kl(mean, std),
            "the logarithm is that of the variance, the standard deviation squared.": (
                lambda mean, std: ((mean**2 + std**2 - np.log(std) - 1) / 2).sum()
            ),
        },
        on_success="A code that is distributed like the prior carries no information and has KL 0.",
    ),
    "hidden-state-of-draw": Function(
        _hidden_state,
        cases=_hidden_state_cases,
        misconceptions={
            "there is no norm: `lnlib.layer_norm(c, gain, bias)` goes inside tanh.": (
                lambda c, o, gain, bias: np.tanh(c) / (1 + np.exp(-o))
            ),
            "the norm is applied after tanh; in eq. 31 it is inside.": (
                lambda c, o, gain, bias: lnlib.layer_norm(np.tanh(c), gain, bias) / (1 + np.exp(-o))
            ),
            "the output gate is the sigmoid of `o`.": lambda c, o, gain, bias: (
                np.tanh(lnlib.layer_norm(c, gain, bias)) * o
            ),
            "the output gate is missing.": lambda c, o, gain, bias: np.tanh(
                lnlib.layer_norm(c, gain, bias)
            ),
        },
        on_success="This is eq. 31. The next glimpse receives c itself, which is not normalized.",
    ),
}
