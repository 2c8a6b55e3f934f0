"""Tables of the convolutional networks: training speed and test error of each norm, and claims."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lnbook.chapters.convnet.runs import ConvnetRuns
from lnbook.figures import claims
from lnbook.figures.table import Table
from lnlab.claims.trained import end

#: Label of each arm of ``lnlab.experiments.convnet``.
LABELS = {
    "none": "no norm",
    "none, tuned initialization": "no norm (tuned initialization)",
    "batch": "batch norm",
    "layer": "layer norm over channels and positions",
    "channel": "layer norm over channels, per position",
    "group": "group norm",
    "instance": "instance norm",
}


def norm_table(runs: ConvnetRuns, task: Any) -> Table:
    """Return a table of the updates of each norm to the targets, and of its final test error.

    Args:
        runs: The recorded runs.
        task: Their comparison, ``lnlab.experiments.convnet.results.TASK``.
    """
    arms = task.at_best_rates(runs.compared)
    table = claims.targets(task, arms, LABELS)
    rows = []
    for row, arm in zip(table.rows, arms.values(), strict=True):
        test_error = np.mean([end("test_error")(run) for run in arm.runs.values()])
        rows.append([*row, f"{100 * test_error:.1f}%"])
    return Table(
        [*table.columns, "test error at the end"],
        rows,
        f"{table.caption} *: at the edge of the grid of learning rates.",
    )


def mnist_table(runs: ConvnetRuns, task: Any) -> Table:
    """Return a table of three networks on MNIST, at their best rates by error and by NLL.

    Args:
        runs: The recorded runs.
        task: Their comparison, ``lnlab.experiments.convnet.results.TASK``.
    """
    by_error, by_nll = (task.at_best_rates(runs.mnist, metric) for metric in task.scores)
    rows = []
    for row, name in zip(claims.targets(task, by_error, LABELS).rows, by_error, strict=True):
        errors = [100 * end("test_error")(run) for run in by_error[name].runs.values()]
        losses = [end("test_nll")(run) for run in by_nll[name].runs.values()]
        rate = f"{by_nll[name].rate:g}{'*' * by_nll[name].at_edge}"
        error, loss = _mean_and_range(errors, 1, "%"), _mean_and_range(losses, 3)
        rows.append([row[0], row[1], row[-1], error, rate, loss])
    return Table(
        [
            "Network",
            "Best learning rate by error",
            "Updates to 90% of the way",
            "Test error",
            "Best learning rate by NLL",
            "Test NLL",
        ],
        rows,
        "Results on MNIST, mean over seeds (lowest to highest). Rates are chosen on validation "
        "images. Updates are counted as above. *: at the edge of the grid of learning rates.",
        folded=True,
    )


def _mean_and_range(values: Sequence[float], digits: int, unit: str = "") -> str:
    """Return a mean and, in parentheses, the lowest and the highest value."""
    mean, low, high = (f"{f(values):.{digits}f}" for f in (np.mean, np.min, np.max))
    return f"{mean}{unit} ({low} to {high})"


def speed_claims(runs: ConvnetRuns) -> Table:
    """Return a table of the claims on training speed and on batch norm."""
    table = claims.table("convnet", runs.compared, "conv-speedup", "conv-batch")
    caption = (
        "The claims about speed and about batch norm, with the measurements behind their labels, "
        "each network at its best learning rate."
    )
    return Table(table.columns, table.rows, caption, folded=True)


def border_claims(runs: ConvnetRuns) -> Table:
    """Return a table of the claims on units at the border, in networks with layer norm."""
    return claims.table("convnet", runs.compared, "conv-border", "conv-statistics")
