"""Evaluation of claims about small feed-forward networks with ten recorded seeds."""

from collections.abc import Callable

import numpy as np

from lnlab.claims.feedforward import RATE, mnist_arms, mnist_end, pairs_by_seed
from lnlab.claims.finding import Finding, Record, Records
from lnlab.claims.trained import arm_name, end, no_plateau
from lnlab.experiments._arms import Arm
from lnlab.experiments._task import curve

# Section 5.2.2: early stopping.


def roughness(run: Record) -> float:
    """Return the mean absolute second difference of the log training NLL, over the last half.

    It is computed from epoch to epoch and is 0 if the NLL decreases by a constant factor.
    """
    epochs = curve(run, "epoch")
    selected = np.isclose(epochs, epochs.round()) & (epochs >= epochs[-1] / 2)
    return float(np.abs(np.diff(np.log(curve(run, "train_nll")[selected]), 2)).mean())


def early_stopping(records: Records) -> list[Finding]:
    """Compare weights that grow with weights of fixed magnitude.

    With a norm, the function depends only on the direction of the weights, so that the growth of
    the weights only affects training. The training NLL must have reached a plateau in both.
    """
    results = []
    for norm in ("layer", "batch"):
        runs = records.select("weights", norm=norm, optimizer="sgd", scale=1.0)
        fixed = [run for run in runs if run["settings"].get("magnitude") == "fixed"]
        pairs = pairs_by_seed([run for run in runs if run not in fixed], fixed)
        if len(pairs) < 2:
            continue
        arms = [Arm({pair[k]["seed"]: pair[k] for pair in pairs}, RATE, {}) for k in (0, 1)]
        reason, used = no_plateau(arms, "train_nll"), tuple(run for pair in pairs for run in pair)
        for value, name in ((end("turn_1"), "angle of an update in layer 1, last quarter"),
                            (roughness, "fluctuation of the training NLL, last half")):  # fmt: skip
            growing, constant = (np.array([value(pair[k]) for pair in pairs]) for k in (0, 1))
            what = f"{norm} norm: {name}, growing versus fixed weight norm"
            d = growing / constant - 1
            results.append(Finding(what, d, "of that with fixed norm", d, used, untestable=reason))
    return results


# Tutorials: a sentence on figure 6.


_MEASURES = (("train_nll", "training NLL", "nats", 1), ("test_error", "test error", "points", 100))


def figure_6_gains(size: int) -> Callable[[Records], list[Finding]]:
    """Return an evaluator of the final training NLL and test error, for one batch size."""

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for rival in ("none", "batch"):
            arms = mnist_arms(records, rival, "layer", size)
            for name, label, unit, factor in _MEASURES if arms else ():
                what = f"batches of {size}: {label} at the end, versus {arm_name(rival)}"
                results.append(mnist_end(arms, name, unit, what, factor=factor))
        return results

    return evaluate
