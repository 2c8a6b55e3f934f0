"""Claims on small feed-forward networks that existing records of ten seeds decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lnlab.claims.feedforward import RATE, mnist_arms, mnist_end, pairs_by_seed
from lnlab.claims.finding import Finding, Record, Records
from lnlab.claims.trained import end, named, no_plateau
from lnlab.experiments._arms import Arm
from lnlab.experiments._task import curve

# Section 5.2.2: early stopping.


def roughness(run: Record) -> float:
    """Return how far the training NLL is from falling evenly in the last half of the epochs.

    That is the mean absolute second difference of its logarithm from epoch to epoch: 0 where it
    falls by one factor an epoch, whatever the factor.
    """
    epochs = curve(run, "epoch")
    whole = np.isclose(epochs, epochs.round()) & (epochs >= epochs[-1] / 2)
    return float(np.abs(np.diff(np.log(curve(run, "train_nll")[whole]), 2)).mean())


def early_stopping(records: Records) -> list[Finding]:
    """Compare weights that grow with weights that are kept at their initial magnitude.

    With a norm both compute the same function of the same direction of the weights; so what
    differs is what their growth does to learning. The training NLL must have leveled off in both.
    """
    results = []
    for norm in ("layer", "batch"):
        runs = records.of("weights", norm=norm, optimizer="sgd", scale=1.0)
        fixed = [run for run in runs if run["settings"].get("magnitude") == "fixed"]
        pairs = pairs_by_seed([run for run in runs if run not in fixed], fixed)
        if len(pairs) < 2:
            continue
        arms = [Arm({pair[k]["seed"]: pair[k] for pair in pairs}, RATE, {}) for k in (0, 1)]
        reason, used = no_plateau(arms, "train_nll"), tuple(run for pair in pairs for run in pair)
        for value, words in ((end("turn_1"), "degrees an update turns the weights of layer 1"),
                             (roughness, "unevenness of the training NLL")):  # fmt: skip
            grown, kept = (np.array([value(pair[k]) for pair in pairs]) for k in (0, 1))
            what = f"{norm} norm: {words} in the end, growing against fixed magnitude"
            d = grown / kept - 1
            results.append(Finding(what, d, "of the fixed", d, used, untestable=reason))
    return results


# A summary's sentence on figure 6.


_MEASURES = (("train_nll", "training NLL", "nats", 1), ("test_error", "test error", "points", 100))


def figure_6_gains(size: int) -> Callable[[Records], list[Finding]]:
    """Compare training NLL and test error at the end with both rivals, at one batch size."""

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for rival in ("none", "batch"):
            arms = mnist_arms(records, rival, "layer", size)
            for name, words, unit, factor in _MEASURES if arms else ():
                what = f"batches of {size}: {words} at the end, against {named(rival)}"
                results.append(mnist_end(arms, name, unit, what, factor=factor))
        return results

    return evaluate
