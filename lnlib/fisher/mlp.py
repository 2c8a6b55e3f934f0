"""The Fisher information of a classifier with millions of parameters, without its matrix.

A network of section 6.6: hidden layers ``relu(gain * (a - mean) / std + bias)`` with ``a = W h``,
normalized over their units or not at all, then logits ``W h + bias`` of one label.
"""

import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lnlib.norms._activations import softmax, softmax_product
from lnlib.norms._arguments import check_arrays, check_eps

CHUNK = 500  # cases at a time: what is held does not grow with their number


@dataclass(frozen=True, eq=False)
class Dense:
    """A layer; with ``gain`` it is layer-normalized, without it plain.

    Attributes:
        W: Weights, shape ``(H, D)``.
        bias: Shape ``(H,)``.
        gain: Shape ``(H,)``, or ``None``.
    """

    W: np.ndarray
    bias: np.ndarray
    gain: np.ndarray | None = None

    @property
    def arrays(self) -> list[np.ndarray]:
        """The parameters, in the order of a vector of all of them."""
        return [self.W, self.bias] + ([] if self.gain is None else [self.gain])


class MLP:
    """A classifier: hidden layers with ReLU, then logits.

    Parameters stand layer by layer: W row by row, bias, gain. Numbers are of the dtype of the
    layers.

    Args:
        layers: From the first hidden layer to the logits, which have no gain.
        eps: Inside the root of layer norm.

    Raises:
        ValueError: If the sizes do not fit each other, or the logits have a gain.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> hidden = Dense(rng.normal(size=(6, 4)), np.zeros(6), np.ones(6))
        >>> model = MLP([hidden, Dense(rng.normal(size=(3, 6)), np.zeros(3))])
        >>> model.size, model.logits(np.ones((2, 4))).shape
        (57, (2, 3))
    """

    def __init__(self, layers: Sequence[Dense], *, eps: float = 1e-5) -> None:
        if not layers or layers[-1].gain is not None:
            raise ValueError(
                "MLP: the last layer must be the logits, without gain; a norm there would give the "
                "logits of every example the same standard deviation"
            )
        for k, layer in enumerate(layers):
            named = zip(("W", "bias", "gain"), layer.arrays, strict=False)
            check_arrays("MLP", {f"{name} of layer {k}": a for name, a in named})
        width = layers[0].W.shape[-1]
        for k, layer in enumerate(layers):
            H = len(layer.W)
            if layer.W.ndim != 2 or layer.W.shape[1] != width:
                raise ValueError(
                    f"MLP: W of layer {k} must be of shape (H, {width}), got {layer.W.shape}; "
                    "its inputs are the outputs of the layer below"
                )
            for a in layer.arrays[1:]:
                if a.shape != (H,):
                    raise ValueError(
                        f"MLP: bias and gain of layer {k} must be of shape ({H},), got {a.shape}; "
                        "one number for each unit"
                    )
            width = H
        check_eps("MLP", eps)
        self.layers, self.eps = list(layers), eps

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(a.size for layer in self.layers for a in layer.arrays)

    @np.errstate(under="ignore")
    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of each case, ``(N, classes)``."""
        return np.concatenate([self._forward(x)[-1][0] for x in self._chunks(X)])

    @np.errstate(under="ignore")
    def fisher_product(self, X: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return ``F v`` with the exact matrix of eq. 9, which is never formed.

        ::

            F v = mean over x of  Jᵀ (diag(p) - p pᵀ) J v        J = dlogits / dtheta

        Args:
            X: Cases, shape ``(N, D)``.
            v: Shape ``(size,)``.

        Returns:
            Shape ``(size,)``. What is held at a time does not grow with N.

        Raises:
            ValueError: If a shape is wrong.
        """
        directions = self._split(v)
        total = [[np.zeros_like(a) for a in layer.arrays] for layer in self.layers]
        for x in self._chunks(X):
            states = self._forward(x)
            ds = self._along(states, directions)
            u = softmax_product(softmax(states[-1][0]), ds)
            for sums, gradients in zip(total, self._back(states, u), strict=True):
                for a, gradient in zip(sums, gradients, strict=True):
                    a += gradient
        return np.concatenate([a.ravel() for sums in total for a in sums]) / len(X)

    def _chunks(self, X: np.ndarray) -> Iterator[np.ndarray]:
        D = self.layers[0].W.shape[1]
        array = isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X)
        if array and (X.dtype.kind not in "biuf" or X.dtype.itemsize > 8):
            raise TypeError(f"MLP: X must contain real numbers of at most 64 bits, got {X.dtype}")
        if not array or X.ndim != 2 or X.shape[1] != D or not len(X):
            raise ValueError(
                f"MLP: X must be an array of shape (N, {D}) with N >= 1, and without a mask, got "
                f"{type(X).__name__} of shape {np.shape(X)}; one example per row"
            )
        for start in range(0, len(X), CHUNK):
            yield X[start : start + CHUNK].astype(self.layers[0].W.dtype, copy=False)

    def _split(self, v: np.ndarray) -> list[list[np.ndarray]]:
        v = np.asarray(v)
        if v.shape != (self.size,):
            raise ValueError(
                f"MLP: v must be of shape ({self.size},), got {v.shape}; one number per parameter"
            )
        parts, start = [], 0
        for layer in self.layers:
            parts.append([])
            for a in layer.arrays:
                part = v[start : start + a.size].reshape(a.shape)
                parts[-1].append(part.astype(a.dtype, copy=False))
                start += a.size
        return parts

    def _forward(self, x: np.ndarray) -> list[tuple]:
        """Return, for each layer, its output, its input, ``x_hat`` and ``std``."""
        states = []
        for layer in self.layers:
            x_in = x
            x = x @ layer.W.T
            x_hat = std = None
            if layer.gain is not None:
                x -= x.mean(1, keepdims=True)
                std = np.sqrt(np.square(x).mean(1, keepdims=True) + self.eps)
                x_hat = x / std
                x = x_hat * layer.gain
            x += layer.bias
            if layer is not self.layers[-1]:
                np.maximum(x, 0, out=x)
            states.append((x, x_in, x_hat, std))
        return states

    def _along(self, states: list[tuple], directions: list[list[np.ndarray]]) -> np.ndarray:
        """Return the derivative of the logits along a direction in parameter space."""
        dx = None
        for layer, (x, x_in, x_hat, std), (dW, dbias, *dgain) in zip(
            self.layers, states, directions, strict=True
        ):
            da = x_in @ dW.T
            if dx is not None:
                da += dx @ layer.W.T
            if layer.gain is not None:
                da -= da.mean(1, keepdims=True)
                da -= x_hat * (x_hat * da).mean(1, keepdims=True)
                da *= layer.gain / std
                da += dgain[0] * x_hat
            da += dbias
            dx = da if layer is self.layers[-1] else da * (x > 0)
        return dx

    def _back(self, states: list[tuple], u: np.ndarray) -> list[list[np.ndarray]]:
        """Return the gradient of ``sum(u * logits)`` in each parameter."""
        gradients: list[list[np.ndarray]] = []
        for layer, (x, x_in, x_hat, std) in zip(
            reversed(self.layers), reversed(states), strict=True
        ):
            if layer is not self.layers[-1]:
                u = u * (x > 0)
            own = [u.sum(0)]
            if layer.gain is not None:
                own.append((u * x_hat).sum(0))
                u = u * layer.gain
                slope = (u * x_hat).mean(1, keepdims=True)
                u = (u - u.mean(1, keepdims=True) - slope * x_hat) / std
            gradients.append([u.T @ x_in, *own])
            if layer is not self.layers[0]:
                u = u @ layer.W
        return gradients[::-1]


def largest_eigenvalues(
    product: Callable[[np.ndarray], np.ndarray],
    size: int,
    count: int = 5,
    *,
    rng: np.random.Generator | None = None,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """Return the largest eigenvalues of a symmetric matrix that is known by its products.

    By the Lanczos method, from SciPy.

    Args:
        product: Returns the matrix times a vector, such as
            ``lambda v: model.fisher_product(X, v)``.
        size: Rows of the matrix.
        count: How many, at most ``size - 1``.
        rng: Draws the vector to start from; seed 0 if ``None``.
        tolerance: Relative.

    Returns:
        Shape ``(count,)``, the largest first.

    Raises:
        ValueError: If ``count`` is not from 1 to ``size - 1``.

    Example:
        >>> A = np.diag([1.0, 5.0, 3.0, 2.0])
        >>> largest_eigenvalues(lambda v: A @ v, 4, 2).round(3)
        array([5., 3.])
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    if not 1 <= count < size:
        raise ValueError(
            f"largest_eigenvalues: count must be from 1 to {size - 1}, got {count}; to get all "
            "of them, form the matrix"
        )
    rng = np.random.default_rng(0 if rng is None else rng)
    operator = LinearOperator((size, size), matvec=lambda v: product(v.ravel()), dtype=float)
    values = eigsh(
        operator, k=count, tol=tolerance, v0=rng.normal(size=size), return_eigenvectors=False
    )
    return np.sort(values)[::-1]


def trace_estimates(
    product: Callable[[np.ndarray], np.ndarray],
    size: int,
    samples: int,
    *,
    rng: np.random.Generator | None = None,
) -> Iterator[float]:
    """Yield ``z . F z`` for vectors ``z`` of random signs, which average to the trace.

    Args:
        product: Returns the matrix times a vector.
        size: Rows of the matrix.
        samples: Vectors to draw.
        rng: Draws them; seed 0 if ``None``.
    """
    rng = np.random.default_rng(0 if rng is None else rng)
    for _ in range(samples):
        z = rng.choice([-1.0, 1.0], size=size)
        yield float(z @ product(z))


def trace(
    product: Callable[[np.ndarray], np.ndarray],
    size: int,
    samples: int = 10,
    *,
    rng: np.random.Generator | None = None,
) -> tuple[float, float]:
    """Return the trace of a matrix that is known by its products, and its standard error.

    By Hutchinson's method: the mean of :func:`trace_estimates`.

    Args:
        product: Returns the matrix times a vector.
        size: Rows of the matrix.
        samples: Vectors to draw, at least 2.
        rng: Draws them; seed 0 if ``None``.

    Raises:
        ValueError: If ``samples`` is below 2, which leaves no error.

    Example:
        >>> A = np.diag([1.0, 5.0, 3.0, 2.0])
        >>> trace(lambda v: A @ v, 4)
        (11.0, 0.0)
    """
    if not isinstance(samples, numbers.Integral) or samples < 2:
        raise ValueError(f"trace: samples must be a whole number >= 2, got {samples!r}; try 10")
    estimates = list(trace_estimates(product, size, samples, rng=rng))
    return float(np.mean(estimates)), float(np.std(estimates, ddof=1) / np.sqrt(samples))
