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
            "this is post-norm still: the norm stands on the stream, behind the sum.": (
                lambda x, W: layer_norm(x + x @ W.T)
            ),
            "the norm has got onto the stream: `x = layer_norm(x)` before the sum loses the x "
            "that should pass by. A step must add to the x that came in.": _carried,
            "the stream is missing: a step adds to x.": lambda x, W: layer_norm(x) @ W.T,
            "the norm stands behind the step; in pre-norm it reads x first.": (
                lambda x, W: x + layer_norm(x @ W.T)
            ),
            "there is no norm.": lambda x, W: x + x @ W.T,
            "this is a sandwich: pre-norm has no norm behind the step.": (
                lambda x, W: x + layer_norm(layer_norm(x) @ W.T)
            ),
        },
        right="What passes the step by meets no norm.",
    ),
    "count-the-norms": Value(
        NORMS_OF_12,
        wrong={
            (24, 24, 48): "pre-norm and the sandwich have one more, before the output: no other "
            "norm has seen what the last block adds.",
            (13, 12, 25): "a block has two steps, attention and a feed-forward network, each with "
            "its own norm.",
            (12, 12, 24): "a block has two steps, each with its own norm; and pre-norm and the "
            "sandwich have one more before the output.",
            (25, 25, 49): "post-norm needs no last one: its last block ends with a norm.",
            (25, 24, 48): "the sandwich ends as pre-norm does: its stream meets no norm, so it "
            "needs a last one too.",
        },
        right="Two a block in pre-norm and post-norm, four in a sandwich; one more where the "
        "stream has met none.",
        otherwise="count two steps a block, and ask what the output layer reads.",
    ),
    "variance-adds": Value(
        DEVIATION,
        wrong={
            (START + STEPS / 2 * STEP) ** 0.5: "a block has two steps: 24 in all.",
            START + STEPS * STEP: "that is the variance; the deviation is its root.",
            START**0.5 + STEPS * STEP**0.5: "deviations of independent parts do not add; their "
            "squares do.",
            1.0: "so it is in post-norm, where a norm stands on the stream.",
        },
        right="Growth by the root of the depth: so pre-norm's later blocks change the stream "
        "little, and its last block gets a short gradient.",
        otherwise="add up the variances, then take the root.",
        within=0.01,
    ),
    "warm-up-rate": Function(
        rate,
        cases=_updates,
        wrong={
            "the first update is number 0, and its rate here is 0: it changes nothing. Count from "
            "1.": _from_zero,
            "the rate goes on rising after the warm-up; hold it there.": (
                lambda update, highest, warm_up: (
                    highest * (update + 1) / warm_up if warm_up else highest
                )
            ),
            "without warm-up the rate is `highest` from the start; a division by 0 is no answer.": (
                lambda update, highest, warm_up: highest * min(1, (update + 1) / warm_up)
            ),
            "there is no warm-up in this rate.": lambda update, highest, warm_up: highest,
        },
        right="Four lines of a training loop, and at 1e-3 the difference between learning nothing "
        "and learning.",
    ),
    "switch-the-norm-off": Value(
        1e6,
        wrong={
            1e12: "the norm divides by the root of the variance and eps, and that is 1e6.",
            1e-6: "the norm makes x small by that factor; the gain must undo it.",
            1.0: "with gain 1 the output is x - mean divided by 1e6.",
        },
        right="So one can take a norm out of a model and keep the class of the checkpoint.",
        otherwise="what is sqrt(var + eps) when eps is 1e12 and var is about 1?",
    ),
}
