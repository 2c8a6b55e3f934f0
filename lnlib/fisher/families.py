"""Exponential families, eq. 10: what the labels of a generalized linear model are drawn from.

Where a model is certain, the variance of a label is far below the rounding of a probability near 1.
So nothing here is a difference from 1: each number keeps its digits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lnlib.norms._activations import sigmoid, sigmoid_slope, softmax


def _log_rest(s: np.ndarray) -> np.ndarray:
    """Return ``log(1 + sum of exp(s))`` over the classes after the first, (N, 1)."""
    rest = s[:, 1:]
    if not rest.size:
        return np.zeros((len(s), 1))
    return np.logaddexp(0, np.logaddexp.reduce(rest, axis=1, keepdims=True))


def _bernoulli_kl(s: np.ndarray, end: np.ndarray) -> np.ndarray:
    sign = np.where(s > 0, -1.0, 1.0)  # swap the labels, so that the likelier one is 0
    s, end = sign * s, sign * end
    return np.logaddexp(0, end) - np.logaddexp(0, s) - (end - s) * sigmoid(s)


def _categorical_kl(s: np.ndarray, end: np.ndarray) -> np.ndarray:
    order = np.argsort(-s, axis=1, kind="stable")  # the likeliest first: its logits count as 0
    s, end = (np.take_along_axis(a, order, 1) for a in (s, end))
    s, end = s - s[:, :1], end - end[:, :1]
    mean = (softmax(s) * (end - s)).sum(1, keepdims=True)
    return _log_rest(end) - _log_rest(s) - mean


def _categorical_error(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    p = softmax(s)
    return y * ((1 - y) * p).sum(1, keepdims=True) - (1 - y) * p


def _poisson(s: np.ndarray) -> np.ndarray:
    return np.exp(s)


class Family(NamedTuple):
    """An exponential family, eq. 10, in terms of its natural parameter ``s`` of shape (N, H).

    Attributes:
        mean: Expectation of the label: the transfer function f.
        slope: Derivative of ``mean``, so that the variance is ``phi * slope``; for the categorical
            family, of its diagonal part.
        error: ``y - mean(s)``.
        kl: ``phi`` times the divergence from the label of ``s`` to that of another parameter, for
            each unit; for the categorical family (N, 1), since its outputs are one distribution.
            Where the two are close it loses digits.
        draw: Draws labels from ``mean`` and ``phi``.
        labels: What the labels are, in words, and which numbers are.
    """

    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    error: Callable[[np.ndarray, np.ndarray], np.ndarray]
    kl: Callable[[np.ndarray, np.ndarray], np.ndarray]
    draw: Callable[[np.random.Generator, np.ndarray, float], np.ndarray]
    labels: tuple[str, Callable[[np.ndarray], np.ndarray]]


FAMILIES = {
    "gaussian": Family(
        lambda s: s,
        np.ones_like,
        lambda y, s: y - s,
        lambda s, end: (end - s) ** 2 / 2,
        lambda rng, mean, phi: rng.normal(mean, np.sqrt(phi)),
        ("finite numbers", np.isfinite),
    ),
    "bernoulli": Family(
        sigmoid,
        sigmoid_slope,
        lambda y, s: np.where(y > 0, sigmoid(-s), -sigmoid(s)),
        _bernoulli_kl,
        lambda rng, mean, phi: rng.binomial(1, mean).astype(float),
        ("0 or 1", lambda y: (y == 0) | (y == 1)),
    ),
    "poisson": Family(
        _poisson,
        _poisson,
        lambda y, s: y - _poisson(s),
        lambda s, end: _poisson(end) - _poisson(s) - (end - s) * _poisson(s),
        lambda rng, mean, phi: rng.poisson(mean) * 1.0,
        ("whole numbers from 0", lambda y: (y >= 0) & (y == np.floor(y))),
    ),
    "categorical": Family(
        softmax,
        softmax,
        _categorical_error,
        _categorical_kl,
        lambda rng, mean, phi: (
            (mean.cumsum(1) > rng.random((len(mean), 1))).argmax(1)[:, None]
            == np.arange(mean.shape[1])
        ).astype(float),
        ("rows of 0 and 1 with sum 1", lambda y: np.isin(y, (0, 1)) & (y.sum(1)[:, None] == 1)),
    ),
}
