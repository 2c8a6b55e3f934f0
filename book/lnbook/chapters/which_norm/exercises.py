"""The exercises of the chapter on choosing a norm."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value

EPS = 1e-5


# half-safe


def half_norm(x: np.ndarray) -> np.ndarray:
    """Layer norm of float16 rows, computed and returned in float32."""
    wide = x.astype(np.float32)
    centered = wide - wide.mean(axis=-1, keepdims=True)
    var = np.square(centered).mean(axis=-1, keepdims=True)
    return centered / np.sqrt(var + np.float32(EPS))


def _halves(rng: np.random.Generator) -> Iterator[tuple]:
    yield (np.array([[300, 1500, 300, 300]], dtype=np.float16),)  # its squares overflow
    yield (np.zeros((2, 4), dtype=np.float16),)
    yield (rng.normal(size=(3, 8)).astype(np.float16),)
    yield ((1e-3 * rng.normal(size=(2, 16))).astype(np.float16),)


def _in_half(x: np.ndarray) -> np.ndarray:
    centered = x - x.mean(axis=-1, keepdims=True)
    var = np.square(centered).mean(axis=-1, keepdims=True)
    return centered / np.sqrt(var + np.float16(EPS))


def _without_eps(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float32)
    return (wide - wide.mean(axis=-1, keepdims=True)) / wide.std(axis=-1, keepdims=True)


# find-the-eps


def find_eps(x: np.ndarray, y: np.ndarray) -> float:
    """Find the eps with which RMS norm of gain 1 made the row ``y`` from the row ``x``."""
    return np.mean(x**2) / np.mean(y**2) - np.mean(x**2)


def _saved(rng: np.random.Generator) -> Iterator[tuple]:
    for scale, eps in ((0.01, 1e-5), (0.003, 1e-6), (0.1, 1e-3), (0.02, 1e-12)):
        x = scale * rng.normal(size=64)
        yield x, x / np.sqrt(np.mean(x**2) + eps)
    x = 0.1 + 0.1 * rng.normal(size=64)  # a mean that no draw makes 0
    yield x, x / np.sqrt(np.mean(x**2) + 1e-3)


def _by_variance(x: np.ndarray, y: np.ndarray) -> float:
    return np.var(x) / np.var(y) - np.var(x)


def _outside(x: np.ndarray, y: np.ndarray) -> float:
    return np.sqrt(np.mean(x**2) / np.mean(y**2)) - np.sqrt(np.mean(x**2))


def _unlike(x: np.ndarray, y: np.ndarray) -> float:
    return np.mean(x**2) / np.mean(y**2)


# fold-the-gain


def fold(W: np.ndarray, b: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple:
    """Move gain and bias of a norm into the linear layer behind it."""
    return W * gain, b + W @ bias


def _layers(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[1.0, 2.0], [0.0, 3.0]]), np.zeros(2), np.array([2.0, 1.0]), np.array([1.0, 0])
    for outputs, inputs in ((3, 5), (4, 4)):
        W, b = rng.normal(size=(outputs, inputs)), rng.normal(size=outputs)
        yield W, b, rng.normal(size=inputs), rng.normal(size=inputs)


def _by_rows(W: np.ndarray, b: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple:
    return W * gain[:, None], b + W @ bias


def _bias_of_folded(W: np.ndarray, b: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple:
    return W * gain, b + (W * gain) @ bias


def _bias_added(W: np.ndarray, b: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple:
    return W * gain, b + bias


# norm-the-channels


def norm_channels(x: np.ndarray) -> np.ndarray:
    """Layer norm over the channels of each place of ``(N, C, H, W)``, in place of its axis."""
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=1, keepdims=True) + EPS)


def _images(rng: np.random.Generator) -> Iterator[tuple]:
    yield (rng.normal(size=(1, 2, 2, 2)),)
    yield (5 + rng.normal(size=(2, 4, 4, 4)),)  # every axis of one length: nothing raises
    yield (rng.normal(size=(2, 6, 3, 5)),)


def _over(axes: tuple[int, ...] | int):
    def norm(x: np.ndarray) -> np.ndarray:
        mean = x.mean(axis=axes, keepdims=True)
        return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + EPS)

    return norm


def _left_last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(norm_channels(x), 1, -1)


EXERCISES = {
    "half-a-gain": Value(
        6932,
        wrong={
            5000: "that is half of 1 / (rate × decay), as if it fell along a line; each update "
            "takes a share of what is left.",
            6931: "then a little more than half is left: 0.9999**6931 is 0.500006.",
            10000: "that is 1 / (rate × decay): after so many updates 37 % are left.",
            7: "AdamW multiplies the gain by 1 - rate × decay; this is as if it were 1 - decay.",
        },
        right="ln 2 / (rate × decay). A gain that the loss holds where it is feels the same pull "
        "at every update, and settles where the two balance.",
        otherwise="each update multiplies the gain by 1 - 0.001 × 0.1; find the first power "
        "below 0.5.",
    ),
    "half-safe": Function(
        half_norm,
        cases=_halves,
        wrong={
            "this computes in float16: 300 squared is infinite there. Turn `x` to float32 "
            "first.": _in_half,
            "`eps` is missing: a row of equal numbers becomes 0 / 0.": _without_eps,
        },
        tolerance=1e-5,  # float32, summed in any order
        right="CLIP's and Whisper's code do so too, and cast back behind it.",
    ),
    "find-the-eps": Function(
        find_eps,
        cases=_saved,
        wrong={
            "this takes variances; RMS norm has no mean to subtract.": _by_variance,
            "this is an eps outside the root, in units of `x`.": _outside,
            "this is the mean square with `eps` in it; take that of `x` away.": _unlike,
        },
        tolerance=1e-5,
        right="One saved activation tells. Compare it before you blame the weights.",
    ),
    "fold-the-gain": Function(
        fold,
        cases=_layers,
        returns=("W", "b"),
        wrong={
            "the gain belongs to the inputs of `W`, its columns; this scales its rows.": _by_rows,
            "the bias passes through `W` as it was: the gain does not act on it.": _bias_of_folded,
            "the bias has to pass through `W` before it is added.": _bias_added,
        },
        right="Two parameters less a layer, and no output has changed.",
    ),
    "norm-the-channels": Function(
        norm_channels,
        cases=_images,
        wrong={
            "this is the last axis, the width of the image, as `nn.LayerNorm(C)` takes it.": _over(
                3
            ),
            "this is one mean for a whole image; each place has its own.": _over((1, 2, 3)),
            "this is instance norm: one mean for each channel.": _over((2, 3)),
            "this is batch norm: a channel's mean over all images.": _over((0, 2, 3)),
            "the numbers are right and the channels stand last; put them back.": _left_last,
        },
        right="`x.movedim(1, -1)`, the norm, and back, in one line of NumPy.",
    ),
}
