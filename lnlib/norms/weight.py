"""No data at all: weight norm."""

import numpy as np

from lnlib.norms._arguments import check_floats, check_shapes, check_weights
from lnlib.norms._statistics import affine, at_least_float32, column, row_norms


@np.errstate(under="ignore")
def weight_norm(
    x: np.ndarray,
    W: np.ndarray,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Divide the summed input of each neuron by the norm of its weights.

    ::

        y_i = gain_i * (w_i . x) / ||w_i|| + bias_i

    Salimans & Kingma (2016), in the terms of Ba, Kiros & Hinton (2016): eq. 5 with mean 0
    and std ``||w_i||``. No statistics of the data, hence no ``eps``: a neuron without
    weights gives NaN.

    Args:
        x: Inputs, shape ``(..., D)``.
        W: Incoming weights, shape ``(H, D)``: a row ``w_i`` for each neuron.
        gain: Shape ``(H,)``. ``None`` means ones.
        bias: Shape ``(H,)``. ``None`` means zeros.

    Returns:
        Array of shape ``(..., H)``, same dtype if all arguments share it.

    Raises:
        ValueError: If ``x`` and ``W`` do not have D in common, or a parameter is not ``(H,)``.

    Example:
        >>> weight_norm(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [30.0, 40.0]]))
        array([[2.2, 2.2]])
    """
    dtype = check_floats("weight_norm", x=x, W=W, gain=gain, bias=bias)
    check_weights("weight_norm", x, W, gain=gain, bias=bias)
    W, norm, _ = row_norms(W)
    y = affine(at_least_float32(x) @ W.T / norm, gain, bias)
    return y.astype(dtype, copy=False)


@np.errstate(under="ignore")
def weight_norm_backward(
    dy: np.ndarray, x: np.ndarray, W: np.ndarray, gain: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dW, dgain, dbias)`` of :func:`weight_norm`.

    ::

        v_i   = w_i / ||w_i||       x_hat_i = v_i . x       dx_hat_i = gain_i * dy_i
        dx    = sum_i(dx_hat_i * v_i)
        dw_i  = sum(dx_hat_i * (x - x_hat_i * v_i)) / ||w_i||
        dgain = sum(dy * x_hat)     dbias = sum(dy)

    The sums without an index run over the examples. Each ``dw_i`` is orthogonal to ``w_i``.
    """
    dtype = check_floats("weight_norm_backward", dy=dy, x=x, W=W, gain=gain)
    H, D = check_weights("weight_norm_backward", x, W, gain=gain)
    check_shapes("weight_norm_backward", (*x.shape[:-1], H), dy=dy)
    x_rows, d = at_least_float32(x.reshape(-1, D)), at_least_float32(dy.reshape(-1, H))
    W, norm, unit = row_norms(W)
    v = W / column(norm)
    x_hat, dx_hat = x_rows @ v.T, d if gain is None else gain * d  # (examples, H)
    dx = (dx_hat @ v).reshape(x.shape)
    along = (dx_hat * x_hat).sum(0, dtype=float)
    dW = (dx_hat.T.astype(float) @ x_rows - column(along) * v) / column(norm * unit)
    dgain, dbias = (d * x_hat).sum(0, dtype=float), d.sum(0, dtype=float)
    return dx.astype(dtype), dW.astype(dtype), dgain.astype(dtype), dbias.astype(dtype)
