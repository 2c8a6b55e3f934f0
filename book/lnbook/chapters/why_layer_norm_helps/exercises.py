"""The exercises of the chapter ``why_layer_norm_helps``."""

from collections.abc import Callable

import numpy as np

from lnbook.chapters.why_layer_norm_helps.material import (
    backward_sum,
    causal_with_batch_norm,
    causal_with_layer_norm,
)
from lnbook.exercises import Function, Value

EPS = 1e-5


# keep-the-scale


def weight_std(inputs: int, slope: float) -> float:
    """Return the std of the weights that keeps the scale of a deep leaky ReLU network."""
    return np.sqrt(2 / ((1 + slope**2) * inputs))


def _layers(rng: np.random.Generator) -> list[tuple]:
    drawn = int(rng.integers(20, 500))
    return [(256, 0.0), (64, 0.2), (1, 1.0), (drawn, 0.01 + 0.5 * rng.random())]


# find-the-axis


def normalize(x: np.ndarray) -> np.ndarray:
    """Normalize the features of each position of ``(batch, time, features)``."""
    return _over(-1)(x)


def _over(axis: int | tuple[int, ...], ddof: int = 0) -> Callable:
    def norm(x: np.ndarray) -> np.ndarray:
        var = x.var(axis=axis, keepdims=True, ddof=ddof)
        return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(var + EPS)

    return norm


def _sequences(rng: np.random.Generator) -> list[tuple]:
    return [
        (np.array([[[1.0, 3.0], [2.0, 8.0]], [[0.0, 1.0], [5.0, -4.0]]]),),
        (rng.normal(size=(3, 3, 3)),),
        (2 + rng.normal(size=(2, 5, 4)),),
    ]


# measure-the-leak


def leak(model: Callable, x: np.ndarray, other: np.ndarray, t: int) -> float:
    """Return how far the outputs before ``t`` change when the inputs from ``t`` on do."""
    mixed = np.concatenate([x[:, :t], other[:, t:]], axis=1)
    return np.abs(model(mixed)[:, :t] - model(x)[:, :t]).max()


def _models(rng: np.random.Generator) -> list[tuple]:
    x, other = rng.normal(size=(2, 3, 8, 4))
    low = np.zeros((1, 3, 2))
    return [
        (backward_sum, low, low + 1, 2),
        (backward_sum, low, low - 1, 2),
        (causal_with_batch_norm, x, other, 5),
        (causal_with_layer_norm, x, other, 5),
        (backward_sum, x, other, 3),
    ]


def _whole(model: Callable, x: np.ndarray, other: np.ndarray, t: int) -> float:
    mixed = np.concatenate([x[:, :t], other[:, t:]], axis=1)
    return np.abs(model(mixed) - model(x)).max()


def _all_replaced(model: Callable, x: np.ndarray, other: np.ndarray, t: int) -> float:
    return np.abs(model(other)[:, :t] - model(x)[:, :t]).max()


def _one_early(model: Callable, x: np.ndarray, other: np.ndarray, t: int) -> float:
    mixed = np.concatenate([x[:, : t - 1], other[:, t - 1 :]], axis=1)
    return np.abs(model(mixed)[:, :t] - model(x)[:, :t]).max()


def _signed(model: Callable, x: np.ndarray, other: np.ndarray, t: int) -> float:
    mixed = np.concatenate([x[:, :t], other[:, t:]], axis=1)
    return (model(mixed)[:, :t] - model(x)[:, :t]).max()


EXERCISES = {
    "layers-until-one-percent": Value(
        44,
        on_success="0.9 to the power of 44 is 0.0097. Losing a tenth is harmless in one layer and "
        "fatal in fifty.",
        misconceptions={
            43: "0.9 to the power of 43 is 0.0108, still more than 1%.",
            10: "the factors multiply; they are not subtracted: after ten layers 35% is left.",
            22: "the std has the factor 0.9; the variance has 0.81.",
            2: "this is the factor 0.1; a layer keeps nine tenths and loses one.",
        },
        hint="find the first power of 0.9 below 0.01.",
    ),
    "keep-the-scale": Function(
        weight_std,
        cases=_layers,
        on_success="With slope 0 it is He initialization; with slope 1, a linear network, it is "
        "1/√n.",
        misconceptions={
            "ReLU sets the negative half to zero; with slope 0 this loses half of the mean square "
            "in every layer.": lambda inputs, slope: 1 / np.sqrt(inputs),
            "this is He initialization for slope 0; the negative half still passes a part of the "
            "mean square.": lambda inputs, slope: np.sqrt(2 / inputs),
            "this is the variance of the weights; return its square root.": lambda inputs, slope: (
                2 / ((1 + slope**2) * inputs)
            ),
            "the mean square of the negative half is multiplied by the slope "
            "squared.": lambda inputs, slope: np.sqrt(2 / ((1 + slope) * inputs)),
        },
    ),
    "find-the-axis": Function(
        normalize,
        cases=_sequences,
        on_success="Axis 1 is right for a table (batch, features), and wrong as soon as there is a "
        "time axis. `axis=-1` is right for both.",
        misconceptions={
            "this still averages over time, so an output depends on later positions.": _over(1),
            "this is batch norm: one mean per feature over all sequences and positions.": _over(
                (0, 1)
            ),
            "this mixes the sequences in the batch.": _over(0),
            "this is one mean for a whole sequence, so later positions enter it.": _over((1, 2)),
            "this divides the sum of squares by H − 1; layer norm divides it by H.": _over(
                -1, ddof=1
            ),
        },
    ),
    "measure-the-leak": Function(
        leak,
        cases=_models,
        on_success="For a causal model it is 0. Add this check to the tests of every causal model.",
        misconceptions={
            "outputs from `t` on may change; compare only those before `t`.": _whole,
            "the inputs before `t` were replaced, too; keep them.": _all_replaced,
            "the change begins one position early; position `t` is the first that "
            "changes.": _one_early,
            "an output can also decrease; take the largest absolute change.": _signed,
        },
    ),
}
