"""Exponential families, eq. 10: what the labels of a generalized linear model are drawn from."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


def _sigmoid(s: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(s / 2)) / 2


def softmax(s: np.ndarray) -> np.ndarray:
    """Return the distributions whose logits are the rows of ``s``."""
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _logsumexp(s: np.ndarray) -> np.ndarray:
    top = s.max(1, keepdims=True)
    return top + np.log(np.exp(s - top).sum(1, keepdims=True))


class Family(NamedTuple):
    """An exponential family, eq. 10, in terms of its natural parameter ``s`` of shape (N, H).

    Attributes:
        eta: The cumulant function, which the paper writes η, of shape (N, H); for the categorical
            family (N, 1), since its outputs are one distribution.
        mean: Expectation of the label, the derivative of ``eta``: the transfer function f.
        slope: Derivative of ``mean``, so that the variance is ``phi * slope``; for the categorical
            family, of its diagonal part.
        draw: Draws labels from ``mean`` and ``phi``.
        labels: What the labels are, in words, and which numbers are.
    """

    eta: Callable[[np.ndarray], np.ndarray]
    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.random.Generator, np.ndarray, float], np.ndarray]
    labels: tuple[str, Callable[[np.ndarray], np.ndarray]]


FAMILIES = {
    "gaussian": Family(
        lambda s: s**2 / 2,
        lambda s: s,
        np.ones_like,
        lambda rng, mean, phi: rng.normal(mean, np.sqrt(phi)),
        ("finite numbers", np.isfinite),
    ),
    "bernoulli": Family(
        lambda s: np.logaddexp(0, s),
        _sigmoid,
        lambda s: _sigmoid(s) * _sigmoid(-s),
        lambda rng, mean, phi: rng.binomial(1, mean).astype(float),
        ("0 or 1", lambda y: (y == 0) | (y == 1)),
    ),
    "poisson": Family(
        np.exp,
        np.exp,
        np.exp,
        lambda rng, mean, phi: rng.poisson(mean) * 1.0,
        ("whole numbers from 0", lambda y: (y >= 0) & (y == np.floor(y))),
    ),
    "categorical": Family(
        _logsumexp,
        softmax,
        softmax,
        lambda rng, mean, phi: (
            (mean.cumsum(1) > rng.random((len(mean), 1))).argmax(1)[:, None]
            == np.arange(mean.shape[1])
        ).astype(float),
        ("rows of 0 and 1 with sum 1", lambda y: np.isin(y, (0, 1)) & (y.sum(1)[:, None] == 1)),
    ),
}
