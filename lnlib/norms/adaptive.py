"""A norm whose gain and bias come from a condition, and what may stand in a norm's place."""

import numpy as np

from lnlib.norms._activations import tanh_slope
from lnlib.norms._arguments import check_features, check_floats, check_shapes
from lnlib.norms._statistics import at_least_float32, standardize, standardize_backward


@np.errstate(under="ignore")
def adaptive_layer_norm(
    x: np.ndarray,
    condition: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> np.ndarray:
    """Layer norm with a gain and a bias for each example, computed from its condition.

    ::

        scale, shift = the two halves of  weight condition + bias
        y = (1 + scale) * (x - mean) / sqrt(var + eps) + shift

    A class, a speaker, a time of a diffusion: what the example is about says how it is scaled and
    moved. Perez et al. (2018), *FiLM*; in transformers Peebles & Xie (2023), who start ``weight``
    and ``bias`` at 0: layer norm without gain and bias. Eq. 15 has one gain for all examples.

    Args:
        x: Summed inputs, shape ``(..., H)``.
        condition: One for each example, shape ``(..., C)`` with the leading axes of ``x``, or with
            axes of size 1 among them, as ``(B, 1, C)`` for all tokens of a sequence.
        weight: Shape ``(2 H, C)``, the scale's rows first.
        bias: Shape ``(2 H,)``. ``None`` means zeros.
        eps: In squared units of ``x``.

    Returns:
        Array of the shape of ``x``.

    Raises:
        ValueError: If a shape does not fit.
        TypeError: If an array is not one of floats.

    Example:
        >>> x, weight = np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([[1.0], [1.0], [0.0], [0.0]])
        >>> adaptive_layer_norm(x, np.array([[0.0], [2.0]]), weight, eps=0)
        array([[-1.,  1.],
               [-3.,  3.]])
    """
    function = "adaptive_layer_norm"
    dtype = check_floats(function, eps, x=x, condition=condition, weight=weight, bias=bias)
    H = _check_condition(function, x, condition, weight, bias)
    x_hat, _ = standardize(at_least_float32(x), eps)
    scale, shift = _modulation(condition, weight, bias, H)
    return ((1 + scale) * x_hat + shift).astype(dtype, copy=False)


@np.errstate(under="ignore")
def adaptive_layer_norm_backward(
    dy: np.ndarray,
    x: np.ndarray,
    condition: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dcondition, dweight, dbias)`` of :func:`adaptive_layer_norm`.

    ::

        dscale = dy * x_hat        dshift = dy         summed where one condition serves several
        dcondition = weightᵀ (dscale, dshift)
    """
    function = "adaptive_layer_norm_backward"
    arrays = {"dy": dy, "x": x, "condition": condition, "weight": weight, "bias": bias}
    dtype = check_floats(function, eps, **arrays)
    H = _check_condition(function, x, condition, weight, bias)
    check_shapes(function, x.shape, dy=dy)
    x_hat, std = standardize(at_least_float32(x), eps)
    scale, _ = _modulation(condition, weight, bias, H)
    dx = standardize_backward((1 + scale) * dy, x_hat, std)
    dmodulation = np.concatenate([dy * x_hat, at_least_float32(dy)], axis=-1)
    shared = tuple(i for i, n in enumerate(condition.shape[:-1]) if n != x.shape[i])
    d = dmodulation.sum(shared, keepdims=True, dtype=float)
    rows = d.reshape(-1, 2 * H)
    dweight = rows.T @ condition.reshape(-1, condition.shape[-1])
    grads = dx, d @ weight, dweight, rows.sum(0)
    return tuple(g.astype(dtype, copy=False) for g in grads)


@np.errstate(under="ignore")
def dynamic_tanh(
    x: np.ndarray,
    alpha: np.ndarray,
    gain: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Squash each number by itself, in a norm's place: no mean, no deviation, no batch.

    ::

        y = gain * tanh(alpha * x) + bias

    Zhu et al. (2025), *Dynamic Tanh*: ``alpha``, one learned number, starts at 0.5. It is no
    normalization: twice the input is not the same output, and a shift is not undone.

    Args:
        x: Shape ``(..., H)``.
        alpha: One number, an array of shape ``()`` or ``(1,)``.
        gain: Shape ``(H,)``. ``None`` means ones.
        bias: Shape ``(H,)``. ``None`` means zeros.

    Returns:
        Array of the shape of ``x``.

    Raises:
        ValueError: If a shape does not fit.
        TypeError: If an array is not one of floats.

    Example:
        >>> dynamic_tanh(np.array([-100.0, 0.0, 100.0]), np.array(0.5))
        array([-1.,  0.,  1.])
    """
    dtype = check_floats("dynamic_tanh", x=x, alpha=alpha, gain=gain, bias=bias)
    check_features("dynamic_tanh", x, gain=gain, bias=bias)
    _check_alpha("dynamic_tanh", alpha)
    y = np.tanh(at_least_float32(alpha) * at_least_float32(x))
    y = y if gain is None else gain * y
    return (y if bias is None else y + bias).astype(dtype, copy=False)


@np.errstate(under="ignore")
def dynamic_tanh_backward(
    dy: np.ndarray, x: np.ndarray, alpha: np.ndarray, gain: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(dx, dalpha, dgain, dbias)`` of :func:`dynamic_tanh`.

    ::

        t = tanh(alpha * x)      d = gain * dy * (1 - t**2)
        dx = alpha * d           dalpha = sum(d * x)
        dgain = sum(dy * t)      dbias = sum(dy)
    """
    function = "dynamic_tanh_backward"
    dtype = check_floats(function, dy=dy, x=x, alpha=alpha, gain=gain)
    H = check_features(function, x, gain=gain)
    check_shapes(function, x.shape, dy=dy)
    _check_alpha(function, alpha)
    wide_x, wide_dy = at_least_float32(x), at_least_float32(dy)
    a = at_least_float32(alpha) * wide_x
    t, d = np.tanh(a), (wide_dy if gain is None else gain * wide_dy) * tanh_slope(a)
    dalpha = (d * wide_x).sum(dtype=float).reshape(alpha.shape)
    dgain, dbias = (a.reshape(-1, H).sum(0, dtype=float) for a in (wide_dy * t, wide_dy))
    return tuple(g.astype(dtype, copy=False) for g in (alpha * d, dalpha, dgain, dbias))


def _modulation(
    condition: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, H: int
) -> tuple[np.ndarray, np.ndarray]:
    modulation = at_least_float32(condition) @ at_least_float32(weight).T + (
        0 if bias is None else bias
    )
    return modulation[..., :H], modulation[..., H:]


def _check_condition(
    function: str,
    x: np.ndarray,
    condition: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
) -> int:
    """Check the shapes; return H."""
    H = check_features(function, x)
    if weight.ndim != 2 or weight.shape[0] != 2 * H:
        raise ValueError(
            f"{function}: weight must be of shape (2 H, C) = ({2 * H}, C), got {weight.shape}; "
            "the first H rows give the scale and the others the shift"
        )
    fits = condition.ndim == x.ndim and all(
        c in (1, n) for c, n in zip(condition.shape[:-1], x.shape[:-1], strict=True)
    )
    if not fits or condition.shape[-1] != weight.shape[1]:
        expected = ", ".join(map(str, (*x.shape[:-1], weight.shape[1])))
        raise ValueError(
            f"{function}: condition must be of shape ({expected}), or with 1 in place of leading "
            f"sizes, got {condition.shape}; condition[:, None] is shared by all tokens"
        )
    check_shapes(function, (2 * H,), bias=bias)
    return H


def _check_alpha(function: str, alpha: np.ndarray) -> None:
    if alpha.shape not in ((), (1,)):
        raise ValueError(
            f"{function}: alpha must be one number, of shape () or (1,), got {alpha.shape}; "
            "for a scale per feature, use gain"
        )
