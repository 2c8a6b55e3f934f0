"""The logistic function, softmax, and their derivatives and that of tanh, with all their digits.

``1 - tanh(a)**2`` and ``(1 + tanh(a / 2)) / 2`` are 0 in float64 where the right number is 1e-17.
"""

import numpy as np


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return the logistic function of ``a``, ``1 / (1 + exp(-a))``; 1 less it is that of ``-a``."""
    e = np.exp(-np.abs(a))  # never overflows
    return np.where(a < 0, e, 1) / (1 + e)


def sigmoid_slope(a: np.ndarray) -> np.ndarray:
    """Return the derivative of :func:`sigmoid`: ``sigmoid(a) sigmoid(-a)``."""
    e = np.exp(-np.abs(a))
    return e / (1 + e) ** 2


def tanh_slope(a: np.ndarray) -> np.ndarray:
    """Return the derivative of tanh, ``1 - tanh(a)**2``."""
    with np.errstate(over="ignore"):
        return 4 * sigmoid_slope(2 * a)


def softmax(s: np.ndarray) -> np.ndarray:
    """Return the distributions whose logits lie along the last axis of ``s``."""
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_product(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ``(diag(p) - p pᵀ) v`` along the last axis: the derivative of softmax times ``v``."""
    v = from_likeliest(p, v)
    return p * (v - (p * v).sum(-1, keepdims=True))


def from_likeliest(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ``v`` less its number where ``p`` is largest, along the last axis.

    A number that is the same for all classes changes nothing, and near 1 ``p`` has few digits.
    """
    return v - np.take_along_axis(v, p.argmax(-1, keepdims=True), -1)
