"""A transformer's parts in NumPy: where the norm stands, and the gradient by hand.

The paper is a year older than the transformer (Vaswani et al., 2017), whose block is two steps
``f``, attention and a feed-forward network, each with a residual connection around it and a norm
``N`` in one of these places:

============  =====================  =====================================================
``pre``       x + f(N(x))            what passes a step by meets no norm: Xiong et al. (2020)
``post``      N(x + f(x))            as published: Vaswani et al. (2017)
``sandwich``  x + N_out(f(N(x)))     before and after a step: Ding et al. (2021)
``none``      x + f(x)
============  =====================  =====================================================

``N`` is :func:`lnlib.layer_norm` or :func:`lnlib.rms_norm`, over the ``D`` features of one token.
A norm of queries and keys (*QK norm*; Henry et al., 2020) bounds the scores of attention.

Arrays ``x`` are ``(..., T, D)``: ``T`` tokens, each reading those before it and itself. Parameters
come as a dict of arrays:

- attention, with ``K`` features of a query and ``V`` of a value: ``W_q (K, D)``, ``W_k (K, D)``,
  ``W_v (V, D)``, ``W_o (D, V)``; with a QK norm ``gain_q``, ``gain_k`` and, for layer norm,
  ``bias_q``, ``bias_k``, of shape ``(K,)``;
- feed-forward, with ``F`` units: ``W_1 (F, D)``, ``b_1 (F,)``, ``W_2 (D, F)``, ``b_2 (D,)``;
- the norms of a block, of shape ``(D,)``: ``gain_a``, ``bias_a`` at its attention, ``gain_f``,
  ``bias_f`` at its feed-forward network; in a sandwich ``gain_a_out`` and so on for the second.

The matrices must be there; gains are 1 and biases 0 where they are missing. Mistakes raise
``ValueError`` or ``TypeError``; arguments are never written over.
"""

import difflib
import math
from collections.abc import Callable, Mapping

import numpy as np

from lnlib.norms import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from lnlib.norms._activations import softmax, softmax_product
from lnlib.norms._arguments import check_arrays, check_eps

Params = Mapping[str, np.ndarray]
Gradients = tuple[np.ndarray, dict[str, np.ndarray]]
#: The output of a part, and what maps the gradient in it to that in the input; the gradients of
#: the parameters stay with the norms.
Step = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]

NORMS = ("none", "layer", "rms")
PLACES = ("none", "pre", "post", "sandwich")
# From name to shape.
_ATTENTION = {"W_q": "KD", "W_k": "KD", "W_v": "VD", "W_o": "DV"}
_FEED_FORWARD = {"W_1": "FD", "W_2": "DF"}
_BIASES = {"b_1": "F", "b_2": "D"}


# Attention.


@np.errstate(under="ignore")
def attention(
    x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> np.ndarray:
    """Let each token read itself and those before it: one causal attention head.

    ::

        q, k, v = x W_qᵀ, x W_kᵀ, x W_vᵀ        with a QK norm  q, k = N(q), N(k)
        y = softmax(mask(q kᵀ / sqrt(K))) v W_oᵀ

    Vaswani et al. (2017), section 3.2.1.

    Args:
        x: Tokens, shape ``(..., T, D)``.
        params: See the top of this module.
        qk_norm: Norm of each query and each key: ``none``, ``layer`` or ``rms``.
        eps: Inside the root of the QK norm.

    Returns:
        What each token has read, shape ``(..., T, D)``.

    Raises:
        ValueError: If a shape, a name in ``params`` or ``qk_norm`` is wrong.
        TypeError: If an array is not one of floats.

    Example:
        >>> one = {name: np.eye(2) for name in ("W_q", "W_k", "W_v", "W_o")}
        >>> attention(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), one).round(2)
        array([[1.  , 0.  ],
               [1.  , 0.  ],
               [0.11, 1.79]])
    """
    _check("attention", x, params, _attention_shapes(qk_norm), qk_norm=qk_norm, eps=eps)
    return _read(x, params, _Norms(params, qk_norm, eps))[-1]


@np.errstate(under="ignore")
def attention_weights(
    x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> np.ndarray:
    """Return how much of each token (last axis) each token reads, ``(..., T, T)``; rows sum to 1.

    The arguments are those of :func:`attention`.
    """
    _check("attention_weights", x, params, _attention_shapes(qk_norm), qk_norm=qk_norm, eps=eps)
    return _read(x, params, _Norms(params, qk_norm, eps))[-3]


@np.errstate(under="ignore")
def attention_backward(
    dy: np.ndarray, x: np.ndarray, params: Params, *, qk_norm: str = "none", eps: float = 1e-5
) -> Gradients:
    """Return ``(dx, dparams)`` of :func:`attention`, by hand.

    Args:
        dy: Gradient of the loss in what :func:`attention` returns.
        x: As for the forward pass, and so are the rest.
        params: See the top of this module.
        qk_norm: As for the forward pass.
        eps: As for the forward pass.

    Returns:
        Gradients in ``x`` and in each array of ``params``.
    """
    _check(
        "attention_backward", x, params, _attention_shapes(qk_norm), dy, qk_norm=qk_norm, eps=eps
    )
    norms = _Norms(params, qk_norm, eps)
    return _attend(x, params, norms)[1](dy), norms.gradients_for(params)


def _read(x: np.ndarray, params: Params, norms: "_Norms") -> tuple[np.ndarray, ...]:
    """Return queries and keys before and after their norm, values, weights, what is read, y."""
    query, key, v = (x @ params[name].T for name in ("W_q", "W_k", "W_v"))
    q, k = norms("q", query), norms("k", key)
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)  # not later ones
    weights = softmax(scores)
    read = weights @ v
    return query, key, q, k, v, weights, read, read @ params["W_o"].T


def _attend(x: np.ndarray, params: Params, norms: "_Norms") -> "Step":
    """Return what is read, and what takes its gradient back to ``x``."""
    query, key, q, k, v, weights, read, y = _read(x, params, norms)

    def back(dy: np.ndarray) -> np.ndarray:
        d_read = dy @ params["W_o"]
        d_weights = d_read @ np.swapaxes(v, -1, -2)
        # Through softmax: a weight that grows takes from the others of its row. Where the mask is,
        # the weight is 0, and so is the gradient.
        d_scores = softmax_product(weights, d_weights) / math.sqrt(q.shape[-1])
        d_query = norms.back("q", d_scores @ k, query)
        d_key = norms.back("k", np.swapaxes(d_scores, -1, -2) @ q, key)
        d_v = np.swapaxes(weights, -1, -2) @ d_read
        norms.grads |= {"W_q": _outer(d_query, x), "W_k": _outer(d_key, x), "W_v": _outer(d_v, x)}
        norms.grads["W_o"] = _outer(dy, read)
        return d_query @ params["W_q"] + d_key @ params["W_k"] + d_v @ params["W_v"]

    return y, back


# A block.


@np.errstate(under="ignore")
def block(
    x: np.ndarray,
    params: Params,
    *,
    place: str = "pre",
    norm: str = "layer",
    qk_norm: str = "none",
    eps: float = 1e-5,
) -> np.ndarray:
    """Pass tokens through one block: attention, then a feed-forward network, norms around them.

    ::

        pre       u = x + attention(N_a(x))             y = u + feed(N_f(u))
        post      u = N_a(x + attention(x))             y = N_f(u + feed(u))
        sandwich  u = x + N_a_out(attention(N_a(x)))    y = u + N_f_out(feed(N_f(u)))

        feed(u) = W_2 relu(W_1 u + b_1) + b_2

    Args:
        x: Tokens, shape ``(..., T, D)``.
        params: See the top of this module.
        place: ``pre``, ``post``, ``sandwich`` or ``none``.
        norm: ``layer``, ``rms`` or ``none``.
        qk_norm: As for :func:`attention`.
        eps: Inside the root of every norm.

    Returns:
        The tokens after the block, shape ``(..., T, D)``.

    Raises:
        ValueError: If a shape, a name in ``params``, ``place``, ``norm`` or ``qk_norm`` is wrong.
        TypeError: If an array is not one of floats.
    """
    chosen = {"place": place, "norm": norm, "qk_norm": qk_norm}
    _check("block", x, params, _block_shapes(**chosen), eps=eps, **chosen)
    norms, qk = _Norms(params, norm, eps), _Norms(params, qk_norm, eps)
    u, _ = _around(place, norms, "a", lambda z: _attend(z, params, qk), x)
    return _around(place, norms, "f", lambda z: _feed(z, params, norms), u)[0]


@np.errstate(under="ignore")
def block_backward(
    dy: np.ndarray,
    x: np.ndarray,
    params: Params,
    *,
    place: str = "pre",
    norm: str = "layer",
    qk_norm: str = "none",
    eps: float = 1e-5,
) -> Gradients:
    """Return ``(dx, dparams)`` of :func:`block`, by hand.

    Args:
        dy: Gradient of the loss in what :func:`block` returns.
        x: As for the forward pass, and so are the rest.
        params: See the top of this module.
        place: As for the forward pass.
        norm: As for the forward pass.
        qk_norm: As for the forward pass.
        eps: As for the forward pass.

    Returns:
        Gradients in ``x`` and in each array of ``params``.
    """
    chosen = {"place": place, "norm": norm, "qk_norm": qk_norm}
    _check("block_backward", x, params, _block_shapes(**chosen), dy, eps=eps, **chosen)
    norms, qk = _Norms(params, norm, eps), _Norms(params, qk_norm, eps)
    u, back_a = _around(place, norms, "a", lambda z: _attend(z, params, qk), x)
    _, back_f = _around(place, norms, "f", lambda z: _feed(z, params, norms), u)
    dx = back_a(back_f(dy))
    norms.grads |= qk.grads
    return dx, norms.gradients_for(params)


def _around(
    place: str, norms: "_Norms", name: str, sublayer: Callable[[np.ndarray], "Step"], x: np.ndarray
) -> "Step":
    """Put the residual connection and the norm around a sublayer."""
    if place == "post":
        read, back = sublayer(x)
        total = x + read

        def through_norm(dy: np.ndarray) -> np.ndarray:
            dy = norms.back(name, dy, total)  # every way back passes the norm
            return dy + back(dy)

        return norms(name, total), through_norm
    read, back = sublayer(x if place == "none" else norms(name, x))

    def residual(dy: np.ndarray) -> np.ndarray:
        d_read = norms.back(f"{name}_out", dy, read) if place == "sandwich" else dy
        d_inside = back(d_read)
        return dy + (d_inside if place == "none" else norms.back(name, d_inside, x))

    return x + (norms(f"{name}_out", read) if place == "sandwich" else read), residual


def _feed(x: np.ndarray, params: Params, norms: "_Norms") -> "Step":
    """Return the output of the feed-forward network, and what takes its gradient back."""
    hidden = np.maximum(x @ params["W_1"].T + params.get("b_1", 0), 0)

    def back(dy: np.ndarray) -> np.ndarray:
        d_sum = (dy @ params["W_2"]) * (hidden > 0)
        rows = tuple(range(x.ndim - 1))
        norms.grads |= {"W_1": _outer(d_sum, x), "b_1": d_sum.sum(rows)}
        norms.grads |= {"W_2": _outer(dy, hidden), "b_2": dy.sum(rows)}
        return d_sum @ params["W_1"]

    return hidden @ params["W_2"].T + params.get("b_2", 0), back


def _outer(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the gradient of ``W`` in ``x Wᵀ``: a sum over all tokens."""
    return d.reshape(-1, d.shape[-1]).T @ x.reshape(-1, x.shape[-1])


class _Norms:
    """One kind of norm with the gains and biases of its places, and the gradients so far."""

    def __init__(self, params: Params, kind: str, eps: float) -> None:
        self.params, self.kind, self.eps = params, kind, eps
        self.grads: dict[str, np.ndarray] = {}

    def __call__(self, place: str, x: np.ndarray) -> np.ndarray:
        gain, bias = (self.params.get(f"{name}_{place}") for name in ("gain", "bias"))
        if self.kind == "layer":
            return layer_norm(x, gain, bias, eps=self.eps)
        return x if self.kind == "none" else rms_norm(x, gain, eps=self.eps)

    def back(self, place: str, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ``dx``, and keep what belongs to the gain and the bias."""
        gain = self.params.get(f"gain_{place}")
        if self.kind == "none":
            return dy
        backward = layer_norm_backward if self.kind == "layer" else rms_norm_backward
        dx, *rest = backward(dy, x, gain, eps=self.eps)
        for name, d in zip(("gain", "bias"), rest, strict=False):
            self.grads[f"{name}_{place}"] = d
        return dx

    def gradients_for(self, params: Params) -> dict[str, np.ndarray]:
        """Return the gradients in what ``params`` holds, in its order."""
        return {name: self.grads[name] for name in params}


# Argument checks.


def _attention_shapes(qk_norm: str) -> dict[str, str]:
    kinds = {"layer": ("gain", "bias"), "rms": ("gain",)}.get(qk_norm, ())
    return _ATTENTION | {f"{kind}_{name}": "K" for name in "qk" for kind in kinds}


def _block_shapes(place: str, norm: str, qk_norm: str) -> dict[str, str]:
    kinds = {"layer": ("gain", "bias"), "rms": ("gain",)}.get(norm, ())
    outs = {"none": (), "sandwich": ("", "_out")}.get(place, ("",))
    norm_shapes = {f"{kind}_{name}{out}": "D" for name in "af" for out in outs for kind in kinds}
    return _attention_shapes(qk_norm) | _FEED_FORWARD | _BIASES | norm_shapes


def _check(
    function: str,
    x: np.ndarray,
    params: Params,
    shapes: dict[str, str],
    dy: np.ndarray | None = None,
    *,
    eps: float,
    **chosen: str,
) -> None:
    """Raise an error that says what was expected, what came and what to do."""
    check_eps(function, eps)
    for name, value in chosen.items():
        known = PLACES if name == "place" else NORMS
        if value not in known:
            raise ValueError(f"{function}: {name} must be one of {', '.join(known)}; got {value!r}")
    if not isinstance(params, Mapping):
        raise TypeError(
            f"{function}: params must be a dict of arrays, got {type(params).__name__}; "
            f"{', '.join(n for n in shapes if n[0] == 'W')} must be in it"
        )
    for name in params:
        if name not in shapes:
            near = difflib.get_close_matches(str(name), shapes, n=1)
            fix = f"did you mean {near[0]!r}?" if near else "leave it out"
            raise ValueError(
                f"{function}: params are {', '.join(shapes)} here; got {name!r}; {fix}"
            )
    check_arrays(function, {"x": x} | ({} if dy is None else {"dy": dy}) | dict(params))
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(
            f"{function}: x must be of shape (..., T, D), tokens by features, got {x.shape}"
        )
    if dy is not None and dy.shape != x.shape:
        raise ValueError(f"{function}: dy must be of x's shape {x.shape}, got {dy.shape}")
    sizes = {"D": x.shape[-1]}
    for name, letters in shapes.items():
        if name not in params:
            if name[0] == "W":
                raise ValueError(f"{function}: params must hold {name}, got {', '.join(params)}")
            continue
        shape = params[name].shape
        if len(shape) == len(letters):
            for axis, size in zip(letters, shape, strict=True):
                sizes.setdefault(axis, size)
        wanted = tuple(sizes.get(axis, axis) for axis in letters)
        if shape != wanted or 0 in shape:
            text = f"({', '.join(map(str, wanted))}{',' * (len(wanted) == 1)})"
            raise ValueError(
                f"{function}: {name} must be of shape {text}, got {shape}; D is the last axis of "
                "x, the other sizes are those of the first array that has them"
            )
