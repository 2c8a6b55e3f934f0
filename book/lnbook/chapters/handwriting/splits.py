"""The loss on training lines, on known and on new writers, side by side."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.handwriting.runs import MAIN, Runs
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN
from lnbook.figures.table import Table

#: From a name of lines to the curve of their loss.
SPLITS = {
    "training lines": "batch_nll",
    "other lines of known writers": "val_seen_nll",
    "lines of new writers": "val_new_nll",
    "test lines, of other new writers": "test_new_nll",
}


def ends(runs: Runs, split: str, arm: str) -> np.ndarray:
    """Return the loss at the end of an arm's runs, the mean of the last quarter of its points."""
    _, values = runs.curves(MAIN, arm, "updates", SPLITS[split])
    return values[:, -max(3, round(values.shape[1] / 4)) :].mean(1)


def splits(runs: Runs) -> Table:
    """Put the losses of all lines side by side, where the runs end."""
    rows, run = [], next(iter(runs.kinds[MAIN][LAYER].runs.values()))
    for split in SPLITS:
        found = {arm: ends(runs, split, arm) for arm in (PLAIN, CHOSEN, LAYER)}
        less = (found[LAYER] < found[other] for other in (PLAIN, CHOSEN))
        means = (f"{values.mean():.2f}".replace("-", "−") for values in found.values())
        rows.append([split, *means, *(f"{lower.sum()} of {len(lower)} seeds" for lower in less)])
    return Table(
        ["Loss, nats a point", "no norm", "no norm, tuned initialization", "layer norm",
         "layer norm below no norm", "… below the tuned initialization"],
        rows,
        f"At the end of {runs.judge.updates(run)[-1]:,.0f} updates, the mean of the last quarter "
        "of the measuring points. The first row is the loss of the batches that were trained on, "
        f"the others are losses of at most {run['settings']['lines']} pieces each.",
    )  # fmt: skip
