"""Watch the border: which norm does best, from the records that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lnbook.show import plots
from lnbook.show.table import Table
from lnbook.watch_the_border.runs import Runs
from lnlib.compare import bounds_name

MISSING = "not yet recorded"
#: From an arm of ``lnlib.experiments.convnet`` to what the table calls it.
NAMES = {
    "none": "no norm",
    "none, chosen start": "no norm, He’s start",
    "batch": "batch norm",
    "layer": "layer norm, over channels and places",
    "channel": "layer norm, over the channels of a place",
    "group": "group norm",
    "instance": "instance norm",
}
COLUMNS = ["Network", "Rate", "Test error", "Updates to no norm’s best", "sooner?",
           "Batch norm is better by", "better?"]  # fmt: skip
SEEDS = 2  # of each arm, at least, to compare any


def complete(runs: Runs, judge: Any) -> dict[str, Any]:
    """Return every arm at its best rate; nothing while one has too few seeds.

    An arm's best rate may be among those that are missing.
    """
    every = judge.at_best_rates(runs.compared)
    found = {name: arm for name, arm in every.items() if len(arm.runs) >= SEEDS}
    return found if set(found) == set(NAMES) else {}


def norms(runs: Runs, judge: Any) -> Table:
    """Judge both claims on training: a speedup over no norm, and batch norm ahead of the others.

    Args:
        runs: What is recorded.
        judge: Compares them, ``lnlib.experiments.convnet.results.TASK``.
    """
    found = complete(runs, judge)
    rows = [[name, *_row(found, arm, judge)] for arm, name in NAMES.items()]
    return Table(
        COLUMNS,
        rows,
        "Each network at its own best rate on validation (*: the lowest or highest tried). "
        "Updates: share of no norm's own, seed by seed. Better: test error, in points, mean and "
        f"in brackets {_bounds(found)}.",
    )


def _bounds(found: dict[str, Any]) -> str:
    """Name what brackets hold, by the pairs of seeds with batch norm."""
    batch = found["batch"].runs.keys() if found else {}
    counts = [len(batch & arm.runs.keys()) for name, arm in found.items() if name != "batch"]
    return " or ".join(dict.fromkeys(map(bounds_name, counts))) or bounds_name(SEEDS)


def _row(found: dict[str, Any], name: str, judge: Any) -> list[str]:
    if name not in found:
        return [MISSING, "–", "–", "–", "–", "–"]
    arm, none, batch = found[name], found["none"], found["batch"]
    errors = 100 * np.array([judge.at_best(run, "test_error") for run in arm.runs.values()])
    row = [f"{arm.rate:g}{'*' * arm.at_edge}", f"{errors.mean():.1f} %"]
    if name == "none":
        row += ["–", "–"]
    else:
        shares = judge.race(none, arm)
        row += [plots.shares(shares), plots.verdict(shares - 1)]
    if name == "batch":
        return [*row, "–", "–"]
    more = judge.rows(batch, arm)[0].difference  # of the test errors, in points
    return [*row, plots.difference(more), plots.verdict(-more)]
