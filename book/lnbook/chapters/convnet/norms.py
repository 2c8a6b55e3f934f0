"""How fast each norm is and how it ends, from the records that there are."""

from __future__ import annotations

from collections.abc import Sequence
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
    arms = judge.at_best_rates(runs.compared)
    results = {name: arm for name, arm in arms.items() if len(arm.runs) >= SEEDS}
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
        [
            [*row, f"{100 * np.mean(errors_of_arm):.1f}%"]
            for row, errors_of_arm in zip(table.rows, errors, strict=True)
        ],
        f"{table.caption} *: at the edge of the grid of learning rates.",
    )


def digits(runs: Runs, judge: Any) -> Table:
    """Return three networks on MNIST, by error and by NLL, each at the rates that are best by it.

    Args:
        runs: What is recorded.
        judge: Compares them, ``lnlab.experiments.convnet.results.TASK``.
    """
    by_error, by_nll = (judge.at_best_rates(runs.digits, metric) for metric in judge.scores)
    rows = []
    for row, name in zip(claims.targets(judge, by_error, NAMES).rows, by_error, strict=True):
        errors = [100 * end("test_error")(run) for run in by_error[name].runs.values()]
        losses = [end("test_nll")(run) for run in by_nll[name].runs.values()]
        rate = f"{by_nll[name].rate:g}{'*' * by_nll[name].at_edge}"
        rows.append([row[0], row[1], row[-1], _ends(errors, 1, "%"), rate, _ends(losses, 3)])
    return Table(
        [
            "Network",
            "Rate best by error",
            "Updates to 90% of the way",
            "Test error",
            "Rate best by NLL",
            "Test NLL",
        ],
        rows,
        "MNIST: mean over seeds (lowest to highest). Rates are chosen on validation images. "
        "Updates are counted as above. *: at the edge of the grid of learning rates.",
    )


def _ends(values: Sequence[float], digits: int, unit: str = "") -> str:
    """Write a mean and, in brackets, the lowest and the highest value."""
    mean, low, high = (f"{f(values):.{digits}f}" for f in (np.mean, np.min, np.max))
    return f"{mean}{unit} ({low} to {high})"


def training(runs: Runs) -> Table:
    """Return the labels of the two claims on training."""
    return claims.table(EXPERIMENT, runs.compared, *TRAINING)


def reason(runs: Runs) -> Table:
    """Return the labels of the two claims on units at the border, of networks with layer norm."""
    return claims.table(EXPERIMENT, runs.compared, "conv-border", "conv-statistics")
