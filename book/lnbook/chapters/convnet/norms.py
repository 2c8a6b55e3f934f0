"""How fast each norm is and how it ends, from the records that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lnbook.chapters.convnet.runs import Runs
from lnbook.figures import claims
from lnbook.figures.run_groups import MISSING
from lnbook.figures.table import Table
from lnlab.claims.trained import end

#: From an arm of ``lnlab.experiments.convnet`` to what the table calls it.
NAMES = {
    "none": "no norm",
    "none, tuned initialization": "no norm, tuned initialization",
    "batch": "batch norm",
    "layer": "layer norm over channels and positions",
    "channel": "layer norm over channels, per position",
    "group": "group norm",
    "instance": "instance norm",
}
EXPERIMENT, TRAINING = "convnet", ("conv-speedup", "conv-batch")
SEEDS = 2  # of each arm, at least, to compare any


def complete(runs: Runs, judge: Any) -> dict[str, Any]:
    """Return every arm at its best rate; nothing while one has too few seeds.

    An arm's best rate may be among those that are missing.
    """
    every = judge.at_best_rates(runs.compared)
    results = {name: arm for name, arm in every.items() if len(arm.runs) >= SEEDS}
    return results if set(results) == set(NAMES) else {}


def norms(runs: Runs, judge: Any) -> Table:
    """Say for each norm how many updates it needs to the targets, and its test error at the end.

    Args:
        runs: What is recorded.
        judge: Compares them, ``lnlab.experiments.convnet.results.TASK``.
    """
    result = complete(runs, judge)
    if not result:
        return Table(["Network", "Updates"], [[name, MISSING] for name in NAMES.values()], MISSING)
    table = claims.targets(judge, result, NAMES)
    errors = [[end("test_error")(run) for run in arm.runs.values()] for arm in result.values()]
    return Table(
        [*table.columns, "test error at the end"],
        [[*row, f"{100 * np.mean(of):.1f} %"] for row, of in zip(table.rows, errors, strict=True)],
        f"{table.caption} *: at the edge of the grid of learning rates.",
    )


def training(runs: Runs) -> Table:
    """Return the labels of the two claims on training."""
    return claims.table(EXPERIMENT, runs.compared, *TRAINING)


def reason(runs: Runs) -> Table:
    """Return the labels of the two claims on units at the border, of networks with layer norm."""
    return claims.table(EXPERIMENT, runs.compared, "conv-border", "conv-statistics")
