"""The exercises of the chapter ``train_with_four``: batches, seeds and running averages."""

import math

import numpy as np

from lnlib.exercises import Function, Measured
from lnlib.norm import update_running


def _updates(cases: int, batch_size: int) -> tuple[int, int]:
    return divmod(cases, batch_size)


def _factor(batch_size: int) -> float:
    return math.sqrt(batch_size / (batch_size - 1))


def _verdict(a: np.ndarray, b: np.ndarray) -> str:
    below = a < b
    return "holds" if below.all() else "mixed" if below.any() else "does not hold"


def _seeds(rng: np.random.Generator) -> list[tuple]:
    start = rng.normal(size=10)  # what a pair of runs shares
    return [
        (np.array([0.1, 0.5]), np.array([0.2, 0.6])),
        (np.array([0.1, 0.5]), np.array([0.2, 0.4])),
        (np.array([0.3, 0.5]), np.array([0.2, 0.4])),
        (np.array([0.1, 0.3]), np.array([0.2, 0.3])),  # equal is not below
        (np.array([0.2, 0.3]), np.array([0.2, 0.3])),
        (start, start + 0.1),
        (start, start - 0.1),
        (np.append(start, 0.0), np.append(start + 0.1, -5.0)),
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
        cases=lambda rng: [(10, 4), (8, 4), (55_000, 128), (55_000, 4), (3, 4)],
        right="55,000 cases are 429 updates of 128 and 88 left over, or 13,750 updates of 4.",
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
        cases=lambda rng: [(4,), (2,), (16,), (128,)],
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
    "verdict": Function(
        _verdict,
        cases=_seeds,
        right="Pairs of one seed are compared, and no average hides a seed that disagrees.",
        wrong={
            "you compare the means; one seed can carry a mean alone. Compare seed by seed.": (
                lambda a, b: "holds" if a.mean() < b.mean() else "does not hold"
            ),
            "you compare every run of A with every run of B; two runs of one seed share weights "
            "and order, so compare a[i] with b[i].": lambda a, b: (
                "holds" if a.max() < b.min() else "mixed" if a.min() < b.max() else "does not hold"
            ),
            'where some seeds agree and others do not, the verdict is "mixed".': lambda a, b: (
                "holds" if (a < b).all() else "does not hold"
            ),
            "equal is not below; where A = B the seed does not agree.": lambda a, b: (
                "holds" if (a <= b).all() else "mixed" if (a <= b).any() else "does not hold"
            ),
            "you ask whether A is above B; the claim says below.": lambda a, b: (
                "holds" if (a > b).all() else "mixed" if (a > b).any() else "does not hold"
            ),
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
        right="The weights and the cases are the same; what differs is whose mean and deviation "
        "the network takes.",
        wrong={
            "the two are equal: the model was in the same mode both times. Call "
            "`replay.model.train()` before the first and `replay.model.eval()` before the "
            "second.": lambda batches, averages: math.isclose(batches, averages, rel_tol=1e-6),
            "with the running averages the loss is still that of guessing, log 10 = 2.3 or more; "
            "train the network first.": lambda batches, averages: min(batches, averages) > 2,
            "the loss in train() must come first and in eval() second, both over all the "
            "batches.": lambda batches, averages: batches < averages,
        },
    ),
}
