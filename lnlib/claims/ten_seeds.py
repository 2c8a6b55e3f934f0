"""Claims on small feed-forward networks that existing records of ten seeds decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lnlib.claims.finding import Finding, Record, Records
from lnlib.experiments._curves import end_value
from lnlib.experiments._task import curve

RATE = 1e-3  # of figure 6: Adam's default, at which ten seeds were run


def _by_seed(runs: list[Record]) -> dict[int, Record]:
    """Return the longest runs by seed."""
    longest = max((run["settings"]["epochs"] for run in runs), default=0)
    return {run["seed"]: run for run in runs if run["settings"]["epochs"] == longest}


def _pairs(ours: list[Record], theirs: list[Record]) -> list[tuple[Record, Record]]:
    a, b = _by_seed(ours), _by_seed(theirs)
    return [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]


# Section 5.2.2: early stopping.


def roughness(run: Record) -> float:
    """Return how far the training NLL is from falling evenly in the last half of the epochs.

    That is the mean absolute second difference of its logarithm from epoch to epoch: 0 where it
    falls by one factor an epoch, whatever the factor.
    """
    epochs = curve(run, "epoch")
    whole = np.isclose(epochs, epochs.round()) & (epochs >= epochs[-1] / 2)
    return float(np.abs(np.diff(np.log(curve(run, "train_nll")[whole]), 2)).mean())


def last_turn(run: Record) -> float:
    """Return by how many degrees an update turns the weights of layer 1 in the end."""
    return end_value(curve(run, "turn_1"))


def early_stopping(records: Records) -> list[Finding]:
    """Compare weights that grow with weights that are kept at their initial magnitude.

    With a norm both compute the same function of the same direction of the weights; so what
    differs is what their growth does to learning.
    """
    found = []
    for norm in ("layer", "batch"):
        runs = records.of("weights", norm=norm, optimizer="sgd", scale=1.0)
        fixed = [run for run in runs if run["settings"].get("magnitude") == "fixed"]
        pairs = _pairs([run for run in runs if run not in fixed], fixed)
        if len(pairs) < 2:
            continue
        for value, words in ((last_turn, "degrees an update turns the weights of layer 1"),
                             (roughness, "unevenness of the training NLL")):  # fmt: skip
            grown, kept = (np.array([value(pair[k]) for pair in pairs]) for k in (0, 1))
            what = f"{norm} norm: {words} in the end, growing against fixed magnitude"
            d = grown / kept - 1
            runs = tuple(run for pair in pairs for run in pair)
            found.append(Finding(what, d, "of the fixed", d, runs))
    return found


# A summary's sentence on figure 6.


_WORDS = {"train_nll": "training NLL", "test_error": "test error", "none": "no norm",
          "batch": "batch norm"}  # fmt: skip


def figure_6_gains(size: int) -> Callable[[Records], list[Finding]]:
    """Compare training NLL and test error in the end with both rivals, at one batch size."""

    def weigh(records: Records) -> list[Finding]:
        found = []
        for rival in ("none", "batch"):
            pairs = _pairs(*(
                records.of("mnist", norm=norm, batch_size=size, learning_rate=RATE, data="mnist")
                for norm in ("layer", rival)
            ))  # fmt: skip
            runs = tuple(run for pair in pairs for run in pair)
            for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100)):
                if len(pairs) < 2:
                    continue
                ours, theirs = (
                    np.array([end_value(curve(pair[k], name)) for pair in pairs]) for k in (0, 1)
                )
                what = f"batches of {size}: {_WORDS[name]} in the end, against {_WORDS[rival]}"
                found.append(Finding(what, factor * (ours - theirs), unit,
                                     (ours - theirs) / theirs, runs))  # fmt: skip
        return found

    return weigh
