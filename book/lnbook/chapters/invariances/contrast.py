"""Digits classified through one normalized layer, when their contrast or brightness changes.

The weights of the layer are random and fixed, ReLU follows the norm, and a linear readout is fitted
by least squares. A change of the data to which the normalized units are invariant does not change
any prediction: Ba, Kiros & Hinton (2016), section 5.1, re-scaling and re-centering of data.
"""

from collections.abc import Mapping

import numpy as np

from lnlib import norms

#: Norms of the layer. ``running`` is batch norm in eval mode, with the statistics of the training
#: images; ``equal`` is layer norm with weights whose rows sum to 0.
KINDS = ("none", "batch", "running", "layer", "equal")


def features(kind: str, X: np.ndarray, W: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Return ReLU of the normalized summed inputs, with a column of ones.

    Args:
        kind: One of :data:`KINDS`.
        X: Images, shape ``(N, D)``.
        W: Weights, shape ``(H, D)``; for ``equal``, the mean of each row is subtracted.
        training: Training images, whose statistics ``running`` uses.

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
    """Return ``amount * X`` for ``contrast``, or ``X + amount`` for ``brightness``."""
    return amount * X if change == "contrast" else X + amount


class DigitClassifiers:
    """Networks that classify digits, one per norm.

    Args:
        W: Weights of the layer, shape ``(H, D)``.
        readouts: Maps each of :data:`KINDS` to the weights of the ten outputs, ``(H + 1, 10)``.
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
        """Return the test error in percent; the arguments are those of :func:`altered`."""
        key = kind, change, amount
        if key not in self._errors:
            predicted = self.predict(kind, altered(self.X, change, amount))
            self._errors[key] = 100 * float((predicted != self.y).mean())
        return self._errors[key]
