"""Table of the errors of each network, and of rules that choose a name without reading."""

from typing import Any

import numpy as np

from lnbook.chapters.attentive_reader.curves import rule_errors
from lnbook.chapters.attentive_reader.runs import MAIN, WITH_BATCH_NORM, AttentiveReaderRuns
from lnbook.figures.table import Table


def errors(runs: AttentiveReaderRuns, kind: str = MAIN) -> Table:
    """Return a table of validation and test errors at the epoch with the lowest validation error.

    Args:
        runs: The recorded runs.
        kind: Which group of them, one of :attr:`AttentiveReaderRuns.GROUPS`. The main group is
            followed by the networks that only the shorter runs have.
    """
    arms = dict(runs.groups[kind])
    if kind == MAIN:
        arms = {**runs.groups.get(WITH_BATCH_NORM, {}), **arms}
    rows = [_row(runs, name, arms[name]) for name in runs.STYLES if name in arms]
    val_errors, test_errors = (rule_errors(runs, split) for split in ("val", "test"))
    for rule, val_error in val_errors.items():
        rows.append([f"rule: {rule}", "–", f"{val_error:.1f}", f"{test_errors[rule]:.1f}", "–"])
    return Table(
        ["Network or rule", "Learning rate", "Validation error (%)", "Test error (%)",
         "Epoch of each seed"],
        rows,
        "Errors at the epoch with the lowest validation error, mean over the seeds (lowest to "
        "highest). The last four rows are rules that choose a name without reading.",
    )  # fmt: skip


def _row(runs: AttentiveReaderRuns, name: str, arm: Any) -> list[str]:
    curves = [run["curves"] for run in arm.runs.values()]
    best = [int(np.nanargmin(runs.task.score(run))) for run in arm.runs.values()]
    val, test, epochs = (
        np.array([curve[key][point] for curve, point in zip(curves, best, strict=True)])
        for key in ("val_error", "test_error", "epoch")
    )
    spread = f" ({100 * val.min():.1f} to {100 * val.max():.1f})" if len(val) > 1 else ""
    return [
        runs.STYLES[name][0],
        f"{arm.rate:g}",
        f"{100 * val.mean():.1f}{spread}",
        f"{100 * test.mean():.1f}",
        f"{', '.join(f'{epoch:.0f}' for epoch in epochs)} of {curves[0]['epoch'][-1]:g}",
    ]
