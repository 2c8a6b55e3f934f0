"""Channels of one example: group norm and instance norm."""

import numpy as np

from lnlib.norms._arguments import check_channels, check_floats, check_groups, check_shapes
from lnlib.norms._statistics import affine, blocks, column, gradients_in_blocks, standardize


@np.errstate(under="ignore")
def group_norm(
    x: np.ndarray,
    groups: int,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> np.ndarray:
    """Normalize each example over groups of its channels.

    ::

        y = gain * (x - mean) / sqrt(var + eps) + bias

    ``mean`` and ``var`` run over C / groups neighboring channels and all that follows them;
    ``gain`` and ``bias`` are one number a channel. Wu & He (2018). One group is
    layer normalization for ``(N, C)`` only: on images, axes and parameters differ.

    Args:
        x: Shape ``(N, C, ...)``, such as images ``(N, C, height, width)``.
        groups: A divisor of C.
        gain: Shape ``(C,)``. ``None`` means ones.
        bias: Shape ``(C,)``. ``None`` means zeros.
        eps: In squared units of ``x``.

    Returns:
        Array of the shape of ``x``, same dtype if the parameters share it.

    Raises:
        ValueError: If ``groups`` does not divide C, or a shape is wrong.

    Example:
        >>> group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0)
        array([[-1.,  1., -1.,  1.]])
    """
    dtype = check_floats("group_norm", eps, x=x, gain=gain, bias=bias)
    N, C, S = check_channels("group_norm", x, gain=gain, bias=bias)
    check_groups("group_norm", groups, C)
    x_groups = x.reshape(N, groups, C // groups * S)
    y = np.empty(x_groups.shape, np.result_type(dtype, np.float32))
    for examples in blocks(x_groups):
        x_hat, _ = standardize(x_groups[examples], eps, out=y[examples])
        affine(x_hat.reshape(-1, C, S), column(gain), column(bias))
    return y.reshape(x.shape).astype(dtype, copy=False)


@np.errstate(under="ignore")
def group_norm_backward(
    dy: np.ndarray,
    x: np.ndarray,
    groups: int,
    gain: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dgain, dbias)`` of :func:`group_norm`.

    Within a group ``dx`` is that of :func:`layer_norm_backward`; ``dgain`` and ``dbias`` sum
    over everything but the channels.
    """
    dtype = check_floats("group_norm_backward", eps, dy=dy, x=x, gain=gain)
    N, C, S = check_channels("group_norm_backward", x, gain=gain)
    check_groups("group_norm_backward", groups, C)
    check_shapes("group_norm_backward", x.shape, dy=dy)
    dy, x_groups = dy.reshape(N, C, S), x.reshape(N, groups, C // groups * S)
    dx, dgain, dbias = gradients_in_blocks(dy, x_groups, column(gain), eps, dtype)
    return dx.reshape(x.shape), dgain, dbias


def instance_norm(
    x: np.ndarray,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> np.ndarray:
    """Normalize each example over each of its channels.

    ::

        y = gain * (x - mean) / sqrt(var + eps) + bias

    ``mean`` and ``var`` run over all that follows a channel, such as the pixels of an image.
    Ulyanov, Vedaldi & Lempitsky (2016); group normalization with a group for each channel.

    Args:
        x: Shape ``(N, C, ...)``, with at least one axis after the channels.
        gain: Shape ``(C,)``. ``None`` means ones.
        bias: Shape ``(C,)``. ``None`` means zeros.
        eps: In squared units of ``x``.

    Returns:
        Array of the shape of ``x``, same dtype if the parameters share it.

    Raises:
        ValueError: If a shape is wrong.

    Example:
        >>> instance_norm(np.array([[[1.0, 3.0], [10.0, 30.0]]]), eps=0)
        array([[[-1.,  1.],
                [-1.,  1.]]])
    """
    check_floats("instance_norm", eps, x=x, gain=gain, bias=bias)
    _, C, _ = check_channels("instance_norm", x, axes=3, gain=gain, bias=bias)
    return group_norm(x, C, gain, bias, eps=eps)


def instance_norm_backward(
    dy: np.ndarray, x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dgain, dbias)`` of :func:`instance_norm`."""
    check_floats("instance_norm_backward", eps, dy=dy, x=x, gain=gain)
    _, C, _ = check_channels("instance_norm_backward", x, axes=3, gain=gain)
    check_shapes("instance_norm_backward", x.shape, dy=dy)
    return group_norm_backward(dy, x, C, gain, eps=eps)
