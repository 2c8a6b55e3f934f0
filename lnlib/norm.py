"""Layer normalization and its relatives in NumPy, each with its gradient by hand.

All are one formula, eq. 5 of Ba, Kiros & Hinton (2016), arXiv:1607.06450::

    y = gain * (x - mean) / std + bias        std = sqrt(var + eps)

What differs is which numbers share one ``mean`` and one ``std``:

=================  ===========  =====================================  =======================
``layer_norm``     (..., H)     the features of one example            eqs. 3, 15-16
``batch_norm``     (B, H, ...)  one feature throughout the batch       eq. 2
``weight_norm``    (..., D)     none: mean = 0 and std = norm of w_i   below eq. 5
``rms_norm``       (..., H)     as ``layer_norm``, with mean = 0       Zhang & Sennrich (2019)
``group_norm``     (N, C, ...)  a group of channels of one example     Wu & He (2018)
``instance_norm``  (N, C, ...)  one channel of one example             Ulyanov et al. (2016)
=================  ===========  =====================================  =======================

For every ``y = f(x, ...)``, ``f_backward(dy, x, ...)`` takes the gradient ``dy`` of a loss in
``y`` and the other arguments of the forward pass, and returns the gradients of the loss in ``x``
and in the parameters, whether these were given or ``None``.

True of all of them:

- Arguments are NumPy arrays of floats, and stay as they are. A list or an integer array raises
  ``TypeError``; a wrong shape, an empty feature axis or a negative ``eps`` raises ``ValueError``.
- A result has the dtype that NumPy promotes the arguments to. float16 is computed in float32;
  means, variances and the gradients of the parameters, which are sums, are added up in float64.
- Equal numbers have variance 0: ``y = bias`` if ``eps > 0``. For ``eps=0`` the formula reads
  0 / 0, and the answer is NumPy's: NaN with a ``RuntimeWarning``.
- NaN or infinity in ``x`` spoils the outputs that share its statistics, and no others.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

# What they share: statistics over the last axis, and the way back through them.


def _moments(
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
    return centered, mean + rest, _dot(centered, centered) / (n - ddof)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
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


def _standardize(
    x: np.ndarray, eps: float, ddof: int = 0, out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_hat = (x - mean) / std`` and ``std = sqrt(var + eps)`` over the last axis."""
    x_hat, _, var = _moments(x, ddof, out)
    std = np.sqrt(var + eps).astype(x_hat.dtype)
    x_hat /= std
    return x_hat, std


def _standardize_backward(
    dx_hat: np.ndarray, x_hat: np.ndarray, std: np.ndarray, ddof: int = 0
) -> np.ndarray:
    """Return ``dx`` from ``dx_hat``: directly, through ``mean``, and through ``var``."""
    n, dtype = x_hat.shape[-1], np.result_type(dx_hat, x_hat)
    shift = dx_hat.sum(-1, keepdims=True) / n
    slope = (_dot(dx_hat, x_hat) / (n - ddof)).astype(dtype)
    dx = dx_hat - shift
    dx -= slope * x_hat
    dx /= std
    return dx


def _affine(x_hat: np.ndarray, gain: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    """Return ``gain * x_hat + bias``, written over ``x_hat``."""
    if gain is not None:
        x_hat *= gain
    if bias is not None:
        x_hat += bias
    return x_hat


def _wide(x: np.ndarray) -> np.ndarray:
    """Return ``x`` in at least float32."""
    return x.astype(np.result_type(x, np.float32), copy=False)


def _blocks(x: np.ndarray) -> Iterator[slice]:
    """Cut the first axis so that a block and its temporary arrays stay in the cache."""
    step = max(1, 2**17 // math.prod(x.shape[1:]))
    for start in range(0, len(x), step):
        yield slice(start, start + step)


# One example at a time.


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
    dtype = _check_floats("layer_norm", eps, x=x, gain=gain, bias=bias)
    H = _check_features("layer_norm", x, gain=gain, bias=bias)
    x_rows = x.reshape(-1, H)
    y = np.empty(x_rows.shape, np.result_type(dtype, np.float32))
    for rows in _blocks(x_rows):
        x_hat, _ = _standardize(x_rows[rows], eps, out=y[rows])
        _affine(x_hat, gain, bias)
    return y.reshape(x.shape).astype(dtype, copy=False)


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
    dtype = _check_floats("layer_norm_backward", eps, dy=dy, x=x, gain=gain)
    H = _check_features("layer_norm_backward", x, gain=gain)
    _check_shapes("layer_norm_backward", x.shape, dy=dy)
    x_rows, dy_rows = x.reshape(-1, H), dy.reshape(-1, H)
    dx = np.empty(x_rows.shape, dtype)
    dgain, dbias = np.zeros(H), np.zeros(H)
    for rows in _blocks(x_rows):
        x_hat, std = _standardize(x_rows[rows], eps)
        d = _wide(dy_rows[rows])
        dx_hat = d if gain is None else gain * d
        dx[rows] = _standardize_backward(dx_hat, x_hat, std)
        dgain += (d * x_hat).sum(0, dtype=float)
        dbias += d.sum(0, dtype=float)
    return dx.reshape(x.shape), dgain.astype(dtype), dbias.astype(dtype)


def rms_norm(x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5) -> np.ndarray:
    """Divide each example by its root mean square.

    ::

        y = gain * x / sqrt(mean(x**2) + eps)

    Zhang & Sennrich (2019): layer normalization without the mean and without the bias. It
    keeps the invariance to scaling and gives up the one to shifts.

    Args:
        x: Summed inputs, shape ``(..., H)``.
        gain: Shape ``(H,)``. ``None`` means ones.
        eps: In squared units of ``x``. ``nn.RMSNorm`` takes the machine epsilon instead.

    Returns:
        Array of the shape of ``x``, same dtype if ``gain`` shares it.

    Raises:
        ValueError: If ``gain`` is not of shape ``(H,)``, or H is 0.

    Example:
        >>> rms_norm(np.array([[1.0, 7.0]]), eps=0)
        array([[0.2, 1.4]])
    """
    dtype = _check_floats("rms_norm", eps, x=x, gain=gain)
    H = _check_features("rms_norm", x, gain=gain)
    x_rows = x.reshape(-1, H)
    y = np.empty(x_rows.shape, dtype)
    for rows in _blocks(x_rows):
        x_hat, _ = _rms_standardize(x_rows[rows], eps)
        y[rows] = _affine(x_hat, gain, None)
    return y.reshape(x.shape)


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
    dtype = _check_floats("rms_norm_backward", eps, dy=dy, x=x, gain=gain)
    H = _check_features("rms_norm_backward", x, gain=gain)
    _check_shapes("rms_norm_backward", x.shape, dy=dy)
    x_rows, dy_rows = x.reshape(-1, H), dy.reshape(-1, H)
    dx, dgain = np.empty(x_rows.shape, dtype), np.zeros(H)
    for rows in _blocks(x_rows):
        x_hat, rms = _rms_standardize(x_rows[rows], eps)
        d = _wide(dy_rows[rows])
        dx_hat = d if gain is None else gain * d
        dx[rows] = (dx_hat - x_hat * (dx_hat * x_hat).mean(-1, keepdims=True)) / rms
        dgain += (d * x_hat).sum(0, dtype=float)
    return dx.reshape(x.shape), dgain.astype(dtype)


def _rms_standardize(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    x = _wide(x)
    rms = np.sqrt(np.square(x).sum(-1, keepdims=True) / x.shape[-1] + eps)
    return x / rms, rms


# Channels of one example.


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
    dtype = _check_floats("group_norm", eps, x=x, gain=gain, bias=bias)
    N, C, S = _check_channels("group_norm", x, gain=gain, bias=bias)
    _check_groups("group_norm", groups, C)
    x_groups = x.reshape(N, groups, C // groups * S)
    y = np.empty(x_groups.shape, np.result_type(dtype, np.float32))
    for examples in _blocks(x_groups):
        x_hat, _ = _standardize(x_groups[examples], eps, out=y[examples])
        _affine(x_hat.reshape(-1, C, S), _column(gain), _column(bias))
    return y.reshape(x.shape).astype(dtype, copy=False)


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
    dtype = _check_floats("group_norm_backward", eps, dy=dy, x=x, gain=gain)
    N, C, S = _check_channels("group_norm_backward", x, gain=gain)
    _check_groups("group_norm_backward", groups, C)
    _check_shapes("group_norm_backward", x.shape, dy=dy)
    gain = _column(gain)
    x_groups, dy_channels = x.reshape(N, groups, C // groups * S), dy.reshape(N, C, S)
    dx = np.empty(x_groups.shape, dtype)
    dgain, dbias = np.zeros(C), np.zeros(C)
    for examples in _blocks(x_groups):
        x_hat, std = _standardize(x_groups[examples], eps)
        d = _wide(dy_channels[examples])
        dx_hat = d if gain is None else gain * d
        dx[examples] = _standardize_backward(dx_hat.reshape(x_hat.shape), x_hat, std)
        dgain += (d * x_hat.reshape(d.shape)).sum((0, 2), dtype=float)
        dbias += d.sum((0, 2), dtype=float)
    return dx.reshape(x.shape), dgain.astype(dtype), dbias.astype(dtype)


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
    _check_floats("instance_norm", eps, x=x, gain=gain, bias=bias)
    _, C, _ = _check_channels("instance_norm", x, axes=3, gain=gain, bias=bias)
    return group_norm(x, C, gain, bias, eps=eps)


def instance_norm_backward(
    dy: np.ndarray, x: np.ndarray, gain: np.ndarray | None = None, *, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dgain, dbias)`` of :func:`instance_norm`."""
    _check_floats("instance_norm_backward", eps, dy=dy, x=x, gain=gain)
    _, C, _ = _check_channels("instance_norm_backward", x, axes=3, gain=gain)
    _check_shapes("instance_norm_backward", x.shape, dy=dy)
    return group_norm_backward(dy, x, C, gain, eps=eps)


# The whole batch.


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
        ddof: The batch's variance is divided by n - ddof, for n cases. 1 is the unbiased
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
    dtype = _check_floats("batch_norm", eps, x=x, gain=gain, bias=bias)
    _check_channels("batch_norm", x, gain=gain, bias=bias)
    x_hat, _ = _batch_standardize("batch_norm", x, eps, ddof, mean, var)
    y = _affine(x_hat, _column(gain), _column(bias))
    return _features_second(y, x.shape).astype(dtype, copy=False)


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
    dtype = _check_floats("batch_norm_backward", eps, dy=dy, x=x, gain=gain)
    _check_channels("batch_norm_backward", x, gain=gain)
    _check_shapes("batch_norm_backward", x.shape, dy=dy)
    x_hat, std = _batch_standardize("batch_norm_backward", x, eps, ddof, mean, var)
    d = _wide(_features_first(dy))
    dx_hat = d if gain is None else _column(gain) * d
    dx = dx_hat / std if mean is not None else _standardize_backward(dx_hat, x_hat, std, ddof)
    dx = _features_second(dx, x.shape).astype(dtype, copy=False)
    dgain, dbias = (d * x_hat).sum(1, dtype=float), d.sum(1, dtype=float)
    return dx, dgain.astype(dtype), dbias.astype(dtype)


def batch_statistics(x: np.ndarray, *, ddof: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each feature over the batch.

    Over all the training data these are eq. 2; over mini-batches, average them with
    :func:`update_running`.

    Args:
        x: Summed inputs, shape ``(B, H)`` or ``(B, H, ...)``.
        ddof: The variance is divided by n - ddof, for n cases.

    Returns:
        ``mean`` and ``var``, shape ``(H,)``, in at least float32.

    Raises:
        ValueError: If ``x`` has fewer than 2 axes, or no more than ``ddof`` cases.

    Example:
        >>> batch_statistics(np.array([[1.0, 10.0], [3.0, 30.0]]), ddof=1)
        (array([ 2., 20.]), array([  2., 200.]))
    """
    _check_floats("batch_statistics", x=x)
    _check_channels("batch_statistics", x)
    rows = _features_first(x)
    _check_cases("batch_statistics", rows.shape[1], ddof)
    _, mean, var = _moments(rows, ddof)
    return mean[:, 0], var[:, 0].astype(mean.dtype)


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
    _check_floats("update_running", running=running, batch=batch)
    _check_shapes("update_running", running.shape, batch=batch)
    if not 0 <= momentum <= 1:
        raise ValueError(
            f"update_running: momentum must be between 0 and 1, got {momentum}; "
            "it is the weight of the latest batch, often 0.1"
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
        _check_cases(function, rows.shape[1], ddof)
        return _standardize(rows, eps, ddof)
    if mean is None or var is None:
        raise ValueError(
            f"{function}: mean and var must be given together, got only one of them; "
            "give both at test time and neither in training"
        )
    _check_floats(function, mean=mean, var=var)
    _check_shapes(function, x.shape[1:2], mean=mean, var=var)
    std = np.sqrt(_column(_wide(var)) + eps)
    return (rows - _column(_wide(mean))) / std, std


def _features_first(x: np.ndarray) -> np.ndarray:
    """Turn ``(B, H, ...)`` into a row of cases for each feature; for ``(B, H)``, a view."""
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _features_second(rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo ``_features_first``."""
    return rows.reshape(shape[1], shape[0], *shape[2:]).swapaxes(0, 1)


def _column(p: np.ndarray | None) -> np.ndarray | None:
    """Turn ``(C,)`` into ``(C, 1)``: one number for each row."""
    return None if p is None else p[:, None]


# No data at all.


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
    dtype = _check_floats("weight_norm", x=x, W=W, gain=gain, bias=bias)
    _check_weights("weight_norm", x, W, gain=gain, bias=bias)
    norm = np.sqrt(np.square(_wide(W)).sum(1))  # (H,)
    y = _affine(_wide(x) @ _wide(W).T / norm, gain, bias)
    return y.astype(dtype, copy=False)


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
    dtype = _check_floats("weight_norm_backward", dy=dy, x=x, W=W, gain=gain)
    H, D = _check_weights("weight_norm_backward", x, W, gain=gain)
    _check_shapes("weight_norm_backward", (*x.shape[:-1], H), dy=dy)
    x_rows, d = _wide(x.reshape(-1, D)), _wide(dy.reshape(-1, H))
    norm = np.sqrt(np.square(_wide(W)).sum(1, keepdims=True))  # (H, 1)
    v = W / norm  # (H, D)
    x_hat, dx_hat = x_rows @ v.T, d if gain is None else gain * d  # (examples, H)
    dx = (dx_hat @ v).reshape(x.shape)
    along = (dx_hat * x_hat).sum(0, dtype=float)
    dW = (dx_hat.T.astype(float) @ x_rows - _column(along) * v) / norm
    dgain, dbias = (d * x_hat).sum(0, dtype=float), d.sum(0, dtype=float)
    return dx.astype(dtype), dW.astype(dtype), dgain.astype(dtype), dbias.astype(dtype)


# The public door.


def _check_floats(function: str, eps: float = 0.0, **arrays: np.ndarray | None) -> np.dtype:
    """Check ``eps`` and that all are float arrays; return the dtype they promote to."""
    if not eps >= 0:
        raise ValueError(f"{function}: eps must be >= 0, got {eps}; the usual one is 1e-5")
    for name, a in arrays.items():
        if a is None and name in ("gain", "bias"):
            continue
        if not isinstance(a, np.ndarray):
            raise TypeError(
                f"{function}: {name} must be a NumPy array, got {type(a).__name__}; "
                f"try np.asarray({name}, dtype=float)"
            )
        if a.dtype.kind != "f":
            raise TypeError(
                f"{function}: {name} must hold floats, got {a.dtype}; try {name}.astype(float)"
            )
    return np.result_type(*(a for a in arrays.values() if a is not None))


def _check_shapes(function: str, shape: tuple[int, ...], **arrays: np.ndarray | None) -> None:
    for name, a in arrays.items():
        if a is not None and a.shape != shape:
            if name == "dy":
                fix = "it is the gradient in the output and has its shape"
            else:
                fix = f"it has one number for each feature, as np.ones({shape})"
            raise ValueError(f"{function}: {name} must be of shape {shape}, got {a.shape}; {fix}")


def _check_features(function: str, x: np.ndarray, **parameters: np.ndarray | None) -> int:
    """Check ``(..., H)`` and the parameters ``(H,)``; return H."""
    if x.ndim < 1 or x.shape[-1] < 1:
        raise ValueError(
            f"{function}: x must be of shape (..., H) with H >= 1, got {x.shape}; "
            "the features are the last axis"
        )
    _check_shapes(function, x.shape[-1:], **parameters)
    return x.shape[-1]


def _check_channels(
    function: str, x: np.ndarray, axes: int = 2, **parameters: np.ndarray | None
) -> tuple[int, int, int]:
    """Check ``(N, C, ...)`` and the parameters ``(C,)``; return N, C and the size of the rest."""
    if x.ndim < axes or 0 in x.shape[1:]:
        expected = ", ".join(["N", "C", "L"][:axes])
        raise ValueError(
            f"{function}: x must be of shape ({expected}, ...), none of them 0 but N, "
            f"got {x.shape}; x[None] adds the axis of the batch"
        )
    _check_shapes(function, x.shape[1:2], **parameters)
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


def _check_groups(function: str, groups: int, C: int) -> None:
    if groups < 1 or C % groups:
        divisors = [n for n in range(1, C + 1) if C % n == 0]
        raise ValueError(
            f"{function}: groups must divide the {C} channels, got {groups}; try one of {divisors}"
        )


def _check_cases(function: str, n: int, ddof: int) -> None:
    if not 0 <= ddof < n:
        raise ValueError(
            f"{function}: ddof must be >= 0 and below the number of cases in the batch, "
            f"got ddof={ddof} for {n}; use a larger batch, or give mean and var"
        )


def _check_weights(
    function: str, x: np.ndarray, W: np.ndarray, **parameters: np.ndarray | None
) -> tuple[int, int]:
    """Check ``(..., D)``, ``(H, D)`` and the parameters ``(H,)``; return H and D."""
    if W.ndim != 2 or x.ndim < 1 or x.shape[-1] != W.shape[1] or 0 in W.shape:
        raise ValueError(
            f"{function}: x and W must be of shapes (..., D) and (H, D), "
            f"got {x.shape} and {W.shape}; try W.T"
        )
    _check_shapes(function, W.shape[:1], **parameters)
    return W.shape
