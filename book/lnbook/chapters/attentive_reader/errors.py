"""Table of the errors of each network, and of rules that choose a name without reading."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.attentive_reader.curves import rule_errors
from lnbook.chapters.attentive_reader.runs import MAIN, AttentiveReaderRuns
from lnbook.figures.run_groups import LAYER
from lnbook.figures.table import Table


def errors(runs: AttentiveReaderRuns, kind: str = MAIN) -> Table:
    """Return a table of validation and test errors at the epoch with the lowest validation error.

    Args:
        runs: The recorded runs.
        kind: Which group of them, one of :attr:`AttentiveReaderRuns.GROUPS`.
    """
    rows = []
    for name, arm in runs.groups[kind].items():
        curves = [run["curves"] for run in arm.runs.values()]
        best = [int(np.nanargmin(runs.task.score(run))) for run in arm.runs.values()]
        val, test, epochs = (
            np.array([curve[key][point] for curve, point in zip(curves, best, strict=True)])
            for key in ("val_error", "test_error", "epoch")
        )
        spread = f" ({100 * val.min():.1f} to {100 * val.max():.1f})" if len(val) > 1 else ""
        rows.append([
            runs.STYLES[name][0],
            f"{arm.rate:g}",
            f"{100 * val.mean():.1f}{spread}",
            f"{100 * test.mean():.1f}",
            ", ".join(f"{epoch:.0f}" for epoch in epochs),
        ])  # fmt: skip
    val_errors, test_errors = (rule_errors(runs, split) for split in ("val", "test"))
    for rule, val_error in val_errors.items():
        rows.append([f"rule: {rule}", "–", f"{val_error:.1f}", f"{test_errors[rule]:.1f}", "–"])
    num_seeds = len(runs.groups[kind][LAYER].runs)
    return Table(
        ["Network or rule", "Learning rate", "Validation error (%)", "Test error (%)",
         "Epoch of each seed"],
        rows,
        f"Errors at the epoch with the lowest validation error, mean of {num_seeds} "
        f"seed{'s' * (num_seeds > 1)} (lowest to highest). The last four rows are rules that "
        "choose a name without reading.",
    )  # fmt: skip
