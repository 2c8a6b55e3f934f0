"""The lowest validation error of each network, and the errors of rules that do not read."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.attentive_reader.curves import rule_errors
from lnbook.chapters.attentive_reader.runs import MAIN, Runs
from lnbook.figures.run_groups import LAYER
from lnbook.figures.table import Table


def errors(runs: Runs, kind: str = MAIN) -> Table:
    """Return a table of errors on validation and test data, of networks and rules."""
    rows = []
    for name, arm in runs.kinds[kind].items():
        best = [int(np.nanargmin(runs.judge.score(run))) for run in arm.runs.values()]
        val, test = (
            np.array([100 * run["curves"][f"{split}_error"][k]
                      for k, run in zip(best, arm.runs.values(), strict=True)])
            for split in ("val", "test")
        )  # fmt: skip
        epochs = [run["curves"]["epoch"][k] for k, run in zip(best, arm.runs.values(), strict=True)]
        spread = f" ({val.min():.1f} to {val.max():.1f})" if len(val) > 1 else ""
        rows.append([
            runs.STYLES[name][0], f"{arm.rate:g}", f"{val.mean():.1f}{spread}",
            f"{test.mean():.1f}", ", ".join(f"{epoch:.0f}" for epoch in epochs),
        ])  # fmt: skip
    val, test = (rule_errors(runs, split) for split in ("val", "test"))
    rows += [[f"rule: {rule}", "–", f"{val[rule]:.1f}", f"{test[rule]:.1f}", "–"] for rule in val]
    count = len(runs.kinds[kind][LAYER].runs)
    return Table(
        ["Network or rule", "Learning rate", "Validation error (%)", "Test error (%)",
         "Epoch of each seed"],
        rows,
        f"Errors at the epoch with the lowest validation error, mean of {count} "
        f"seed{'s' * (count > 1)} (lowest to highest). The last four rows are rules that choose a "
        "name without reading.",
    )  # fmt: skip
