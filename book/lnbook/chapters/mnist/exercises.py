"""The exercises of the chapter ``mnist``: batches, seeds and running averages."""

import itertools
import math
from collections.abc import Iterable

import numpy as np

from lnbook.chapters.mnist.material import equal, exchanged, untrained
from lnbook.exercises import Function, Measured
from lnlab.comparison import interval
from lnlib.norms import update_running


def _updates(cases: int, batch_size: int) -> tuple[int, int]:
    return divmod(cases, batch_size)


def _factor(batch_size: int) -> float:
    return math.sqrt(batch_size / (batch_size - 1))


def _quantiles(means: Iterable[float], low: float = 0.025, **how: str) -> tuple[float, float]:
    found = np.quantile(list(means), [low, 1 - low], **({"method": "inverted_cdf"} | how))
    return float(found[0]), float(found[1])


def _resampled(d: np.ndarray) -> list[float]:
    return [float(np.mean(drawn)) for drawn in itertools.product(d, repeat=len(d))]


def _unpaired(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    means = np.subtract.outer(_resampled(a), _resampled(b))
    return _quantiles(means.ravel())


def _pairs(rng: np.random.Generator) -> list[tuple]:
    start = rng.normal(size=4)  # what a pair of runs shares
    return [
        (np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.8, 0.5])),
        (start, start + 0.1 * rng.normal(size=4)),
        (rng.normal(size=3), rng.normal(size=3)),
    ]


def _running(means: np.ndarray, momentum: float) -> np.ndarray:
    running, kept = np.zeros(1), []
    for mean in means:
        running = update_running(running, np.array([mean]), momentum)
        kept.append(running[0])
    return np.array(kept)


EXERCISES = {
    "updates": Function(
        _updates,
        cases=lambda rng: [
            *((10, 4), (8, 4), (55_000, 128), (55_000, 4), (3, 4)),
            (int(rng.integers(100, 60_000)), int(rng.integers(5, 90))),
        ],
        right="55,000 examples are 429 updates of 128 and 88 left over, or 13,750 updates of 4.",
        returns=("updates", "left over"),
        wrong={
            "that counts the last batch, which is not full; here it is dropped.": (
                lambda cases, batch_size: (-(-cases // batch_size), cases % batch_size)
            ),
            "there is no part of an update; cut the fraction off with //.": (
                lambda cases, batch_size: (cases / batch_size, cases % batch_size)
            ),
            "rounding counts a last batch that is not full; cut the fraction off with //.": (
                lambda cases, batch_size: (round(cases / batch_size), cases % batch_size)
            ),
            "the second number is what is missing from a full batch; asked for is what the full "
            "ones leave over.": lambda cases, batch_size: (
                cases // batch_size,
                -cases % batch_size,
            ),
        },
    ),
    "variance": Function(
        _factor,
        cases=lambda rng: [(4,), (2,), (16,), (128,), (int(rng.integers(5, 100)),)],
        right="1.155 at batch size 4, and 1.004 at 128: the choice matters where batches are "
        "small.",
        wrong={
            "that is the ratio of the variances; the output is divided by a deviation, the root "
            "of one.": lambda batch_size: batch_size / (batch_size - 1),
            "that is its inverse: the smaller variance, divided by B, gives the larger "
            "output.": lambda batch_size: math.sqrt((batch_size - 1) / batch_size),
            "that is the factor at batch size 4 alone.": lambda batch_size: math.sqrt(4 / 3),
            "B - 1 replaces B; nothing is divided by B + 1.": lambda batch_size: math.sqrt(
                (batch_size + 1) / batch_size
            ),
        },
    ),
    "interval": Function(
        lambda a, b: interval(a - b),
        cases=_pairs,
        right="Pairs of one seed are compared, and what a seed does to both drops out.",
        returns=("low", "high"),
        wrong={
            "you resample a and b apart; two runs of one seed share weights and order, so "
            "resample the differences a - b.": _unpaired,
            "those are the quantiles at 5 % and 95 %, with 90 % of the means between them.": (
                lambda a, b: _quantiles(_resampled(a - b), 0.05)
            ),
            "a resample of n is drawn with replacement: `product`, not `permutations`, or every "
            "mean is the same.": lambda a, b: (float((a - b).mean()), float((a - b).mean())),
            "that is the range of the differences; of more than three the means reach less far.": (
                lambda a, b: (float((a - b).min()), float((a - b).max()))
            ),
            '`np.quantile` put a number between two means; `method="inverted_cdf"` takes one '
            "that was drawn.": lambda a, b: _quantiles(_resampled(a - b), method="linear"),
            "that is b - a; the claim says that a is below.": lambda a, b: interval(b - a),
        },
    ),
    "running-averages": Function(
        _running,
        cases=lambda rng: [
            (np.array([1.0, 1.0, 3.0]), 0.25),
            (rng.normal(2.0, 1.0, size=40), 0.1),
            (rng.normal(size=7), 0.9),
        ],
        right="Each average keeps 1 - momentum of the past, so it moves less than its batches do.",
        wrong={
            "that keeps `momentum` of the past, as some libraries define it; here, as in PyTorch, "
            "it is the weight of the newest batch.": lambda means, momentum: _running(
                means, 1 - momentum
            ),
            "that is the average of all batches so far, old and new alike; here the old ones "
            "fade.": lambda means, momentum: np.cumsum(means) / np.arange(1, len(means) + 1),
            "it starts from the first batch; start from 0 as `BatchNorm1d` does.": (
                lambda means, momentum: (
                    means[0] + _running(means - means[0], momentum)  # the same, seen from means[0]
                )
            ),
            "each average is one step late: update first, then keep.": lambda means, momentum: (
                np.append(0.0, _running(means, momentum)[:-1])
            ),
            "that is the last average alone; keep one after each batch.": lambda means, momentum: (
                _running(means, momentum)[-1]
            ),
            "the newest batch is added at its weight, but the past keeps all of its own; it "
            "must shrink by 1 - momentum.": lambda means, momentum: momentum * np.cumsum(means),
        },
    ),
    "unseen": Measured(
        ("loss in train()", "loss in eval()"),
        right="The weights and the examples are the same; what differs is whose mean and deviation "
        "the network takes.",
        wrong={
            "the two are equal: the model was in the same mode both times. Call "
            "`replay.model.train()` before the first and `replay.model.eval()` before the "
            "second.": equal,
            "with the running averages the loss is still that of guessing, log 10 = 2.3 or more; "
            "train the network first.": untrained,
            "the loss in train() must come first and in eval() second, both over all the "
            "batches.": exchanged,
        },
    ),
}
