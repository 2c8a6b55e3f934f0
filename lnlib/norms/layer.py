"""One example at a time: layer norm and RMS norm."""

import numpy as np

from lnlib.norms._arguments import check_features, check_floats, check_shapes
from lnlib.norms._statistics import (
    affine,
    at_least_float32,
    blocks,
    gradients_in_blocks,
    rescale_against_overflow,
    standardize,
)


@np.errstate(under="ignore")
def layer_norm(
    x: np.ndarray,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> np.ndarray:
    """Normalize each example over its own features.

    ::

        y = gain * (x - mean) / sqrt(var + eps) + bias

    ``mean`` and ``var`` (divided by H, not H - 1) run over the last axis, so no
    example sees the batch. Ba, Kiros & Hinton (2016), eqs. 15-16, which have no
    ``eps``; it sits inside the root, as in PyTorch.

    Args:
        x: Summed inputs, shape ``(..., H)``, float16, float32 or float64.
        gain: Shape ``(H,)``. ``None`` means ones.
        bias: Shape ``(H,)``, in units of ``y``. ``None`` means zeros.
        eps: In squared units of ``x``. ``0`` makes the invariances exact.

    Returns:
        Array of the shape of ``x``, same dtype if the parameters share it.

    Raises:
        ValueError: If ``gain`` or ``bias`` is not of shape ``(H,)``, or H is 0.

    Example:
        >>> layer_norm(np.array([[1.0, 2.0, 3.0, 4.0]]), eps=0).round(3)
        array([[-1.342, -0.447,  0.447,  1.342]])
    """
    dtype = check_floats("layer_norm", eps, x=x, gain=gain, bias=bias)
    H = check_features("layer_norm", x, gain=gain, bias=bias)
    x_rows = x.reshape(-1, H)
    y = np.empty(x_rows.shape, np.result_type(dtype, np.float32))
    for rows in blocks(x_rows):
        x_hat, _ = standardize(x_rows[rows], eps, out=y[rows])
        affine(x_hat, gain, bias)
    return y.reshape(x.shape).astype(dtype, copy=False)


@np.errstate(under="ignore")
def layer_norm_backward(
    dy: np.ndarray, x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dgain, dbias)`` of :func:`layer_norm`.

    ::

        dx_hat = gain * dy
        dx     = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / std
        dgain  = sum(dy * x_hat)        dbias = sum(dy)

    The means run over the features, the sums over the examples. What the means take away
    are the gradient's parts along a shift and along a scaling of ``x``, which (at ``eps=0``)
    change nothing.

    Example:
        >>> x, dy = np.array([[1.0, 2.0, 6.0]]), np.array([[0.0, 0.0, 1.0]])
        >>> dx, dgain, dbias = layer_norm_backward(dy, x, eps=0)
        >>> shift, scaling = dx.sum(), (dx * x).sum()
        >>> print(abs(shift) < 1e-15, abs(scaling) < 1e-15)
        True True
    """
    dtype = check_floats("layer_norm_backward", eps, dy=dy, x=x, gain=gain)
    H = check_features("layer_norm_backward", x, gain=gain)
    check_shapes("layer_norm_backward", x.shape, dy=dy)
    rows = dy.reshape(-1, H), x.reshape(-1, H)
    dx, dgain, dbias = gradients_in_blocks(*rows, gain, eps, dtype)
    return dx.reshape(x.shape), dgain, dbias


@np.errstate(under="ignore")
def rms_norm(x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5) -> np.ndarray:
    """Divide each example by its root mean square.

    ::

        y = gain * x / sqrt(mean(x**2) + eps)

    Zhang & Sennrich (2019): layer normalization without the mean and without the bias. It
    keeps the invariance to scaling and gives up the one to shifts.

    Args:
        x: Summed inputs, shape ``(..., H)``.
        gain: Shape ``(H,)``. ``None`` means ones.
        eps: In squared units of ``x``. The default of ``nn.RMSNorm`` is float32's machine
            epsilon, 1.2e-7, for 16 bits too.

    Returns:
        Array of the shape of ``x``, same dtype if ``gain`` shares it.

    Raises:
        ValueError: If ``gain`` is not of shape ``(H,)``, or H is 0.

    Example:
        >>> rms_norm(np.array([[1.0, 7.0]]), eps=0)
        array([[0.2, 1.4]])
    """
    dtype = check_floats("rms_norm", eps, x=x, gain=gain)
    H = check_features("rms_norm", x, gain=gain)
    x_rows = x.reshape(-1, H)
    y = np.empty(x_rows.shape, dtype)
    for rows in blocks(x_rows):
        x_hat, _ = _rms_standardize(x_rows[rows], eps)
        y[rows] = affine(x_hat, gain, None)
    return y.reshape(x.shape)


@np.errstate(under="ignore")
def rms_norm_backward(
    dy: np.ndarray, x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(dx, dgain)`` of :func:`rms_norm`.

    ::

        dx_hat = gain * dy
        dx     = (dx_hat - x_hat * mean(dx_hat * x_hat)) / rms
        dgain  = sum(dy * x_hat)

    That is layer normalization's gradient without the path through the mean.
    """
    dtype = check_floats("rms_norm_backward", eps, dy=dy, x=x, gain=gain)
    H = check_features("rms_norm_backward", x, gain=gain)
    check_shapes("rms_norm_backward", x.shape, dy=dy)
    x_rows, dy_rows = x.reshape(-1, H), dy.reshape(-1, H)
    dx, dgain = np.empty(x_rows.shape, dtype), np.zeros(H)
    for rows in blocks(x_rows):
        x_hat, rms = _rms_standardize(x_rows[rows], eps)
        d = at_least_float32(dy_rows[rows])
        dx_hat = d if gain is None else gain * d
        dx[rows] = (dx_hat - x_hat * (dx_hat * x_hat).mean(-1, keepdims=True)) / rms
        dgain += (d * x_hat).sum(0, dtype=float)
    return dx.reshape(x.shape), dgain.astype(dtype)


def _rms_standardize(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    x, square, unit = rescale_against_overflow(
        at_least_float32(x), eps, lambda x: (x, np.square(x).mean(-1, keepdims=True))
    )
    rms = np.sqrt(square + np.asarray(eps * unit * unit, x.dtype))
    return x / rms, (rms / unit).astype(x.dtype, copy=False)
