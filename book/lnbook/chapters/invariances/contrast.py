"""Find what is unchanged: digits read through one normalized layer, in numbers.

The layer's weights are random and stay; ReLU follows the norm; a linear readout is fitted by least
squares. What leaves the normalized units unchanged leaves every prediction unchanged: Ba, Kiros &
Hinton (2016), section 5.1, re-scaling and re-centering of data.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lnlib import norms

#: Norms of the layer. ``running`` is batch norm in use, with the statistics of the training images;
#: ``equal`` is layer norm of weights whose rows sum to 0.
KINDS = ("none", "batch", "running", "layer", "equal")


def features(kind: str, X: np.ndarray, W: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Return ReLU of the normalized summed inputs, and a column of ones.

    Args:
        kind: One of :data:`KINDS`.
        X: Images, shape ``(N, D)``.
        W: Weights, shape ``(H, D)``; for ``equal`` the mean of each row is taken away.
        training: Training images: their statistics are what ``running`` uses.

    Returns:
        Shape ``(N, H + 1)``.

    Raises:
        ValueError: If ``kind`` is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"features: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "equal":
        W = W - W.mean(axis=1, keepdims=True)
    a = X @ W.T
    if kind == "batch":
        a = norms.batch_norm(a, eps=0)
    elif kind == "running":
        b = training @ W.T
        a = norms.batch_norm(a, mean=b.mean(0), var=b.var(0), eps=0)
    elif kind in ("layer", "equal"):
        a = norms.layer_norm(a, eps=0)
    return np.column_stack([np.maximum(a, 0), np.ones(len(X))])


def altered(X: np.ndarray, change: str, amount: float) -> np.ndarray:
    """Return ``amount * X``, another ``contrast``, or ``X + amount``, another ``brightness``."""
    return amount * X if change == "contrast" else X + amount


class Readers:
    """Networks that read digits, one a norm.

    Args:
        W: Weights of the layer, shape ``(H, D)``.
        readouts: From kinds of :data:`KINDS` to weights of the ten outputs, ``(H + 1, 10)``.
        training: Training images, shape ``(M, D)``.
        X: Test images, shape ``(N, D)``.
        y: Their classes, shape ``(N,)``.
    """

    def __init__(
        self,
        W: np.ndarray,
        readouts: Mapping[str, np.ndarray],
        training: np.ndarray,
        X: np.ndarray,
        y: np.ndarray,
    ):
        self.W, self.readouts, self.training, self.X, self.y = W, readouts, training, X, y
        self._errors: dict[tuple[str, str, float], float] = {}

    def predict(self, kind: str, X: np.ndarray) -> np.ndarray:
        """Return the class of each image."""
        return (features(kind, X, self.W, self.training) @ self.readouts[kind]).argmax(axis=1)

    def error(self, kind: str, change: str, amount: float) -> float:
        """Return the share of test images that are misread, in percent; see :func:`altered`."""
        key = kind, change, amount
        if key not in self._errors:
            predicted = self.predict(kind, altered(self.X, change, amount))
            self._errors[key] = 100 * float((predicted != self.y).mean())
        return self._errors[key]
