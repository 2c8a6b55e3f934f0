"""ReLU networks in NumPy, with and without layer norm: forward and backward pass."""

import itertools
from dataclasses import dataclass

import numpy as np

from lnlib.norms._activations import softmax

EPS = 1e-5


@dataclass(frozen=True)
class Network:
    """A stack of copies of one multilayer perceptron, each with its own weights.

    Every hidden layer is ``relu(W h)`` or ``relu(layer_norm(W h))``, without biases and with
    gain 1, and a linear layer follows the last one. All copies are computed at once.

    Args:
        weights: Weights of each layer, shape ``(copies, inputs, outputs)``.
        norm: ``"layer"`` or ``"none"``.
    """

    weights: list[np.ndarray]
    norm: str

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], list]:
        """Return the logits, the input of each layer, and values for the backward pass.

        Args:
            x: Shape ``(copies, batch, features)``.

        Returns:
            The logits, shape ``(copies, batch, classes)``; the inputs of all layers; and for each
            hidden layer the (normalized) summed inputs and ``1 / std``, ``None`` without a norm.
        """
        inputs, saved = [x], []
        for W in self.weights[:-1]:
            a, rstd = inputs[-1] @ W, None
            if self.norm == "layer":
                a -= a.mean(axis=-1, keepdims=True)
                rstd = 1 / np.sqrt(np.square(a).mean(axis=-1, keepdims=True) + EPS)
                a *= rstd
            saved.append((a, rstd))
            inputs.append(np.maximum(a, 0))
        return inputs[-1] @ self.weights[-1], inputs, saved

    def gradients(self, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of each copy's mean cross-entropy with respect to its weights.

        Args:
            x: Shape ``(copies, batch, features)``.
            y: Classes, shape ``(copies, batch)``.
        """
        logits, inputs, saved = self.forward(x)
        d = softmax(logits)
        np.put_along_axis(d, y[..., None], np.take_along_axis(d, y[..., None], -1) - 1, -1)
        d /= y.shape[-1]
        results = [inputs[-1].swapaxes(-1, -2) @ d]
        for k in range(len(saved) - 1, -1, -1):
            a, rstd = saved[k]
            d = (d @ self.weights[k + 1].swapaxes(-1, -2)) * (a > 0)
            if rstd is not None:  # a is the normalized input
                d -= d.mean(axis=-1, keepdims=True) + a * (d * a).mean(axis=-1, keepdims=True)
                d *= rstd
            results.insert(0, inputs[k].swapaxes(-1, -2) @ d)
        return results

    def loss(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return each copy's mean cross-entropy in nats, shape ``(copies,)``."""
        logits = self.forward(x)[0]
        logits = logits - logits.max(axis=-1, keepdims=True)
        target_logits = np.take_along_axis(logits, y[..., None], -1)[..., 0]
        return (np.log(np.exp(logits).sum(axis=-1)) - target_logits).mean(axis=-1)


def he_weights(sizes: list[int], scale: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return Gaussian weights of one copy, a matrix of shape ``(inputs, outputs)`` per layer.

    The std is ``scale * sqrt(2 / inputs)`` in hidden layers and ``1 / sqrt(inputs)`` in the last.

    Args:
        sizes: Number of features of the input, the hidden layers and the output.
        scale: Factor of He initialization.
        rng: The random generator.
    """
    stds = [scale * np.sqrt(2 / n) for n in sizes[:-2]] + [np.sqrt(1 / sizes[-2])]
    shapes = itertools.pairwise(sizes)
    return [std * rng.normal(size=shape) for std, shape in zip(stds, shapes, strict=True)]
