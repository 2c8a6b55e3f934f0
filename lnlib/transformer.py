"""Attention and a transformer block in NumPy, with their gradients written by hand.

A block (Vaswani et al., 2017) has two sublayers ``f``, attention and a feed-forward network, each
with a residual connection. ``placement`` says where the norm ``N`` is applied:

============  =====================  ======================================================
``pre``       x + f(N(x))            before the sublayer, not on the residual path: Xiong
                                     et al. (2020)
``post``      N(x + f(x))            after the addition: Vaswani et al. (2017)
``sandwich``  x + N_out(f(N(x)))     before and after the sublayer: Ding et al. (2021)
``none``      x + f(x)
============  =====================  ======================================================

``N`` is :func:`lnlib.layer_norm` or :func:`lnlib.rms_norm` over the ``D`` features of each token. A
norm of queries and keys (*QK norm*; Henry et al., 2020) bounds the attention scores.

Inputs ``x`` have shape ``(..., T, D)``, for ``T`` tokens; attention is causal. Parameters are a
dict of arrays:

- attention, with ``K`` features per query and ``V`` per value: ``W_q (K, D)``, ``W_k (K, D)``,
  ``W_v (V, D)``, ``W_o (D, V)``; with a QK norm ``gain_q``, ``gain_k`` and, for layer norm,
  ``bias_q``, ``bias_k``, of shape ``(K,)``;
- feed-forward network, with ``F`` hidden units: ``W_1 (F, D)``, ``b_1 (F,)``, ``W_2 (D, F)``,
  ``b_2 (D,)``;
- norms of a block, of shape ``(D,)``: ``gain_a``, ``bias_a`` of the attention sublayer, ``gain_f``,
  ``bias_f`` of the feed-forward sublayer; in a sandwich ``gain_a_out`` and so on of the second
  norm.

The matrices are required; missing gains are 1 and missing biases 0. Wrong arguments raise
``ValueError`` or ``TypeError``; arguments are never modified.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from lnlib._former_keywords import accept_former_keywords
from lnlib.norms import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from lnlib.norms._activations import softmax, softmax_product
from lnlib.norms._arguments import check_arrays, check_eps, check_names

__all__ = [
    "NORMS",
    "PLACEMENTS",
    "Gradients",
    "OutputAndVJP",
    "Params",
    "attention",
    "attention_backward",
    "attention_weights",
    "block",
    "block_backward",
]

Params = Mapping[str, np.ndarray]
Gradients = dict[str, np.ndarray]
#: An output, and its vector-Jacobian product: a function that takes the gradient in the output,
#: stores those of the parameters in ``grads``, and returns that in the input.
OutputAndVJP = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]

NORMS = ("none", "layer", "rms")
PLACEMENTS = ("none", "pre", "post", "sandwich")
# Shape of each parameter.
_ATTENTION = {"W_q": "KD", "W_k": "KD", "W_v": "VD", "W_o": "DV"}
_FEED_FORWARD = {"W_1": "FD", "W_2": "DF", "b_1": "F", "b_2": "D"}


# Attention.


@np.errstate(under="ignore")
def attention(
    x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> np.ndarray:
    """Return the output of one causal attention head.

    ::

        q, k, v = x W_qᵀ, x W_kᵀ, x W_vᵀ        with a QK norm  q, k = N(q), N(k)
        y = softmax(mask(q kᵀ / sqrt(K))) v W_oᵀ

    Vaswani et al. (2017), section 3.2.1.

    Args:
        x: Input, shape ``(..., T, D)``.
        params: Parameters, see the top of this module.
        qk_norm: Norm of each query and each key: ``none``, ``layer`` or ``rms``.
        eps: Inside the root of the QK norm.

    Returns:
        Shape ``(..., T, D)``.

    Raises:
        ValueError: If a shape, a name in ``params`` or ``qk_norm`` is wrong.
        TypeError: If an array does not have a floating-point dtype.

    Example:
        >>> identity = {name: np.eye(2) for name in ("W_q", "W_k", "W_v", "W_o")}
        >>> attention(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), identity).round(2)
        array([[1.  , 0.  ],
               [1.  , 0.  ],
               [0.11, 1.79]])
    """
    _check("attention", x, params, _attention_shapes(qk_norm), qk_norm=qk_norm, eps=eps)
    return _attention_vjp(x, params, _Norms(params, qk_norm, eps, {}))[0]


@np.errstate(under="ignore")
def attention_weights(
    x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> np.ndarray:
    """Return the weight of each token (last axis) for each token, ``(..., T, T)``; rows sum to 1.

    The arguments are those of :func:`attention`.
    """
    _check("attention_weights", x, params, _attention_shapes(qk_norm), qk_norm=qk_norm, eps=eps)
    norms = _Norms(params, qk_norm, eps, {})
    return _softmax_scores(norms("q", x @ params["W_q"].T), norms("k", x @ params["W_k"].T))


@np.errstate(under="ignore")
def attention_backward(
    dy: np.ndarray, x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> tuple[np.ndarray, Gradients]:
    """Return ``(dx, dparams)``, the gradients of :func:`attention`.

    ``dy`` is the gradient of the loss in the output; the other arguments are those of
    :func:`attention`. The gradients are those in ``x`` and in each array of ``params``.
    """
    shapes = _attention_shapes(qk_norm)
    _check("attention_backward", x, params, shapes, dy, qk_norm=qk_norm, eps=eps)
    grads: Gradients = {}
    _, vjp = _attention_vjp(x, params, _Norms(params, qk_norm, eps, grads))
    dx = vjp(dy)
    return dx, {name: grads[name] for name in params}


def _softmax_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the attention weights of queries and keys, with a causal mask."""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    is_visible = np.tri(*scores.shape[-2:], dtype=bool)
    return softmax(np.where(is_visible, scores, -np.inf))


def _attention_vjp(x: np.ndarray, params: Params, norms: "_Norms") -> OutputAndVJP:
    """Return the output of attention and its vector-Jacobian product."""
    query, key, v = (x @ params[name].T for name in ("W_q", "W_k", "W_v"))
    q, k = norms("q", query), norms("k", key)
    weights = _softmax_scores(q, k)
    mean = weights @ v
    grads = norms.grads

    def vjp(dy: np.ndarray) -> np.ndarray:
        d_mean = dy @ params["W_o"]
        d_weights = d_mean @ np.swapaxes(v, -1, -2)
        # Masked scores get no gradient: their weight is 0.
        d_scores = softmax_product(weights, d_weights) / math.sqrt(q.shape[-1])
        d_query = norms.backward("q", d_scores @ k, query)
        d_key = norms.backward("k", np.swapaxes(d_scores, -1, -2) @ q, key)
        d_v = np.swapaxes(weights, -1, -2) @ d_mean
        grads["W_q"], grads["W_k"] = _weight_gradient(d_query, x), _weight_gradient(d_key, x)
        grads["W_v"], grads["W_o"] = _weight_gradient(d_v, x), _weight_gradient(dy, mean)
        return d_query @ params["W_q"] + d_key @ params["W_k"] + d_v @ params["W_v"]

    return mean @ params["W_o"].T, vjp


# A block.


@accept_former_keywords(place="placement")
@np.errstate(under="ignore")
def block(
    x: np.ndarray,
    params: Params,
    *,
    placement: str = "pre",
    norm: str = "layer",
    qk_norm: str = "none",
    eps: float = 1e-5,
) -> np.ndarray:
    """Return the output of a transformer block: attention, then a feed-forward network.

    ::

        pre       u = x + attention(N_a(x))             y = u + feed(N_f(u))
        post      u = N_a(x + attention(x))             y = N_f(u + feed(u))
        sandwich  u = x + N_a_out(attention(N_a(x)))    y = u + N_f_out(feed(N_f(u)))

        feed(u) = W_2 relu(W_1 u + b_1) + b_2

    Args:
        x: Input, shape ``(..., T, D)``.
        params: Parameters, see the top of this module.
        placement: Where the norm is applied: ``pre``, ``post``, ``sandwich`` or ``none``.
        norm: ``layer``, ``rms`` or ``none``.
        qk_norm: As for :func:`attention`.
        eps: Inside the root of every norm.

    Returns:
        Shape ``(..., T, D)``.

    Raises:
        ValueError: If a shape, a name in ``params``, ``placement``, ``norm`` or ``qk_norm`` is
            wrong.
        TypeError: If an array does not have a floating-point dtype.
    """
    options = {"placement": placement, "norm": norm, "qk_norm": qk_norm}
    _check("block", x, params, _block_shapes(**options), eps=eps, **options)
    return _block_vjp(x, params, **options, eps=eps, grads={})[0]


@accept_former_keywords(place="placement")
@np.errstate(under="ignore")
def block_backward(
    dy: np.ndarray,
    x: np.ndarray,
    params: Params,
    *,
    placement: str = "pre",
    norm: str = "layer",
    qk_norm: str = "none",
    eps: float = 1e-5,
) -> tuple[np.ndarray, Gradients]:
    """Return ``(dx, dparams)``, the gradients of :func:`block`.

    ``dy`` is the gradient of the loss in the output; the other arguments are those of
    :func:`block`. The gradients are those in ``x`` and in each array of ``params``.
    """
    options = {"placement": placement, "norm": norm, "qk_norm": qk_norm}
    _check("block_backward", x, params, _block_shapes(**options), dy, eps=eps, **options)
    grads: Gradients = {}
    _, vjp = _block_vjp(x, params, **options, eps=eps, grads=grads)
    dx = vjp(dy)
    return dx, {name: grads[name] for name in params}


def _block_vjp(
    x: np.ndarray,
    params: Params,
    placement: str,
    norm: str,
    qk_norm: str,
    eps: float,
    grads: Gradients,
) -> OutputAndVJP:
    """Return the output of a block and its vector-Jacobian product."""
    norms, qk_norms = _Norms(params, norm, eps, grads), _Norms(params, qk_norm, eps, grads)

    def attend(z: np.ndarray) -> OutputAndVJP:
        return _attention_vjp(z, params, qk_norms)

    def feed_forward(z: np.ndarray) -> OutputAndVJP:
        return _feed_forward_vjp(z, params, grads)

    u, attention_vjp = _residual_vjp(placement, norms, "a", attend, x)
    y, feed_forward_vjp = _residual_vjp(placement, norms, "f", feed_forward, u)
    return y, lambda dy: attention_vjp(feed_forward_vjp(dy))


def _residual_vjp(
    placement: str,
    norms: "_Norms",
    name: str,
    sublayer: Callable[[np.ndarray], OutputAndVJP],
    x: np.ndarray,
) -> OutputAndVJP:
    """Return the output of a sublayer with its residual connection and norm, and the VJP."""
    if placement == "post":
        out, sublayer_vjp = sublayer(x)
        total = x + out

        def post_norm_vjp(dy: np.ndarray) -> np.ndarray:
            d_total = norms.backward(name, dy, total)
            return d_total + sublayer_vjp(d_total)

        return norms(name, total), post_norm_vjp

    out, sublayer_vjp = sublayer(x if placement == "none" else norms(name, x))

    def vjp(dy: np.ndarray) -> np.ndarray:
        d_out = norms.backward(f"{name}_out", dy, out) if placement == "sandwich" else dy
        d_in = sublayer_vjp(d_out)
        return dy + (d_in if placement == "none" else norms.backward(name, d_in, x))

    return x + (norms(f"{name}_out", out) if placement == "sandwich" else out), vjp


def _feed_forward_vjp(x: np.ndarray, params: Params, grads: Gradients) -> OutputAndVJP:
    """Return the output of the feed-forward network and its vector-Jacobian product."""
    hidden = np.maximum(x @ params["W_1"].T + params.get("b_1", 0), 0)

    def vjp(dy: np.ndarray) -> np.ndarray:
        d_hidden = (dy @ params["W_2"]) * (hidden > 0)
        token_axes = tuple(range(x.ndim - 1))
        grads["W_1"], grads["b_1"] = _weight_gradient(d_hidden, x), d_hidden.sum(token_axes)
        grads["W_2"], grads["b_2"] = _weight_gradient(dy, hidden), dy.sum(token_axes)
        return d_hidden @ params["W_1"]

    return hidden @ params["W_2"].T + params.get("b_2", 0), vjp


def _weight_gradient(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the gradient in ``W`` of ``y = x Wᵀ``, summed over all tokens."""
    return dy.reshape(-1, dy.shape[-1]).T @ x.reshape(-1, x.shape[-1])


class _Norms:
    """Norms of one type, each with its own gain and bias.

    Args:
        params: Parameters with the gains and biases.
        norm: ``layer``, ``rms`` or ``none``.
        eps: Inside the root.
        grads: Where :meth:`backward` stores the gradients of gains and biases.
    """

    def __init__(self, params: Params, norm: str, eps: float, grads: Gradients) -> None:
        self.params, self.norm, self.eps, self.grads = params, norm, eps, grads

    def __call__(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return the output of the norm with ``gain_{name}`` and ``bias_{name}``."""
        gain, bias = (self.params.get(f"{kind}_{name}") for kind in ("gain", "bias"))
        if self.norm == "layer":
            return layer_norm(x, gain, bias, eps=self.eps)
        return x if self.norm == "none" else rms_norm(x, gain, eps=self.eps)

    def backward(self, name: str, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ``dx`` and store the gradients of the gain and the bias."""
        if self.norm == "none":
            return dy
        gain = self.params.get(f"gain_{name}")
        backward = layer_norm_backward if self.norm == "layer" else rms_norm_backward
        dx, *d_gain_and_bias = backward(dy, x, gain, eps=self.eps)
        for kind, gradient in zip(("gain", "bias"), d_gain_and_bias, strict=False):
            self.grads[f"{kind}_{name}"] = gradient
        return dx


# Argument checks.


def _norm_parameters(norm: str) -> tuple[str, ...]:
    return {"layer": ("gain", "bias"), "rms": ("gain",)}.get(norm, ())


def _attention_shapes(qk_norm: str) -> dict[str, str]:
    kinds = _norm_parameters(qk_norm)
    return _ATTENTION | {f"{kind}_{name}": "K" for name in "qk" for kind in kinds}


def _block_shapes(placement: str, norm: str, qk_norm: str) -> dict[str, str]:
    suffixes = {"none": (), "sandwich": ("", "_out")}.get(placement, ("",))
    kinds = _norm_parameters(norm)
    names = [f"{name}{suffix}" for name in "af" for suffix in suffixes]
    norm_shapes = {f"{kind}_{name}": "D" for name in names for kind in kinds}
    return _attention_shapes(qk_norm) | _FEED_FORWARD | norm_shapes


def _check(
    function: str,
    x: np.ndarray,
    params: Params,
    shapes: dict[str, str],
    dy: np.ndarray | None = None,
    *,
    eps: float,
    **options: str,
) -> None:
    """Check all arguments of a public function."""
    check_eps(function, eps)
    for name, value in options.items():
        allowed = PLACEMENTS if name == "placement" else NORMS
        if value not in allowed:
            raise ValueError(
                f"{function}: {name} must be one of {', '.join(allowed)}; got {value!r}"
            )
    check_names(function, params, shapes, "here", "leave it out")
    check_arrays(function, {"x": x} | ({} if dy is None else {"dy": dy}) | dict(params))
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(
            f"{function}: x must be of shape (..., T, D), tokens by features, got {x.shape}"
        )
    if dy is not None and dy.shape != x.shape:
        raise ValueError(f"{function}: dy must be of x's shape {x.shape}, got {dy.shape}")
    _check_shapes(function, params, shapes, x.shape[-1])


def _check_shapes(function: str, params: Params, shapes: dict[str, str], D: int) -> None:
    """Check that the shapes of ``params`` agree with D and each other."""
    sizes = {"D": D}
    for name, axes in shapes.items():
        if name not in params:
            continue
        shape = params[name].shape
        if len(shape) == len(axes):
            for axis, size in zip(axes, shape, strict=True):
                sizes.setdefault(axis, size)
        expected = tuple(sizes.get(axis, axis) for axis in axes)
        if shape != expected or 0 in shape:
            text = f"({', '.join(map(str, expected))}{',' * (len(expected) == 1)})"
            raise ValueError(
                f"{function}: {name} must be of shape {text}, got {shape}; D is the last axis of "
                "x, the other sizes are those of the first array that has them"
            )
