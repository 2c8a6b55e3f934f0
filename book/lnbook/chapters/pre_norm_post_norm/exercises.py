"""The exercises of the chapter ``pre_norm_post_norm``."""

from collections.abc import Iterator

import numpy as np

from lnbook.chapters.pre_norm_post_norm import material
from lnbook.exercises import Function, Measured, Value

# variance-adds

START, STEP, STEPS = 0.04, 0.3, 24
DEVIATION = (START + STEPS * STEP) ** 0.5


# warm-up


def rate(update: int, highest: float, warm_up: int) -> float:
    """Return the learning rate of an update, counted from 0."""
    return highest * min(1, (update + 1) / warm_up) if warm_up else highest


def _updates(rng: np.random.Generator) -> Iterator[tuple]:
    yield from ((0, 1.0, 4), (1, 1.0, 4), (3, 1.0, 4), (4, 1.0, 4), (9, 1.0, 4))
    yield from ((0, 0.5, 1), (59, 3e-3, 60), (600, 3e-3, 60), (0, 1e-3, 0), (7, 1e-3, 0))
    yield int(rng.integers(20, 60)), rng.uniform(0.1, 1), int(rng.integers(60, 90))


def _from_zero(update: int, highest: float, warm_up: int) -> float:
    return highest * min(1, update / warm_up) if warm_up else highest


EXERCISES = {
    "why-post-norm-stalls": Measured(
        ("the fraction with pre-norm", "the fraction with post-norm"),
        misconceptions={
            "a fraction lies between 0 and 1. Divide by the mean square of the residual stream.": (
                material.is_no_fraction
            ),
            "the two fractions must come in the order pre-norm, post-norm.": material.is_swapped,
            "the two are nearly equal. Does the second block normalize the sum after each "
            "addition, or still the input of the sublayers?": material.is_the_same_block,
            "with post-norm the tokens are still different, as before training. Train for 20 "
            "updates, and look at the residual stream after the last block.": material.is_untrained,
            "with pre-norm the tokens are still nearly equal, as after the first updates. Train "
            "for 20 updates.": material.is_trained_too_little,
        },
        on_success="In the post-norm model, all tokens have nearly the same vector after the last "
        "block, so the output layer can learn only how frequent each character is.",
    ),
    "variance-adds": Value(
        DEVIATION,
        misconceptions={
            (START + STEPS / 2 * STEP) ** 0.5: "a block has two sublayers: 24 in all.",
            START + STEPS * STEP: "that is the variance; take its square root.",
            START**0.5 + STEPS * STEP**0.5: "standard deviations of independent terms do not "
            "add; variances do.",
            1.0: "that is the answer for post-norm, where the residual stream is normalized.",
        },
        on_success="It grows with the square root of the depth. So the later blocks of a pre-norm "
        "model change the residual stream little, and the last block has a small gradient.",
        hint="add the variances, then take the square root.",
        atol=0.01,
    ),
    "warm-up-rate": Function(
        rate,
        cases=_updates,
        misconceptions={
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
        on_success="From Xavier initialization at 1e-3, these few lines decide whether post-norm "
        "trains.",
    ),
    "switch-the-norm-off": Value(
        1e6,
        misconceptions={
            1e12: "the norm divides by the square root of variance plus eps, which is 1e6.",
            1e-6: "the norm multiplies x by that factor; the gain must undo it.",
            1.0: "with gain 1 the output is x − mean, divided by 1e6.",
        },
        on_success="So a norm can be switched off through its eps and gain, without changing the "
        "class.",
        hint="what is sqrt(var + eps) when eps is 1e12 and var is about 1?",
    ),
}
