"""The exercises of the page on conditional normalization."""

from collections.abc import Callable, Iterator

import numpy as np

from lnbook.chapters.conditional_normalization.material import sublayer as example_sublayer
from lnbook.exercises import Function, Value
from lnlib.norms import layer_norm

# adaln-zero-block


def adaln_zero(
    x: np.ndarray, condition: np.ndarray, weight: np.ndarray, bias: np.ndarray, sublayer: Callable
) -> np.ndarray:
    """Return ``x + gate * sublayer((1 + scale) * layer_norm(x) + shift)``."""
    shift, scale, gate = _parts(condition, weight, bias)
    return x + gate * sublayer((1 + scale) * layer_norm(x) + shift)


def _parts(condition: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    return np.split((condition @ weight.T + bias)[:, None], 3, axis=-1)


def _blocks(rng: np.random.Generator) -> Iterator[tuple]:
    for N, T, H, C in ((1, 1, 2, 1), (2, 3, 4, 3), (3, 3, 6, 2), (4, 5, 2, 4)):
        x, condition = 1 + 2 * rng.normal(size=(N, T, H)), rng.normal(size=(N, C))
        yield x, condition, rng.normal(size=(3 * H, C)), rng.normal(size=3 * H), example_sublayer
    x, condition = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3))
    yield x, condition, np.zeros((12, 3)), np.zeros(12), example_sublayer


def _without_one(x, condition, weight, bias, sublayer):
    shift, scale, gate = _parts(condition, weight, bias)
    return x + gate * sublayer(scale * layer_norm(x) + shift)


def _without_gate(x, condition, weight, bias, sublayer):
    shift, scale, _ = _parts(condition, weight, bias)
    return x + sublayer((1 + scale) * layer_norm(x) + shift)


def _without_skip(x, condition, weight, bias, sublayer):
    return adaln_zero(x, condition, weight, bias, sublayer) - x


def _gate_on_all(x, condition, weight, bias, sublayer):
    gate = _parts(condition, weight, bias)[2]
    return adaln_zero(x, condition, weight, bias, sublayer) - x + gate * x


def _one_plus_gate(x, condition, weight, bias, sublayer):
    return _without_gate(x, condition, weight, bias, sublayer) + _without_skip(
        x, condition, weight, bias, sublayer
    )


def _scale_first(x, condition, weight, bias, sublayer):
    H = x.shape[-1]
    order = np.r_[H : 2 * H, :H, 2 * H : 3 * H]
    return adaln_zero(x, condition, weight[order], bias[order], sublayer)


def _without_norm(x, condition, weight, bias, sublayer):
    shift, scale, gate = _parts(condition, weight, bias)
    return x + gate * sublayer((1 + scale) * x + shift)


EXERCISES = {
    "adaln-zero-block": Function(
        adaln_zero,
        cases=_blocks,
        misconceptions={
            "the normalized input is multiplied by `scale`; multiply by `1 + scale`, so that a "
            "scale of 0 changes nothing.": _without_one,
            "the gate is missing. Multiply the output of the sublayer by it.": _without_gate,
            "the skip connection is missing: add `x`.": _without_skip,
            "the gate multiplies `x` as well. It belongs to the sublayer alone, so that the block "
            "is the identity when the gate is 0.": _gate_on_all,
            "the sublayer is multiplied by `1 + gate`. Only the scale has the 1: a gate of 0 has "
            "to switch the sublayer off.": _one_plus_gate,
            "shift and scale are swapped. The first third of the rows is the shift.": _scale_first,
            "the input of the sublayer is not normalized.": _without_norm,
        },
        on_success="With `weight` and `bias` at 0 the block returns `x`, whatever the sublayer is.",
    ),
    "zeros-in-both-layers": Value(
        3,
        misconceptions={
            4: "the bias of the last layer gets the gradient of the gate, which is not 0.",
            2: "look at the bias of the first layer again: its gradient passes through the "
            "weight of the last layer, which is 0.",
            1: "the gradient of the last layer's weight contains the hidden units, "
            "and silu(0) is 0.",
            0: "Adam takes no step where the gradient is exactly 0. Look at the gradients "
            "one by one.",
        },
        on_success="Only the bias of the last layer learns, and it is the same for every "
        "condition.",
        hint="count the parameters, not their entries: two weights and two biases.",
    ),
}
