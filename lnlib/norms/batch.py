"""The whole batch: batch norm and its running statistics."""

import numbers

import numpy as np

from lnlib.norms._arguments import check_cases, check_channels, check_floats, check_shapes
from lnlib.norms._statistics import (
    affine,
    at_least_float32,
    column,
    moments,
    standardize,
    standardize_backward,
)


@np.errstate(under="ignore")
def batch_norm(
    x: np.ndarray,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
    ddof: int = 0,
    mean: np.ndarray | None = None,
    var: np.ndarray | None = None,
) -> np.ndarray:
    """Normalize each feature over the batch.

    ::

        y = gain * (x - mean) / sqrt(var + eps) + bias

    ``mean`` and ``var`` are the batch's own (training) or given (test time). Ba, Kiros &
    Hinton (2016), eq. 2, where they are expectations over all the training data: see
    :func:`batch_statistics` and :func:`update_running`.

    Args:
        x: Summed inputs, shape ``(B, H)``. As in PyTorch, further axes, ``(B, H, ...)``,
            such as the pixels of an image, count as further cases of the same feature.
        gain: Shape ``(H,)``. ``None`` means ones.
        bias: Shape ``(H,)``. ``None`` means zeros.
        eps: In squared units of ``x``.
        ddof: The sum of squared deviations is divided by n - ddof, for n cases. 1 is the unbiased
            variance that section 6.6 takes at batch size 4. A given ``var`` is taken as is.
        mean: Shape ``(H,)``; given together with ``var``, or ``None``.
        var: Shape ``(H,)``; given together with ``mean``, or ``None``.

    Returns:
        Array of the shape of ``x``, same dtype if ``gain`` and ``bias`` share it.

    Raises:
        ValueError: If a shape is wrong, if only one of ``mean`` and ``var`` is given, or if
            there are no more than ``ddof`` cases.

    Example:
        >>> x = np.array([[1.0, 10.0], [3.0, 30.0]])
        >>> batch_norm(x, eps=0)
        array([[-1., -1.],
               [ 1.,  1.]])
        >>> batch_norm(x, eps=0, mean=np.array([1.0, 0.0]), var=np.array([4.0, 100.0]))
        array([[0., 1.],
               [1., 3.]])
    """
    dtype = check_floats("batch_norm", eps, x=x, gain=gain, bias=bias)
    check_channels("batch_norm", x, gain=gain, bias=bias)
    x_hat, _ = _batch_standardize("batch_norm", x, eps, ddof, mean, var)
    y = affine(x_hat, column(gain), column(bias))
    return _features_second(y, x.shape).astype(dtype, copy=False)


@np.errstate(under="ignore")
def batch_norm_backward(
    dy: np.ndarray,
    x: np.ndarray,
    gain: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
    ddof: int = 0,
    mean: np.ndarray | None = None,
    var: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dgain, dbias)`` of :func:`batch_norm`.

    ::

        dx_hat = gain * dy
        dx     = (dx_hat - mean(dx_hat) - x_hat * sum(dx_hat * x_hat) / (n - ddof)) / std
        dgain  = sum(dy * x_hat)        dbias = sum(dy)

    Means and sums run over the n cases of a feature. Given statistics do not depend on
    ``x``, which leaves ``dx = dx_hat / std``.
    """
    dtype = check_floats("batch_norm_backward", eps, dy=dy, x=x, gain=gain)
    check_channels("batch_norm_backward", x, gain=gain)
    check_shapes("batch_norm_backward", x.shape, dy=dy)
    x_hat, std = _batch_standardize("batch_norm_backward", x, eps, ddof, mean, var)
    d = at_least_float32(_features_first(dy))
    dx_hat = d if gain is None else column(gain) * d
    dx = dx_hat / std if mean is not None else standardize_backward(dx_hat, x_hat, std, ddof)
    dx = _features_second(dx, x.shape).astype(dtype, copy=False)
    dgain, dbias = (d * x_hat).sum(1, dtype=float), d.sum(1, dtype=float)
    return dx, dgain.astype(dtype), dbias.astype(dtype)


@np.errstate(under="ignore")
def batch_statistics(x: np.ndarray, *, ddof: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each feature over the batch.

    Over all the training data these are eq. 2; over mini-batches, average them with
    :func:`update_running`.

    Args:
        x: Summed inputs, shape ``(B, H)`` or ``(B, H, ...)``.
        ddof: The sum of squared deviations is divided by n - ddof, for n cases.

    Returns:
        ``mean`` and ``var``, shape ``(H,)``, in at least float32.

    Raises:
        ValueError: If ``x`` has fewer than 2 axes, or no more than ``ddof`` cases.

    Example:
        >>> batch_statistics(np.array([[1.0, 10.0], [3.0, 30.0]]), ddof=1)
        (array([ 2., 20.]), array([  2., 200.]))
    """
    check_floats("batch_statistics", x=x)
    check_channels("batch_statistics", x)
    rows = _features_first(x)
    check_cases("batch_statistics", rows.shape[1], ddof)
    _, mean, var = moments(rows, ddof)
    return mean[:, 0], var[:, 0].astype(mean.dtype)


@np.errstate(under="ignore")
def update_running(running: np.ndarray, batch: np.ndarray, momentum: float = 0.1) -> np.ndarray:
    """Move a running mean or variance towards that of the latest batch.

    ::

        running = (1 - momentum) * running + momentum * batch

    ``nn.BatchNorm1d`` starts from mean 0 and variance 1; it normalizes with the biased
    variance (``ddof=0``) but keeps the unbiased one (``ddof=1``).

    Args:
        running: So far, shape ``(H,)``.
        batch: Of the latest batch, from :func:`batch_statistics`, shape ``(H,)``.
        momentum: Weight of the latest batch, from 0 to 1.

    Returns:
        A new array of shape ``(H,)``.

    Raises:
        ValueError: If the shapes differ, or ``momentum`` is not between 0 and 1.

    Example:
        >>> update_running(np.zeros(2), np.array([1.0, 2.0]))
        array([0.1, 0.2])
    """
    check_floats("update_running", running=running, batch=batch)
    check_shapes("update_running", running.shape, batch=batch)
    if not isinstance(momentum, numbers.Real) or not 0 <= momentum <= 1:
        raise ValueError(
            f"update_running: momentum must be between 0 and 1, got {momentum!r}; "
            "it is the weight of the latest batch, typically 0.1"
        )
    return (1 - momentum) * running + momentum * batch


def _batch_standardize(
    function: str,
    x: np.ndarray,
    eps: float,
    ddof: int,
    mean: np.ndarray | None,
    var: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_hat`` and ``std``, features first, by the batch's or the given statistics."""
    rows = _features_first(x)
    if mean is None and var is None:
        check_cases(function, rows.shape[1], ddof)
        return standardize(rows, eps, ddof)
    if mean is None or var is None:
        raise ValueError(
            f"{function}: mean and var must be given together, got only one of them; "
            "give both at inference and neither in training"
        )
    check_floats(function, mean=mean, var=var)
    check_shapes(function, x.shape[1:2], mean=mean, var=var)
    if (var < 0).any():
        raise ValueError(f"{function}: var must be >= 0, got {var.min()}; it is the std squared")
    std = np.sqrt(column(at_least_float32(var)) + eps)
    return (rows - column(at_least_float32(mean))) / std, std


def _features_first(x: np.ndarray) -> np.ndarray:
    """Turn ``(B, H, ...)`` into a row of cases for each feature; for ``(B, H)``, a view."""
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _features_second(rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo ``_features_first``."""
    return rows.reshape(shape[1], shape[0], *shape[2:]).swapaxes(0, 1)
