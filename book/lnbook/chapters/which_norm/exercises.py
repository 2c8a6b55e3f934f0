"""The exercises of the chapter on choosing a norm."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

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


EXERCISES = {
    "half-safe": Function(
        half_norm,
        cases=_halves,
        wrong={
            "this computes in float16: 300 squared is infinite there. Turn `x` to float32 "
            "first.": _in_half,
            "`eps` is missing: a row of equal numbers becomes 0 / 0.": _without_eps,
        },
        tolerance=1e-5,  # float32, summed in any order
        right="The code of CLIP and Whisper does this, too, and casts back afterwards.",
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
}
