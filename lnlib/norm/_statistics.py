"""What the norms share: statistics over the last axis, and the way back through them."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np


def moments(
    x: np.ndarray, ddof: int = 0, out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``x - mean``, ``mean`` and ``var`` over the last axis, in at least float32.

    Not ``x`` less one of its numbers first: an outlier would cost all the others their digits.
    """
    n, dtype = x.shape[-1], np.result_type(x, np.float32)
    if dtype == np.float32:  # float64 has digits to spare: the mean of equal numbers is theirs
        exact = np.einsum("...i->...", x, dtype=float)[..., None] / n
        mean = exact.astype(dtype)
        centered = np.subtract(x, mean, out=out, dtype=dtype)
        rest = (exact - mean).astype(dtype)  # at a mean of 1e4, what rounding it took matters
    else:
        first = x[..., :1]  # less it, equal numbers are exactly 0
        mean = first + (x - first).sum(-1, keepdims=True) / n
        centered = np.subtract(x, mean, out=out)
        rest = centered.sum(-1, keepdims=True) / n
    centered -= rest
    # Not E[x^2] - E[x]^2: in float32 it cancels once |mean| >> std.
    return centered, mean + rest, dot(centered, centered) / (n - ddof)


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sum of products over the last axis, in float64; parts of it in its own dtype."""
    # Along the memory vecdot is the faster one, across it einsum. Beside an outlier every further
    # number of a part is rounded to the outlier's digits: short parts.
    along = a.strides[-1] == a.itemsize
    dot, part = (np.vecdot, 32) if along else (partial(np.einsum, "...i,...i->..."), 16)
    whole = a.shape[-1] // part * part
    cut = (*a.shape[:-1], -1, part)
    parts = dot(a[..., :whole].reshape(cut), b[..., :whole].reshape(cut))
    total = parts.sum(-1, dtype=float) + dot(a[..., whole:], b[..., whole:])
    return total[..., None]


def standardize(
    x: np.ndarray, eps: float, ddof: int = 0, out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_hat = (x - mean) / std`` and ``std = sqrt(var + eps)`` over the last axis."""
    x_hat, var, unit = in_unit(x, lambda x: moments(x, ddof, out)[::2])
    std = np.sqrt(var + eps * unit**2)
    x_hat /= std.astype(x_hat.dtype)
    return x_hat, (std / unit).astype(x_hat.dtype, copy=False)


def in_unit(
    x: np.ndarray, spread: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, float | np.ndarray]:
    """Return ``spread`` of ``unit * x``, and ``unit``: 1, less for rows whose squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        centered, var = spread(x)
    if np.isfinite(var).all():
        return centered, var, 1.0
    # A power of 2, which rounds nothing; the other rows stay as they are.
    small = 2.0 ** (-5 * np.finfo(centered.dtype).maxexp // 8)
    unit = np.where(np.isfinite(var), 1.0, small)
    return *spread(wide(x) * unit.astype(centered.dtype)), unit


def standardize_backward(
    dx_hat: np.ndarray, x_hat: np.ndarray, std: np.ndarray, ddof: int = 0
) -> np.ndarray:
    """Return ``dx`` from ``dx_hat``: directly, through ``mean``, and through ``var``."""
    n, dtype = x_hat.shape[-1], np.result_type(dx_hat, x_hat)
    shift = dx_hat.sum(-1, keepdims=True) / n
    slope = (dot(dx_hat, x_hat) / (n - ddof)).astype(dtype)
    dx = dx_hat - shift
    dx -= slope * x_hat
    dx /= std
    return dx


def affine(x_hat: np.ndarray, gain: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    """Return ``gain * x_hat + bias``, written over ``x_hat``."""
    if gain is not None:
        x_hat *= gain
    if bias is not None:
        x_hat += bias
    return x_hat


def wide(x: np.ndarray) -> np.ndarray:
    """Return ``x`` in at least float32."""
    return x.astype(np.result_type(x, np.float32), copy=False)


def blocks(x: np.ndarray) -> Iterator[slice]:
    """Cut the first axis so that a block and its temporary arrays stay in the cache."""
    step = max(1, 2**17 // math.prod(x.shape[1:]))
    for start in range(0, len(x), step):
        yield slice(start, start + step)


def column(p: np.ndarray | None) -> np.ndarray | None:
    """Turn ``(C,)`` into ``(C, 1)``: one number for each row."""
    return None if p is None else p[:, None]
