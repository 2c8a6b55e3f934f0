"""A normalized layer as a function of its parameters: value, derivatives, eq. 14's terms."""

import numpy as np

from lnlib import norms, registry


def real(name: str, a: np.ndarray) -> np.ndarray:
    """Return ``a`` as float64; an imaginary part, a mask or more digits would be lost."""
    if np.ma.isMaskedArray(a):
        raise ValueError(f"GLM: {name} must have no mask, got {type(a).__name__}; fill it first")
    a = np.asarray(a)
    if a.dtype.kind == "c":
        raise ValueError(f"GLM: {name} must be real, got {a.dtype}; try {name}.real")
    if a.dtype.kind == "f" and a.dtype.itemsize > 8:
        raise ValueError(
            f"GLM: {name} must have at most 64 bits, got {a.dtype}; try {name}.astype(float)"
        )
    return a.astype(float, copy=False)


class Layer:
    """``s_i = g_i (a_i - mean_i) / std_i + b_i`` for ``a = W x``; see :class:`.GLM`."""

    def __init__(self, W: np.ndarray, b: np.ndarray, g: np.ndarray, norm: str, eps: float) -> None:
        self.W, self.b, self.g = W, b, g
        self.norm, self.eps = norm, eps
        self._axis = {"batch": 0, "example": 1}.get(registry.NORMS[norm].over)  # of the statistics

    @property
    def size(self) -> int:
        """The number of parameters: H (D + 2), and H (D + 1) without a norm."""
        H, D = self.W.shape
        return H * (D + 1 + (self.norm != "none"))

    @property
    def theta(self) -> np.ndarray:
        """The parameters as one vector."""
        columns = [self.W, self.b[:, None]] + [self.g[:, None]] * (self.norm != "none")
        return np.concatenate(columns, axis=1).ravel()

    def _cases(self, X: np.ndarray) -> np.ndarray:
        X = real("X", X)
        if X.ndim != 2 or X.shape[1] != self.W.shape[1] or not len(X):
            raise ValueError(
                f"GLM: X must be of shape (N, {self.W.shape[1]}) with N >= 1, got {X.shape}; "
                "one example per row"
            )
        return X

    def _split(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the parts of a vector in parameter space that belong to W, b and g."""
        v = real("v", v)
        if v.shape != (self.size,):
            raise ValueError(
                f"GLM: a step in the parameters must be of shape ({self.size},), got {v.shape}; "
                "for each unit its weights, its bias and, with a norm, its gain"
            )
        D = self.W.shape[1]
        v = v.reshape(len(self.W), -1)
        return v[:, :D], v[:, D], None if self.norm == "none" else v[:, D + 1]

    def _join(self, dW: np.ndarray, db: np.ndarray, dg: np.ndarray | None) -> np.ndarray:
        columns = [dW, db[:, None]] + ([] if dg is None else [dg[:, None]])
        return np.concatenate(columns, axis=1).ravel()

    def _forward(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``s``, ``(a - mean) / std`` and ``std``."""
        a = X @ self.W.T
        if self.norm == "none":
            return a + self.b, a, np.ones(1)
        if self.norm == "weight":
            std = np.linalg.norm(self.W, axis=1)
            x_hat = a / std
        else:
            centered = a - a.mean(self._axis, keepdims=True)
            std = np.sqrt(np.square(centered).mean(self._axis, keepdims=True) + self.eps)
            x_hat = centered / std
        return self.g * x_hat + self.b, x_hat, std

    def _along(self, X: np.ndarray, v: np.ndarray, forward: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the derivative of ``s`` along ``v``: ``J v``, ``(N, H)``."""
        dW, db, dg = self._split(v)
        _, x_hat, std = forward
        da = X @ dW.T
        if self.norm == "none":
            return da + db
        if self.norm == "weight":
            d_hat = (da - x_hat * (self.W * dW).sum(1) / std) / std
        else:
            shift = da.mean(self._axis, keepdims=True)
            slope = (x_hat * da).mean(self._axis, keepdims=True)
            d_hat = (da - shift - x_hat * slope) / std
        return self.g * d_hat + dg * x_hat + db

    def _back(self, X: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the sum over the cases of ``Jᵀ u``, by the gradients of :mod:`lnlib.norms`."""
        if self.norm == "none":
            return self._join(u.T @ X, u.sum(0), None)
        if self.norm == "weight":
            _, dW, dg, db = norms.weight_norm_backward(u, X, self.W, self.g)
            return self._join(dW, db, dg)
        backward = norms.batch_norm_backward if self.norm == "batch" else norms.layer_norm_backward
        da, dg, db = backward(u, X @ self.W.T, self.g, eps=self.eps)
        return self._join(da.T @ X, db, dg)

    def _chi_terms(self, X: np.ndarray, x_hat: np.ndarray, std: np.ndarray) -> np.ndarray:
        """Return ``∂mean_i/∂w_i + (a_i - mean_i) / std_i ∂std_i/∂w_i``, ``(N, H, D)``."""
        if self.norm == "weight":
            d_mean, d_std = 0.0, self.W / std[:, None]
        elif self.norm == "batch":
            d_mean = X.mean(0)
            d_std = x_hat.T @ (X - d_mean) / len(X)  # (H, D)
        else:
            H = len(self.W)
            d_mean = X[:, None] / H
            d_std = x_hat[:, :, None] * X[:, None] / H
        return d_mean + x_hat[:, :, None] * d_std
