"""Fill in the name: the paper's claims, judged seed by seed, and what each network comes to."""

from __future__ import annotations

import numpy as np

from lnbook.fill_in_the_name.curves import unread
from lnbook.fill_in_the_name.runs import MAIN, Runs
from lnbook.show import plots
from lnbook.show.arms import LAYER, Cell
from lnbook.show.table import Table


def more(runs: Runs, kind: str, other: str) -> np.ndarray:
    """Return by how many points layer norm's error is more than another arm's, by seed.

    Each run where its error on validation is lowest.
    """
    return runs.row(kind, other, "error on validation, %").difference


def _lower(runs: Runs, kind: str, other: str) -> Cell:
    values = more(runs, kind, other)
    return plots.difference(values, 1), plots.verdict(values)


def claims(runs: Runs, kind: str = MAIN) -> Table:
    """Judge "trains faster" and "a better validation result", against each other network."""
    rows = [
        [runs.LOOKS[other][0], *_lower(runs, kind, other), *runs.sooner(kind, other, "updates"),
         *runs.sooner(kind, other, "seconds")]
        for other in runs.others(kind)
    ]  # fmt: skip
    return Table(
        ["Layer norm against", "a lower error, points", "verdict", "fewer updates to its best",
         "verdict there", "fewer seconds", "and there"],
        rows,
        f"All at their own best rates, {runs.seeds(kind)}. Layer norm's lowest error on validation "
        "less the other's; and its updates and seconds to the other's lowest, in percent of the "
        "other's.",
    )  # fmt: skip


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


def hinges(runs: Runs) -> Table:
    """Put kinds of runs side by side: smaller batches, two passages, short ones in training."""
    return Table(
        ["Runs", "updates to no norm's best", "fewer?", "error, points", "lower?"],
        runs.hinges(_lower),
        "Layer norm against no norm, from the same start weights: one story, batches of 32 as in "
        "the picture, and what else was recorded.",
    )
