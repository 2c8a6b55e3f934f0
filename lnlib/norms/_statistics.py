"""What the norms share: statistics over the last axis, and the way back through them."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

#: Of float64 and of float32: the smallest normal number, the smallest mean of squares that has all
#: its digits, and units in which the squares of huge and of tiny numbers have theirs.
LIMITS = (2.0**-1022, 2.0**-970, 2.0**-640, 2.0**819), (2.0**-126, 2.0**-103, 2.0**-80, 2.0**102)


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
    x_hat, var, unit = rescale_against_overflow(x, eps, lambda x: moments(x, ddof, out)[::2])
    std = np.sqrt(var + eps * unit * unit)
    x_hat /= std.astype(x_hat.dtype)
    return x_hat, (std / unit).astype(x_hat.dtype, copy=False)


def rescale_against_overflow(
    x: np.ndarray, eps: float, spread: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, float | np.ndarray]:
    """Return ``spread`` of ``unit * x``, and ``unit``: 1 but for rows whose squares overflow.

    And, where ``eps`` is no larger, for rows whose squares lose digits, unless all are equal.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centered, var = spread(x)
    normal, lowest, small, large = LIMITS[centered.itemsize == 4]
    if var.max(initial=0.0) < np.inf and (eps >= normal or var.min(initial=1.0) >= lowest):
        return centered, var, 1.0
    tiny = (eps < normal) & (var < lowest) & centered.any(-1, keepdims=True)
    # A power of 2, which rounds nothing; the other rows stay as they are.
    unit = np.where(tiny, large, np.where(np.isfinite(var), 1.0, small))
    return *spread(at_least_float32(x) * unit.astype(centered.dtype)), unit


def row_norms(W: np.ndarray) -> tuple[np.ndarray, np.ndarray, float | np.ndarray]:
    """Return rows over ``unit``, the norms of these, and ``unit``: 1 if all squares fit."""
    W, unit = at_least_float32(W), 1.0
    with np.errstate(over="ignore"):  # along the memory vecdot is the faster one
        square = np.vecdot(W, W) if W.flags.c_contiguous else np.square(W).sum(1)
    if not (square.min() >= LIMITS[W.itemsize == 4][1] and square.max() < np.inf):
        unit = np.ldexp(1.0, np.frexp(np.abs(W).max(1))[1] - 1)
        W = (W / unit[:, None]).astype(W.dtype)
        square = np.square(W).sum(1)
    return W, np.sqrt(square), unit


def standardize_backward(
    dx_hat: np.ndarray, x_hat: np.ndarray, std: np.ndarray, ddof: int = 0
) -> np.ndarray:
    """Return ``dx`` from ``dx_hat``: the direct part, and those through ``mean`` and ``var``."""
    n, dtype = x_hat.shape[-1], np.result_type(dx_hat, x_hat)
    shift = dx_hat.sum(-1, keepdims=True) / n
    slope = (dot(dx_hat, x_hat) / (n - ddof)).astype(dtype)
    dx = dx_hat - shift
    dx -= slope * x_hat
    dx /= std
    return dx


def gradients_in_blocks(
    dy: np.ndarray,
    x: np.ndarray,
    gain: np.ndarray | None,
    eps: float,
    dtype: np.dtype,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``dx``, and ``dgain`` and ``dbias`` of the second axis of ``dy``.

    ``x`` holds the numbers of ``dy`` in another shape: its last axis shares statistics.
    """
    axes = (0, *range(2, dy.ndim))
    dx = np.empty(x.shape, dtype)
    dgain, dbias = np.zeros((2, dy.shape[1]))
    for examples in blocks(x):
        x_hat, std = standardize(x[examples], eps)
        d = at_least_float32(dy[examples])
        dx_hat = d if gain is None else gain * d
        dx[examples] = standardize_backward(dx_hat.reshape(x_hat.shape), x_hat, std)
        dgain += (d * x_hat.reshape(d.shape)).sum(axes, dtype=float)
        dbias += d.sum(axes, dtype=float)
    return dx, dgain.astype(dtype), dbias.astype(dtype)


def affine(x_hat: np.ndarray, gain: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    """Return ``gain * x_hat + bias``, written over ``x_hat``."""
    if gain is not None:
        x_hat *= gain
    if bias is not None:
        x_hat += bias
    return x_hat


def at_least_float32(x: np.ndarray) -> np.ndarray:
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
