"""The exercises of the chapter ``mnist``: batch statistics and running averages."""

import math

import numpy as np

from lnbook.chapters.mnist.material import equal, exchanged, untrained
from lnbook.exercises import Function, Measured, Value
from lnlib.norms import update_running


def _factor(batch_size: int) -> float:
    return math.sqrt(batch_size / (batch_size - 1))


def _running(means: np.ndarray, momentum: float) -> np.ndarray:
    running, history = np.zeros(1), []
    for mean in means:
        running = update_running(running, np.array([mean]), momentum)
        history.append(running[0])
    return np.array(history)


EXERCISES = {
    "noise-on-devices": Value(
        (4**-0.5, 32**-0.5, 4**-0.5),
        atol=5e-3,
        on_success="Only synchronized statistics see all 32 examples. Gradient accumulation "
        "averages gradients, not the statistics of batch norm.",
        misconceptions={
            (4**-0.5, 32**-0.5, 32**-0.5): "accumulated gradients are averaged, but each forward "
            "pass still normalizes with the statistics of its own 4 examples.",
            (32**-0.5, 32**-0.5, 32**-0.5): "without synchronization each device sees only its own "
            "4 examples.",
            (32**-0.5, 32**-0.5, 4**-0.5): "without synchronization each device sees only its own "
            "4 examples.",
            (1 / 4, 1 / 32, 1 / 4): "these are the variances of the mean; the standard deviations "
            "are their square roots.",
        },
        hint="the error is 1/√B. How many examples share one mean in each case?",
    ),
    "variance": Function(
        _factor,
        cases=lambda rng: [(4,), (2,), (16,), (128,), (int(rng.integers(5, 100)),)],
        on_success="The factor is 1.155 at batch size 4 and 1.004 at 128, so the choice matters "
        "for small batches.",
        misconceptions={
            "that is the ratio of the variances; the output is divided by the standard "
            "deviation, their square root.": lambda batch_size: batch_size / (batch_size - 1),
            "that is the inverse: dividing by B gives the smaller variance, so the larger "
            "output.": lambda batch_size: math.sqrt((batch_size - 1) / batch_size),
            "that is the factor for batch size 4 only.": lambda batch_size: math.sqrt(4 / 3),
            "B − 1 replaces B; nothing is divided by B + 1.": lambda batch_size: math.sqrt(
                (batch_size + 1) / batch_size
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
        on_success="Each average keeps 1 − momentum of the past, so it varies less than the batch "
        "means.",
        misconceptions={
            "that keeps `momentum` of the past, as some libraries define it; here, as in PyTorch, "
            "it is the weight of the newest batch.": lambda means, momentum: _running(
                means, 1 - momentum
            ),
            "that is the plain average of all batches so far; here older batches have less "
            "weight.": lambda means, momentum: np.cumsum(means) / np.arange(1, len(means) + 1),
            "this starts from the first batch; start from 0, as `BatchNorm1d` does.": (
                lambda means, momentum: (
                    means[0] + _running(means - means[0], momentum)  # relative to means[0]
                )
            ),
            "each average is a step late: update first, then store it.": lambda means, momentum: (
                np.append(0.0, _running(means, momentum)[:-1])
            ),
            "that is only the last average; return one after each batch.": lambda means, momentum: (
                _running(means, momentum)[-1]
            ),
            "the newest batch is added with its weight, but the past must also be multiplied "
            "by 1 − momentum.": lambda means, momentum: momentum * np.cumsum(means),
        },
    ),
    "unseen": Measured(
        ("loss in train()", "loss in eval()"),
        on_success="The weights and the examples are the same. Only the mean and standard "
        "deviation used by batch norm differ.",
        misconceptions={
            "the two are equal, so the model was in the same mode both times. Call "
            "`replay.model.train()` before the first and `replay.model.eval()` before the "
            "second.": equal,
            "both losses are about as high as with a uniform guess, log 10 ≈ 2.3; train the "
            "network first.": untrained,
            "the loss in train() must come first and in eval() second, both over all the "
            "batches.": exchanged,
        },
    ),
}
