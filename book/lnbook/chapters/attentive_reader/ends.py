"""What each network comes to, and those who do not read."""

from __future__ import annotations

import numpy as np

from lnbook.chapters.attentive_reader.curves import unread
from lnbook.chapters.attentive_reader.runs import MAIN, Runs
from lnbook.figures.run_groups import LAYER
from lnbook.figures.table import Table


def ends(runs: Runs, kind: str = MAIN) -> Table:
    """Say what each network comes to, and those who do not read."""
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
            runs.LOOKS[name][0], f"{arm.rate:g}", f"{val.mean():.1f}{spread}", f"{test.mean():.1f}",
            ", ".join(f"{epoch:.0f}" for epoch in epochs),
        ])  # fmt: skip
    val, test = (unread(runs, split) for split in ("val", "test"))
    rows += [[told, "–", f"{val[told]:.1f}", f"{test[told]:.1f}", "–"] for told in val]
    count = len(runs.kinds[kind][LAYER].runs)
    return Table(
        ["Who answers", "rate", "% wrong on validation", "% wrong on test", "after epochs"],
        rows,
        f"Where the error on validation is lowest, mean of {count} seed{'s' * (count > 1)} (lowest "
        "to highest). The last four do not read: they take a name of the story by a rule.",
    )
