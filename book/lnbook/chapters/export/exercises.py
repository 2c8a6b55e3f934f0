"""The exercises of the page on export and conversion."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

TINY = 1e-300

# rms-norm-without-overflow


def rms_norm(x: np.ndarray, eps: float) -> np.ndarray:
    """Return the RMS norm of each row of ``x``, without squaring numbers above 1."""
    largest = np.maximum(np.abs(x).max(axis=-1, keepdims=True), TINY)
    z = x / largest
    return z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + eps / largest / largest)


def _rows(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[1.0, 2], [3, 4]]), 1e-5
    yield rng.normal(size=(3, 8)), 1e-5
    yield 1e200 * rng.normal(size=(3, 8)), 1e-5
    yield 0.01 * rng.normal(size=(3, 8)), 1e-3
    yield np.stack([rng.normal(size=4), np.zeros(4)]), 1e-5
    yield np.stack([1e250 * rng.normal(size=4), rng.normal(size=4)]), 1e-5


def _without_scaling(x, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)


def _rms_norm_of_scaled(x, eps, largest):
    z = x / largest
    return z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + eps)


def _largest(x):
    return np.maximum(np.abs(x).max(axis=-1, keepdims=True), TINY)


def _eps_not_divided(x, eps):
    return _rms_norm_of_scaled(x, eps, _largest(x))


def _eps_divided_once(x, eps):
    largest = _largest(x)
    return _rms_norm_of_scaled(x, eps / largest, largest)


def _zero_row(x, eps):
    largest = np.abs(x).max(axis=-1, keepdims=True)
    return _rms_norm_of_scaled(x, eps / largest / largest, largest)


def _one_scale(x, eps):
    largest = np.abs(x).max()
    return _rms_norm_of_scaled(x, eps / largest / largest, largest)


def _multiplied_back(x, eps):
    return rms_norm(x, eps) * np.abs(x).max(axis=-1, keepdims=True)


def _layer_norm(x, eps):
    return rms_norm(x - x.mean(axis=-1, keepdims=True), eps)


# fold-gain-and-bias


def fold(W: np.ndarray, b: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple:
    """Return weight and bias of a linear layer with the gain and bias of the norm folded in.

    Args:
        W: Weight of the layer, shape ``(outputs, H)``.
        b: Its bias, shape ``(outputs,)``.
        gain: Gain of the norm, shape ``(H,)``.
        bias: Bias of the norm, shape ``(H,)``.
    """
    return W * gain, b + W @ bias


def _layers(rng: np.random.Generator) -> Iterator[tuple]:
    for outputs, H in ((1, 2), (3, 3), (2, 5), (4, 3)):
        yield (
            rng.normal(size=(outputs, H)),
            rng.normal(size=outputs),
            1 + rng.uniform(size=H),
            rng.normal(size=H),
        )


def _folded_bias_of_new_weights(W, b, gain, bias):
    return W * gain, b + (W * gain) @ bias


EXERCISES = {
    "rms-norm-without-overflow": Function(
        rms_norm,
        cases=_rows,
        misconceptions={
            "the squares of very large numbers are infinite, and the row becomes 0. Divide the row "
            "by its largest absolute value first.": _without_scaling,
            "`eps` is added to squares of `x`. If `x` is divided by a number, `eps` has to be "
            "divided by the square of that number.": _eps_not_divided,
            "`eps` is divided by the largest value only once. It is added to squares, so divide it "
            "twice.": _eps_divided_once,
            "a row of zeros gives NaN, because it is divided by 0. Divide by at least a small "
            "number.": _zero_row,
            "all rows are divided by the same number, so the squares of a row of small numbers are "
            "rounded to 0. Take the largest value of each row.": _one_scale,
            "the result is multiplied by the largest value again. The normalized row does not "
            "depend on it: numerator and root were divided by the same number.": _multiplied_back,
            "this subtracts the mean. RMS norm does not.": _layer_norm,
        },
        on_success="Nothing above 1 is squared. The same steps prevent the overflow in float16.",
    ),
    "fold-gain-and-bias": Function(
        fold,
        cases=_layers,
        returns=("W", "b"),
        misconceptions={
            "the gain multiplies the rows of `W`. It belongs to the inputs: scale the columns, "
            "`W * gain`.": lambda W, b, gain, bias: (
                W * np.resize(gain, len(W))[:, None],
                b + W @ bias,
            ),
            "the norm adds its bias after the gain, so the new bias contains `W @ bias` with the "
            "old `W`.": _folded_bias_of_new_weights,
            "the norm's bias is lost. The layer adds `W @ bias` to every output.": (
                lambda W, b, gain, bias: (W * gain, b)
            ),
            "`W` is divided by the gain. The norm used to multiply by the gain, so now `W` must be "
            "multiplied by it.": (lambda W, b, gain, bias: (W / gain, b + W @ bias)),
        },
        on_success="The norm has no parameters left, and the network computes the same outputs.",
    ),
}
