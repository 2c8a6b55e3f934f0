"""The exercises of the chapter ``layer_norm_from_scratch``."""

import numpy as np

from lnbook.chapters.layer_norm_from_scratch.material import Stream
from lnbook.exercises import Function
from lnlib.norms import layer_norm, layer_norm_backward


def _normalize(x, gain, bias, *, axis=-1, ddof=0, eps=1e-5):
    mean, var = (f(x, axis=axis, keepdims=True) for f in (np.mean, np.var))
    n = x.size if axis is None else x.shape[axis]
    return gain * (x - mean) / np.sqrt(var * n / (n - ddof) + eps) + bias


def _deviation(x):
    return x - x.mean(-1, keepdims=True), x.std(-1, keepdims=True)


def _layer_norm_cases(rng):
    # A square table, so that a wrong axis raises no error; small numbers, so that eps matters.
    shapes, scale = [(2, 3), (3, 3), (2, 3, 4)], [2.0, 0.003, 1.0]
    for shape, size in zip(shapes, scale, strict=True):
        gain, bias = rng.normal(size=(2, shape[-1]))
        yield (size * rng.normal(size=shape) + 1, gain + 1, bias)


def _outside(x, gain, bias):
    centered, std = _deviation(x)
    return gain * centered / (std + 1e-5) + bias


def _no_root(x, gain, bias):
    centered, std = _deviation(x)
    return gain * centered / (std**2 + 1e-5) + bias


# Layer norm as a function with a gradient of its own.


def _function_cases(rng):
    # A square table, so that a wrong axis raises no error.
    for shape in ((2, 3), (4, 4), (3, 5)):
        gain, bias = rng.normal(size=(2, shape[1]))
        yield 2 * rng.normal(size=shape) + 1, gain + 1, bias, rng.normal(size=shape)


def _backward(
    x,
    gain,
    bias,
    dy,
    *,
    mean=True,
    radial=True,
    use_gain=True,
    over=True,
    average=False,
    raw=False,
    axis=-1,
):
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    x_hat = (x - x.mean(-1, keepdims=True)) * rstd
    d = gain * dy if use_gain else dy
    dx = d - mean * d.mean(axis, keepdims=True)
    dx = dx - radial * x_hat * (d * x_hat).mean(axis, keepdims=True)
    combine = np.mean if average else np.sum
    dgain = combine(dy * (x if raw else x_hat), axis=0)
    y = gain * x_hat + bias
    return y, dx * rstd if over else dx, dgain, combine(dy, axis=0)


# The variance of a stream.


def _stream_cases(rng):
    for offset, n in ((0.0, 5), (3.0, 40), (1e9, 8), (1e9, 400)):
        yield (Stream(offset + rng.normal(size=n)),)


def _variance(stream):
    return np.var(list(stream))


def _running(stream, *, naive=False, ddof=0, squared=False):
    mean = squares = total = total_squares = 0.0
    for k, x in enumerate(stream, 1):
        total, total_squares = total + x, total_squares + x * x
        step = x - mean
        mean += step / k
        squares += step * (step if squared else x - mean)
    return total_squares / k - (total / k) ** 2 if naive else squares / (k - ddof)


EXERCISES = {
    "layer-norm-by-hand": Function(
        lambda x, gain, bias: layer_norm(x, gain, bias),
        cases=_layer_norm_cases,
        misconceptions={
            "mean and variance are computed down the columns, as in batch norm. The features are "
            "the last axis.": lambda x, gain, bias: _normalize(x, gain, bias, axis=0),
            "one mean for all numbers mixes the examples. Compute one per row, `axis=-1`.": (
                lambda x, gain, bias: _normalize(x, gain, bias, axis=None)
            ),
            "this divides the sum of squares by H − 1; eq. 16 divides it by H.": (
                lambda x, gain, bias: _normalize(x, gain, bias, ddof=1)
            ),
            "eps is added outside the square root; PyTorch adds it to the variance, inside the "
            "root.": (_outside),
            "eps is missing, which matters if the variance is small.": (
                lambda x, gain, bias: _normalize(x, gain, bias, eps=0)
            ),
            "this divides by the variance. Divide by its square root.": _no_root,
            "gain and bias are missing. Apply them after the normalization.": (
                lambda x, gain, bias: _normalize(x, 1, 0)
            ),
            "gain and bias are swapped: multiply by the gain, and add the bias.": (
                lambda x, gain, bias: _normalize(x, bias, gain)
            ),
            "gain and bias are applied before the normalization, which partly removes them. "
            "Eq. 15 applies them after it.": lambda x, gain, bias: _normalize(
                gain * x + bias, 1, 0
            ),
        },
        on_success="This computes eqs. 15 and 16 for any number of examples at once.",
    ),
    "autograd-function": Function(
        lambda x, gain, bias, dy: (layer_norm(x, gain, bias), *layer_norm_backward(dy, x, gain)),
        cases=_function_cases,
        returns=(
            "the output",
            "the gradient of x",
            "the gradient of the gain",
            "the gradient of the bias",
        ),
        misconceptions={
            "mean and standard deviation are treated as constants. Both depend on x, which gives "
            "two more terms.": lambda *a: _backward(*a, mean=False, radial=False),
            "the path through the mean is missing: subtract the mean of gain * dy.": (
                lambda *a: _backward(*a, mean=False)
            ),
            "the path through the standard deviation is missing: subtract x_hat times the mean of "
            "gain * dy * x_hat.": lambda *a: _backward(*a, radial=False),
            "the gain is missing in the gradient of x: the gradient with respect to x_hat is "
            "gain * dy.": lambda *a: _backward(*a, use_gain=False),
            "the gradient of x is not divided by the standard deviation.": (
                lambda *a: _backward(*a, over=False)
            ),
            "the gradients of gain and bias are averaged over the examples. They are sums.": (
                lambda *a: _backward(*a, average=True)
            ),
            "the gradient of the gain contains x; it must contain x_hat.": (
                lambda *a: _backward(*a, raw=True)
            ),
            "the means of the backward pass are taken over the examples. They are those of the "
            "forward pass, over the features.": lambda *a: _backward(*a, axis=0),
        },
        on_success="PyTorch's own layer norm uses the same formula, but it saves x and, for "
        "each example, only the mean and one over the standard deviation, and recomputes x_hat.",
    ),
    "variance-of-a-stream": Function(
        _variance,
        cases=_stream_cases,
        misconceptions={
            "E[x²] − E[x]² loses every digit if the numbers are near 1e9. Accumulate squared "
            "differences instead.": lambda stream: _running(stream, naive=True),
            "both factors use the old mean. One of them must use the new mean.": (
                lambda stream: _running(stream, squared=True)
            ),
            "divide by n, as eq. 16 does, not by n − 1.": lambda stream: _running(stream, ddof=1),
        },
        tolerance=1e-5,
        on_success="One pass, and the offset does not reduce the accuracy.",
    ),
}
