"""Table 1 of the paper, as data and as measurement: what each norm leaves unchanged.

A layer is ``h = f(gain * (a - mean) / std + bias)`` with summed inputs ``a = W x``: eq. 5 of Ba,
Kiros & Hinton (2016), section 5.1. A transformation changes the weights or the data before the
norm, and :func:`measure` says by how much the output then differs.

================================  ============================================  ==================
``weight_matrix_rescaling``       ``W' = s W``                                  table 1, eq. 6
``weight_matrix_recentering``     ``W' = W + 1 sᵀ``, the same for every unit    table 1, eq. 6
``weight_vector_rescaling``       ``w_i' = s w_i`` of one unit                  table 1
``dataset_rescaling``             ``x' = s x`` for every case                   table 1
``dataset_recentering``           ``x' = x + s`` for every case                 table 1
``single_case_rescaling``         ``x' = s x`` for one case                     table 1, eq. 7
``negative_rescaling``            ``W' = -s W``                                 beyond the paper
``input_bias``                    ``a' = a + s b``, another ``b`` a unit        beyond the paper
``feature_shift``                 ``x_j' = x_j + s`` of one feature             beyond the paper
``unit_permutation``              the units in another order                    beyond the paper
================================  ============================================  ==================

``s`` is the strength. After a permutation the outputs are compared unit by unit.
"""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from lnlib import norms, registry
from lnlib.norms._arguments import check_eps, check_floats
from lnlib.norms._statistics import row_norms

__all__ = [
    "NORMS",
    "ROUNDING",
    "TABLE_1",
    "TRANSFORMS",
    "Change",
    "Layer",
    "change",
    "changes",
    "measure",
    "network",
    "output",
    "transform",
]

_PAPERS = (
    "weight_matrix_rescaling",
    "weight_matrix_recentering",
    "weight_vector_rescaling",
    "dataset_rescaling",
    "dataset_recentering",
    "single_case_rescaling",
)
_VERDICTS = {
    "batch": (True, False, True, True, True, False),
    "weight": (True, False, True, False, False, False),
    "layer": (True, True, False, True, False, True),
}

#: The paper's 18 verdicts: from norm to transformation to whether the output stays the same.
TABLE_1 = MappingProxyType(
    {
        name: MappingProxyType(dict(zip(_PAPERS, verdicts, strict=True)))
        for name, verdicts in _VERDICTS.items()
    }
)

#: The norms that can be measured, the paper's first.
NORMS = tuple(registry.NORMS)

#: The transformations, the paper's first.
TRANSFORMS = (
    *_PAPERS,
    "negative_rescaling",
    "input_bias",
    "feature_shift",
    "unit_permutation",
)

#: Below this a change is rounding: the exact invariances stay under 1e-12.
ROUNDING = 1e-9

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda a: a,
    "tanh": np.tanh,
    "relu": lambda a: np.maximum(a, 0),
}


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of H units before its norm, and what stands after it.

    Attributes:
        W: Weights, shape ``(H, D)``.
        gain: Shape ``(H,)``; for ``instance`` norm ``(H / 4,)``, one a channel.
        bias: As ``gain``.
        input_bias: Added to the summed inputs before the norm, shape ``(H,)``.
    """

    W: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    input_bias: np.ndarray | None = None


def network(
    sizes: Sequence[int], rng: np.random.Generator, *, norm: str = "layer"
) -> tuple[Layer, ...]:
    """Draw layers with weights of deviation 1 / sqrt(D), gains away from 1, biases away from 0.

    Args:
        sizes: Features of the data, then units of each layer; multiples of 4 for ``group`` and
            ``instance`` norm.
        rng: Draws the numbers.
        norm: One of :data:`NORMS`; ``instance`` has a gain for each channel, not for each unit.

    Returns:
        A layer for each size but the first.

    Raises:
        ValueError: If ``norm`` is unknown, there is no layer, or a size does not fit.

    Example:
        >>> [layer.W.shape for layer in network([64, 12, 8], np.random.default_rng(0))]
        [(12, 64), (8, 12)]
    """
    _check_norm("network", norm)
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(
            f"network: sizes must be two or more numbers, each at least 1, got {list(sizes)}; "
            "give the features of the data, then the units of each layer"
        )
    layers = []
    for D, H in pairwise(sizes):
        if registry.NORMS[norm].over == "group" and H % 4:
            raise ValueError(
                f"network: {norm} norm needs a multiple of 4 units, got {H}; they are channels of "
                "4 positions, and two groups"
            )
        n = H // 4 if norm == "instance" else H
        W = rng.normal(size=(H, D)) / np.sqrt(D)
        layers.append(Layer(W, rng.uniform(0.5, 1.5, size=n), rng.normal(size=n)))
    return tuple(layers)


@np.errstate(under="ignore")
def output(
    norm: str,
    X: np.ndarray,
    layers: Sequence[Layer],
    *,
    eps: float = 0.0,
    activation: str = "identity",
) -> np.ndarray:
    """Return what the last layer shows for each case.

    Args:
        norm: One of :data:`NORMS`. ``group`` takes two groups of units, ``instance`` channels of
            four positions.
        X: Data, one example per row, shape ``(N, D)``.
        layers: From :func:`network`.
        eps: Inside the root of every norm that has one; in squared units of the summed inputs.
        activation: ``identity``, ``tanh`` or ``relu``, after each layer.

    Returns:
        Shape ``(N, H)``.

    Raises:
        ValueError: If a name is unknown.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> layers = network([8, 12], rng)
        >>> output("layer", rng.normal(size=(5, 8)), layers).shape
        (5, 12)
    """
    _check_norm("output", norm)
    if activation not in _ACTIVATIONS:
        raise ValueError(
            f"output: activation must be one of {', '.join(_ACTIVATIONS)}; got {activation!r}"
        )
    check_eps("output", eps)
    _check_data("output", X, layers)
    h = X
    for layer in layers:
        h = _ACTIVATIONS[activation](_normalized(norm, _summed(h, layer), layer, eps))
    return h


@np.errstate(under="ignore")
def transform(
    name: str,
    X: np.ndarray,
    layers: Sequence[Layer],
    *,
    strength: float | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, tuple[Layer, ...], np.ndarray]:
    """Change the data or the first layer; the arguments stay as they are.

    Args:
        name: One of :data:`TRANSFORMS`.
        X: Data, shape ``(N, D)``.
        layers: From :func:`network`; weights are changed in the first.
        strength: A factor or a shift; 3 if ``None``. One unit, case or feature is the first.
        rng: Draws the bias before the norm and the order of the units; seed 0 if ``None``.

    Returns:
        The data, the layers, and the order of the units of the first layer, ``(H,)``.

    Raises:
        ValueError: If ``name`` is unknown, or a factor is not positive.

    Example:
        >>> layers = network([8, 12], np.random.default_rng(0))
        >>> X, _, _ = transform("dataset_recentering", np.zeros((5, 8)), layers, strength=2.0)
        >>> X[0]
        array([2., 2., 2., 2., 2., 2., 2., 2.])
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform: name must be one of {', '.join(TRANSFORMS)}; got {name!r}")
    s = 3.0 if strength is None else strength
    if not isinstance(s, numbers.Real):
        raise ValueError(f"transform: strength must be a number, got {s!r}; the default is 3")
    if name.endswith("rescaling") and not s > 0:
        raise ValueError(
            f"transform: the strength of a {name} must be above 0, got {s}; a negative factor has "
            "a name of its own, negative_rescaling"
        )
    _check_data("transform", X, layers)
    rng = np.random.default_rng(0 if rng is None else rng)
    first, *rest = layers
    H = len(first.W)
    order = np.arange(H)
    W, X = first.W.copy(), X.copy()
    if name == "weight_matrix_rescaling":
        W *= s
    elif name == "weight_matrix_recentering":
        W += s
    elif name == "weight_vector_rescaling":
        W[0] *= s
    elif name == "dataset_rescaling":
        X *= s
    elif name == "dataset_recentering":
        X += s
    elif name == "single_case_rescaling":
        X[0] *= s
    elif name == "negative_rescaling":
        W *= -s
    elif name == "feature_shift":
        X[:, 0] += s
    first = replace(first, W=W)
    if name == "input_bias":
        before = 0 if first.input_bias is None else first.input_bias
        first = replace(first, input_bias=before + s * rng.normal(size=H))
    elif name == "unit_permutation":
        first, rest, order = _permuted(first, rest, rng)
    return X, (first, *rest), order


@np.errstate(under="ignore")
def measure(
    norm: str,
    transformation: str,
    *,
    X: np.ndarray | None = None,
    layers: Sequence[Layer] | None = None,
    strength: float | None = None,
    eps: float = 0.0,
    activation: str = "identity",
    rng: np.random.Generator | None = None,
) -> float:
    """Return the largest change of any output of any case: a cell of table 1, in numbers.

    Args:
        norm: One of :data:`NORMS`.
        transformation: One of :data:`TRANSFORMS`.
        X: Data, shape ``(N, D)``; 16 cases of 8 normal numbers if ``None``.
        layers: From :func:`network`, of the same norm; one layer of 12 units if ``None``.
        strength: A factor or a shift; 3 if ``None``.
        eps: As for :func:`output`. Only at 0 are the invariances exact.
        activation: As for :func:`output`.
        rng: Draws what is not given; seed 0 if ``None``.

    Returns:
        ``max |h' - h|``, in units of the output, which the norms make about 1.

    Raises:
        ValueError: If a name or a size is wrong.

    Example:
        >>> measure("layer", "single_case_rescaling") < 1e-12
        True
        >>> measure("batch", "single_case_rescaling") > 1e-2
        True
    """
    _check_norm("measure", norm)
    rng = np.random.default_rng(0 if rng is None else rng)
    if X is None:
        X = rng.normal(size=(16, layers[0].W.shape[1] if layers else 8))
    _check_data("measure", X, layers)
    if layers is None:
        layers = network([X.shape[1], 12], rng, norm=norm)
    changed_X, changed, order = transform(transformation, X, layers, strength=strength, rng=rng)
    before = output(norm, X, layers, eps=eps, activation=activation)
    after = output(norm, changed_X, changed, eps=eps, activation=activation)
    if len(layers) == 1:
        before = before[:, order]
    return float(np.abs(after - before).max())


class Change(NamedTuple):
    """One layer before and after a transformation, each array ``(N, H)``, units in the same order.

    Attributes:
        summed: Summed inputs before.
        new_summed: Summed inputs after.
        output: Outputs before.
        new_output: Outputs after.
    """

    summed: np.ndarray
    new_summed: np.ndarray
    output: np.ndarray
    new_output: np.ndarray


def change(
    norm: str,
    transformation: str,
    X: np.ndarray,
    layer: Layer,
    *,
    strength: float | None = None,
    eps: float = 0.0,
) -> Change:
    """Transform one layer or its data, and look at every summed input and output.

    Args:
        norm: One of :data:`NORMS`.
        transformation: One of :data:`TRANSFORMS`.
        X: Data, one example per row, shape ``(N, D)``.
        layer: Of H units.
        strength: Factor or shift; 3 if ``None``.
        eps: Inside the root of every norm that has one.

    Example:
        >>> X, W = np.array([[1.0], [2.0]]), np.array([[1.0], [-1.0], [3.0]])
        >>> layer = Layer(W, np.ones(3), np.zeros(3))
        >>> result = change("layer", "dataset_rescaling", X, layer, strength=2.0)
        >>> np.array_equal(result.new_summed, 2 * result.summed)
        True
        >>> bool(np.abs(result.new_output - result.output).max() < ROUNDING)
        True
    """
    new_X, (new,), order = transform(transformation, X, (layer,), strength=strength)
    before = _summed(X, layer), output(norm, X, (layer,), eps=eps)
    after = _summed(new_X, new), output(norm, new_X, (new,), eps=eps)
    return Change(before[0][:, order], after[0], before[1][:, order], after[1])


def changes(
    X: np.ndarray, units: Sequence[int], *, eps: float = 0.0, strength: float | None = None
) -> np.ndarray:
    """Measure every transformation under every norm.

    Args:
        X: Data, one example per row, shape ``(N, D)``.
        units: Of each layer, multiples of 4; tanh stands behind each if there are several.
        eps: Inside the root of every norm that has one.
        strength: Factor or shift; 3 if ``None``.

    Returns:
        The largest change of an output, shape ``(10, 7)``: :data:`TRANSFORMS` by
        :data:`NORMS`.

    Example:
        >>> result = changes(np.random.default_rng(0).normal(size=(16, 8)), [12])
        >>> (result[:6, :3] < ROUNDING).sum(axis=0)  # batch, weight and layer norm in Table 1
        array([4, 2, 4])
    """
    result = np.empty((len(TRANSFORMS), len(NORMS)))
    activation = "tanh" if len(units) > 1 else "identity"
    for j, norm in enumerate(NORMS):
        layers = network([X.shape[1], *units], np.random.default_rng(1), norm=norm)
        options = {"X": X, "layers": layers, "strength": strength, "eps": eps}
        for i, name in enumerate(TRANSFORMS):
            result[i, j] = measure(norm, name, activation=activation, **options)
    return result


def _summed(x: np.ndarray, layer: Layer) -> np.ndarray:
    a = x @ layer.W.T
    return a if layer.input_bias is None else a + layer.input_bias


def _normalized(norm: str, a: np.ndarray, layer: Layer, eps: float) -> np.ndarray:
    gain, bias = layer.gain, layer.bias
    if norm == "batch":
        return norms.batch_norm(a, gain, bias, eps=eps)
    if norm == "weight":  # the data play no part
        _, std, unit = row_norms(layer.W)
        return gain * a / (std * unit) + bias
    if norm == "layer":
        return norms.layer_norm(a, gain, bias, eps=eps)
    if norm == "rms":
        return norms.rms_norm(a, gain, eps=eps) + bias
    if norm == "group":
        return norms.group_norm(a, 2, gain, bias, eps=eps)
    if norm == "instance":
        return norms.instance_norm(a.reshape(len(a), -1, 4), gain, bias, eps=eps).reshape(a.shape)
    if norm == "none":
        return gain * a + bias
    raise NotImplementedError(f"{norm} norm has a row in lnlib.registry, but no formula here")


def _permuted(
    first: Layer, rest: Sequence[Layer], rng: np.random.Generator
) -> tuple[Layer, list[Layer], np.ndarray]:
    """Put the units, with what is theirs, in another order; the next layer follows them."""
    H = len(first.W)
    order = rng.permutation(H)
    own = {} if len(first.gain) < H else {"gain": first.gain[order], "bias": first.bias[order]}
    if first.input_bias is not None:
        own["input_bias"] = first.input_bias[order]
    rest = [replace(rest[0], W=rest[0].W[:, order]), *rest[1:]] if rest else []
    return replace(first, W=first.W[order], **own), rest, order


def _check_data(function: str, X: np.ndarray, layers: Sequence[Layer] | None) -> None:
    if layers is not None and not len(layers):
        raise ValueError(f"{function}: layers must be at least one, got none; network() makes them")
    check_floats(function, X=X)
    D = layers[0].W.shape[1] if layers else "D"
    if X.ndim != 2 or 0 in X.shape or D not in ("D", X.shape[1]):
        raise ValueError(
            f"{function}: X must be of shape (N, {D}), got {X.shape}; one example per row"
        )


def _check_norm(function: str, norm: str) -> None:
    if norm not in NORMS:
        raise ValueError(f"{function}: norm must be one of {', '.join(NORMS)}; got {norm!r}")
