"""The exercises of the chapter ``rms_norm``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function
from lnlib.norms import rms_norm_backward

# center-the-weights


def center(W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and bias whose outputs are those of ``W`` and ``b`` minus their mean."""
    return W - W.mean(axis=0), b - b.mean()


def _layers(rng: np.random.Generator) -> Iterator[tuple]:
    # One square matrix, so that a wrong axis raises no error.
    for units, inputs in ((2, 3), (3, 3), (6, 4)):
        yield 1 + rng.normal(size=(units, inputs)), 2 + rng.normal(size=units)


# The gradient of RMS norm, without one of its parts.


def _rms(dy, x, gain, *, mean=False, radial=True, use_gain=True, over=True, H=1):
    rms = np.sqrt((x * x).mean(-1, keepdims=True))
    x_hat = x / rms
    d = gain * dy if use_gain else dy
    left = d - radial * H * x_hat * (d * x_hat).mean(-1, keepdims=True)
    return (left - mean * d.mean(-1, keepdims=True)) / (rms if over else 1)


def _rms_cases(rng):
    for shape in [(1, 3), (4, 4), (5, 7)]:
        yield (rng.normal(size=shape), 2 * rng.normal(size=shape) + 1, rng.normal(size=shape[-1]))


EXERCISES = {
    "center-the-weights": Function(
        center,
        cases=_layers,
        returns=("weights", "bias"),
        misconceptions={
            "the mean is taken over the inputs. The mean to remove is over the outputs, the rows "
            "of `W`: `axis=0`.": lambda W, b: (W - W.mean(axis=1, keepdims=True), b - b.mean()),
            "one mean for all weights does not center the output. Each column of `W` has its own "
            "mean over the outputs.": lambda W, b: (W - W.mean(), b - b.mean()),
            "the bias still has a mean, and it is added to every token.": (
                lambda W, b: (W - W.mean(axis=0), b)
            ),
            "the columns of `W` still have a mean, so the outputs have a mean that depends on the "
            "input.": (lambda W, b: (W, b - b.mean())),
            "this also divides by the standard deviation. Only the mean can be moved into the "
            "weights; the scale depends on the token.": (
                lambda W, b: ((W - W.mean(axis=0)) / W.std(axis=0), (b - b.mean()) / b.std())
            ),
        },
        on_success="The outputs have mean zero for every input, so LayerNorm and RMSNorm agree on "
        "them.",
    ),
    "rms-norm-backward": Function(
        lambda dy, x, gain: rms_norm_backward(dy, x, gain, eps=0)[0],
        cases=_rms_cases,
        misconceptions={
            "this is the gradient of layer norm. RMS norm has no mean, so no gradient flows "
            "through it.": (lambda dy, x, gain: _rms(dy, x, gain, mean=True)),
            "this is only the direct path. x also changes the root mean square.": (
                lambda dy, x, gain: _rms(dy, x, gain, radial=False)
            ),
            "the gain is missing: the gradient with respect to x_hat is gain * dy.": (
                lambda dy, x, gain: _rms(dy, x, gain, use_gain=False)
            ),
            "the division by the root mean square is missing.": (
                lambda dy, x, gain: _rms(dy, x, gain, over=False)
            ),
            "this is a sum over the features. It must be a mean, because the mean square "
            "divides by H.": (lambda dy, x, gain: _rms(dy, x, gain, H=x.shape[-1])),
        },
        on_success="Only the component along x_hat is removed; the one along the vector of ones "
        "stays.",
    ),
}
