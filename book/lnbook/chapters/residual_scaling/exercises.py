"""The exercises of the page on depth and residual scaling."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value


def in_output(share: np.ndarray) -> np.ndarray:
    """Return the share of each block in the last stream, from its share right after the block."""
    later = np.cumprod(np.append(1, 1 - share[::-1]))[::-1][1:]
    return share * later


def _shares(rng: np.random.Generator) -> Iterator[tuple]:
    yield (np.array([0.25]),)
    yield (np.full(4, 0.5),)
    yield (1 / np.arange(1.0, 7),)
    for N in (2, 3, 8):
        yield (rng.uniform(0.1, 0.9, size=N),)


def _with_own(share: np.ndarray) -> np.ndarray:
    return share * np.cumprod(1 - share[::-1])[::-1]


def _from_the_start(share: np.ndarray) -> np.ndarray:
    return share * np.append(1, np.cumprod(1 - share)[:-1])


def factor(N: int, before: float, after: float, v: float) -> float:
    """Return the factor of the output matrices that gives the stream a certain final variance."""
    return np.sqrt((after - before) / (2 * N * v))


def _stacks(rng: np.random.Generator) -> Iterator[tuple]:
    yield from ((12, 0.0, 1.0, 1.0), (12, 1.0, 2.0, 1.0), (24, 0.5, 2.0, 0.3), (1, 0.1, 0.4, 0.6))
    for N in (5, 48):
        before = rng.uniform(0.1, 1)
        yield N, before, before + rng.uniform(0.5, 3), rng.uniform(0.1, 2)


EXERCISES = {
    "share-in-the-output": Function(
        in_output,
        cases=_shares,
        misconceptions={
            "a block reduces what was there before it, not itself: leave its own factor "
            "`1 - share` out.": _with_own,
            "this multiplies by the factors of the blocks before. The blocks after it are those "
            "that reduce its share.": _from_the_start,
            "this is the share right after the block. Every later block reduces it.": (
                lambda share: share
            ),
            "do not divide by the sum: the rest, up to 1, is what is left of the input.": (
                lambda share: in_output(share) / in_output(share).sum()
            ),
        },
        on_success="With a share of 1/k for block k, as with pre-norm, all blocks end with the "
        "same share. With a constant share, as with post-norm, the last block has the largest.",
    ),
    "output-variance": Function(
        factor,
        cases=_stacks,
        misconceptions={
            "each block has two sublayers that write: 2N in all.": (
                lambda N, before, after, v: np.sqrt((after - before) / (N * v))
            ),
            "this is the factor on the variance. The factor on the weights is its square root.": (
                lambda N, before, after, v: (after - before) / (2 * N * v)
            ),
            "the stream starts with the variance `before`, so the sublayers add only the rest.": (
                lambda N, before, after, v: np.sqrt(after / (2 * N * v))
            ),
            "`v` is a variance: take its square root, too.": (
                lambda N, before, after, v: np.sqrt((after - before) / (2 * N)) / v
            ),
            "this is GPT-2's factor, with which the sublayers add `v` in total.": (
                lambda N, before, after, v: 1 / np.sqrt(2 * N)
            ),
        },
        on_success="GPT-2's 1/√(2N) is the case in which the sublayers add `v` in total, at any "
        "depth.",
    ),
    "layernorm-scaling-depth": Value(
        31,
        misconceptions={
            4: "this is the answer for pre-norm, where each block adds the same.",
            7: "block k adds 1/k, not 1/√k: a factor of 1/√k on the input divides the variance "
            "by k.",
            30: "with 30 blocks the variance is 3.995.",
            55: "the variance is the sum 1 + 1/2 + ... + 1/N, a little more than the logarithm of "
            "N. Add it up.",
        },
        on_success="The variance grows like the logarithm of the depth: it takes 83 blocks to "
        "reach 5 times the variance, and 227 to reach 6 times.",
        hint="add 1 + 1/2 + 1/3 + ... until the sum is at least 4.",
    ),
}
