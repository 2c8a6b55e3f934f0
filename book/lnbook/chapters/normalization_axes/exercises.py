"""The exercises of the chapter ``normalization_axes``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value
from lnlib import norms

EPS = 1e-5


# normalize


def normalize(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Normalize ``x`` with statistics that run over ``axes``."""
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + EPS)


def _tensors(rng: np.random.Generator) -> Iterator[tuple]:
    # Some are small compared with eps, some are far from 0.
    yield np.array([[1.0, 2.0, 6.0], [10.0, 50.0, 30.0]]), (1,)
    yield 0.01 * rng.normal(size=(4, 6)), (0,)
    yield 100 + rng.normal(size=(2, 4, 6)), (2,)
    yield rng.normal(size=(2, 4, 6)), (0, 1)
    yield 3 + rng.normal(size=(2, 4, 2, 3)), (1, 2, 3)


def _rest(x: np.ndarray, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis not in axes)


def _scaled(x: np.ndarray, axes: tuple[int, ...], how: str) -> np.ndarray:
    centered = x - x.mean(axis=axes, keepdims=True)
    var = x.var(axis=axes, keepdims=True)
    if how == "no eps":
        return centered / np.sqrt(var)
    if how == "eps outside":
        return centered / (np.sqrt(var) + EPS)
    if how == "variance":
        return centered / (var + EPS)
    return centered / np.sqrt(x.var(axis=axes, ddof=1, keepdims=True) + EPS)


# which-norm


def which_norm(x: np.ndarray, y: np.ndarray) -> str:
    """Return which norm maps the table ``x`` to ``y``: "batch", "layer" or "rms"."""
    made = {
        "batch": norms.batch_norm(x),
        "layer": norms.layer_norm(x),
        "rms": norms.rms_norm(x),
    }
    return min(made, key=lambda name: np.abs(made[name] - y).max())


def _tables(rng: np.random.Generator) -> Iterator[tuple]:
    for shape, shift in (((4, 6), 10.0), ((8, 3), -2.0), ((5, 5), 5.0), ((3, 8), 1.0)):
        x = shift + rng.normal(size=shape)
        for function in (norms.layer_norm, norms.batch_norm, norms.rms_norm):
            yield x, function(x)


def _by_means(x: np.ndarray, y: np.ndarray, first: str, last: str) -> str:
    """Decide by the means only: columns with mean 0 mean ``first``, rows ``last``."""
    if np.allclose(y.mean(axis=0), 0, atol=1e-6):
        return first
    return last if np.allclose(y.mean(axis=1), 0, atol=1e-6) else "rms"


def _by_rows(x: np.ndarray, y: np.ndarray) -> str:
    """Decide by the mean square of the rows, which is 1 with both layer norm and RMS norm."""
    return "layer" if np.allclose(np.square(y).mean(axis=1), 1, atol=0.1) else "batch"


# padding-safe


def masked_norm(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Normalize each example of ``(batch, time, channel)`` over its real steps; padding is 0."""
    y = np.zeros_like(x)
    for i, n in enumerate(lengths):
        y[i, :n] = normalize(x[i, :n], (0, 1))
    return y


def _padded(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[[1.0, 3.0], [0.0, 0.0]]]), np.array([1])
    for shape, lengths in (((2, 5, 3), (5, 2)), ((3, 4, 6), (1, 3, 4))):
        x = 2 + rng.normal(size=shape)
        for i, n in enumerate(lengths):
            x[i, n:] = 0
        yield x, np.array(lengths)
    filled = 2 + rng.normal(size=(2, 4, 3))
    filled[0, 2:] = 7.0  # padding need not be 0
    yield filled, np.array([2, 4])


def _unmasked(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return normalize(x, (1, 2))


def _masked_after(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return _unmasked(x, lengths) * _mask(x, lengths)


def _left_in_place(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.where(_mask(x, lengths), masked_norm(x, lengths), x)


def _step_by_step(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return normalize(x, (2,)) * _mask(x, lengths)


def _whole_batch(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    real = x[_mask(x, lengths)[..., 0]]
    return (x - real.mean()) / np.sqrt(real.var() + EPS) * _mask(x, lengths)


def _mask(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return (np.arange(x.shape[1]) < np.asarray(lengths)[:, None])[..., None]


EXERCISES = {
    "forget-the-start": Value(
        44,
        misconceptions={
            10: "after 10 batches the initial value still has a weight of 0.9**10 = 0.35. "
            "1 / momentum is a time scale, not the end of the decay.",
            43: "0.9**43 is 0.0108, a little over 1%.",
            45: "one batch earlier is enough: 0.9**44 is 0.0097.",
            22: "after 22 batches the weight is 0.9**22 = 0.098, about 10%. It takes twice as "
            "many.",
            2: "0.1**2 is 1%, but each batch multiplies the old value by 0.9, not by 0.1.",
        },
        on_success="0.9**44 is 0.0097, the first power below 0.01. "
        "After fewer batches, outputs at inference depend more on the arbitrary initial values.",
        hint="each batch multiplies the weight of the initial value by 0.9; "
        "find the first power below 0.01.",
    ),
    "normalize": Function(
        normalize,
        cases=_tensors,
        misconceptions={
            "the statistics are computed over the axes that are not in `axes`. `axes` names those "
            "that are averaged.": lambda x, axes: normalize(x, _rest(x, axes)),
            "`eps` is missing. Add it to the variance, inside the square root.": lambda x, axes: (
                _scaled(x, axes, "no eps")
            ),
            "`eps` is added outside the square root. Add it to the variance, "
            "inside the root.": lambda x, axes: _scaled(x, axes, "eps outside"),
            "this divides by the variance. Divide by its square root.": lambda x, axes: _scaled(
                x, axes, "variance"
            ),
            "this variance divides by n − 1; the norms of the paper and of PyTorch divide by n "
            "(`ddof=0`).": lambda x, axes: _scaled(x, axes, "unbiased"),
            "the statistics are always those of the last axis. Use `axes`.": lambda x, axes: (
                normalize(x, (x.ndim - 1,))
            ),
        },
        on_success="Batch, layer, and instance norm are one function; only `axes` differs.",
    ),
    "which-norm": Function(
        which_norm,
        cases=_tables,
        misconceptions={
            "batch and layer are swapped: a mean over `axis=0` is that of a column, one feature "
            "over all examples.": lambda x, y: _by_means(x, y, "layer", "batch"),
            "RMS norm is never returned. Its rows have mean square 1, like those of layer norm, "
            "but their mean is not 0.": _by_rows,
        },
        on_success="If the columns have mean 0, the norm is batch norm; if the rows do, it is "
        "layer norm; if neither does, it is RMS norm.",
    ),
    "padding-safe": Function(
        masked_norm,
        cases=_padded,
        misconceptions={
            "the padding still counts in the mean and the variance. Use `lengths`.": (_unmasked),
            "the padding is set to 0 at the end, but it has already counted in the mean and the "
            "variance.": _masked_after,
            "the output at padded steps must be 0; here it is the input.": _left_in_place,
            "this computes one mean per step; compute one for all real steps of an example.": (
                _step_by_step
            ),
            "this computes one mean for the whole batch; each example needs its own.": _whole_batch,
        },
        on_success="Neither the number of padded steps nor their content affects the real steps.",
    ),
}
