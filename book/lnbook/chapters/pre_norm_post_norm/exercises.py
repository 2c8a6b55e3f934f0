"""The exercises of the chapter on transformers."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value
from lnlib import layer_norm

# move-one-wire


def pre_step(x: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Take one step of a pre-norm transformer, with ``x @ W.T`` in attention's place."""
    return x + layer_norm(x) @ W.T


def _streams(rng: np.random.Generator) -> Iterator[tuple]:
    # Deviations other than 1 and means other than 0, or the places could not be told apart.
    for width, size, mean in ((3, 1.0, 2.0), (4, 0.2, 0.0), (6, 5.0, -1.0)):
        yield mean + size * rng.normal(size=(2, width)), rng.normal(size=(width, width))


def _carried(x: np.ndarray, W: np.ndarray) -> np.ndarray:
    return layer_norm(x) + layer_norm(x) @ W.T


# count-the-norms: 12 blocks of two steps

NORMS_OF_12 = (25, 24, 49)  # pre and sandwich have a last one

# variance-adds

START, STEP, STEPS = 0.04, 0.3, 24
DEVIATION = (START + STEPS * STEP) ** 0.5


# warm-up


def rate(update: int, highest: float, warm_up: int) -> float:
    """Return the learning rate of an update, the first of which is 0."""
    return highest * min(1, (update + 1) / warm_up) if warm_up else highest


def _updates(rng: np.random.Generator) -> Iterator[tuple]:
    yield from ((0, 1.0, 4), (1, 1.0, 4), (3, 1.0, 4), (4, 1.0, 4), (9, 1.0, 4))
    yield from ((0, 0.5, 1), (59, 3e-3, 60), (600, 3e-3, 60), (0, 1e-3, 0), (7, 1e-3, 0))
    yield int(rng.integers(20, 60)), rng.uniform(0.1, 1), int(rng.integers(60, 90))


def _from_zero(update: int, highest: float, warm_up: int) -> float:
    return highest * min(1, update / warm_up) if warm_up else highest


EXERCISES = {
    "move-one-wire": Function(
        pre_step,
        cases=_streams,
        wrong={
            "this is still post-norm: the norm is applied to the residual stream, after the sum.": (
                lambda x, W: layer_norm(x + x @ W.T)
            ),
            "the residual stream is normalized: `x = layer_norm(x)` before the sum discards the x "
            "that must be added. Add to the original x.": _carried,
            "the residual connection is missing: add x.": lambda x, W: layer_norm(x) @ W.T,
            "the norm is applied to the sublayer's output; pre-norm normalizes its input.": (
                lambda x, W: x + layer_norm(x @ W.T)
            ),
            "there is no norm.": lambda x, W: x + x @ W.T,
            "this is a sandwich: pre-norm has no norm after the sublayer.": (
                lambda x, W: x + layer_norm(layer_norm(x) @ W.T)
            ),
        },
        right="The residual path contains no norm.",
    ),
    "count-the-norms": Value(
        NORMS_OF_12,
        wrong={
            (
                24,
                24,
                48,
            ): "pre-norm and the sandwich have one more, before the output layer: nothing "
            "else normalizes the output of the last block.",
            (13, 12, 25): "a block has two sublayers, attention and a feed-forward network, each "
            "with its own norm.",
            (12, 12, 24): "a block has two sublayers, each with its own norm; and pre-norm and "
            "the sandwich have one more before the output layer.",
            (25, 25, 49): "post-norm needs no final norm: its last block ends with one.",
            (25, 24, 48): "the sandwich is like pre-norm: its residual stream is not normalized, "
            "so it needs a final norm too.",
        },
        right="Two per block in pre-norm and post-norm, four in a sandwich; one more where the "
        "residual stream is not normalized.",
        otherwise="count two sublayers per block. What is the input of the output layer?",
    ),
    "variance-adds": Value(
        DEVIATION,
        wrong={
            (START + STEPS / 2 * STEP) ** 0.5: "a block has two sublayers: 24 in all.",
            START + STEPS * STEP: "that is the variance; take its square root.",
            START**0.5 + STEPS * STEP**0.5: "standard deviations of independent terms do not "
            "add; variances do.",
            1.0: "that is the answer for post-norm, where the residual stream is normalized.",
        },
        right="It grows with the square root of the depth. So the later blocks of a pre-norm model "
        "change the residual stream little, and the last block gets a small gradient.",
        otherwise="add the variances, then take the square root.",
        within=0.01,
    ),
    "warm-up-rate": Function(
        rate,
        cases=_updates,
        wrong={
            "the first update is number 0, and its rate here is 0, so it changes nothing. Count "
            "from 1.": _from_zero,
            "the rate keeps rising after the warm-up; keep it constant.": (
                lambda update, highest, warm_up: (
                    highest * (update + 1) / warm_up if warm_up else highest
                )
            ),
            "without warm-up the rate is always `highest`; this divides by 0.": (
                lambda update, highest, warm_up: highest * min(1, (update + 1) / warm_up)
            ),
            "there is no warm-up in this rate.": lambda update, highest, warm_up: highest,
        },
        right="Four lines of a training loop. From Xavier initialization at 1e-3 they decide "
        "whether post-norm trains.",
    ),
    "switch-the-norm-off": Value(
        1e6,
        wrong={
            1e12: "the norm divides by the square root of variance plus eps, which is 1e6.",
            1e-6: "the norm multiplies x by that factor; the gain must undo it.",
            1.0: "with gain 1 the output is x - mean divided by 1e6.",
        },
        right="So a norm can be switched off without changing the class or the checkpoint.",
        otherwise="what is sqrt(var + eps) when eps is 1e12 and var is about 1?",
    ),
}
