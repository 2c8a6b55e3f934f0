"""Paint a digit: the paper's claim, judged seed by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lnbook.paint_a_digit.runs import CHOSEN, KINDS, LAYER, MAIN, MISSING, PLAIN, Runs
from lnbook.show import plots
from lnbook.show.table import Table
from lnlib import compare
from lnlib.claims.recurrent import ALMOST_TWICE

Cell = tuple[str, str]  # what was measured, and the verdict


def less(runs: Runs, kind: str, other: str) -> np.ndarray:
    """Return layer norm's bound of all test images at the end less the other's, by seed."""
    arms = runs.kinds[kind]
    return runs.judge.rows(arms[other], arms[LAYER])[-1].difference


def shares(runs: Runs, kind: str, other: str, axis: str) -> np.ndarray:
    """Return what layer norm needs to be as good as the other at its best, by seed.

    As a share of the other's own updates or seconds; infinite where it never is.
    """
    return runs.judge.race(runs.kinds[kind][other], runs.kinds[kind][LAYER], axis)


def _end(runs: Runs, kind: str, other: str) -> Cell:
    values = less(runs, kind, other)
    return plots.difference(values), plots.verdict(values)


def _race(axis: str, most: float = 1.0) -> Callable[[Runs, str, str], Cell]:
    def judged(runs: Runs, kind: str, other: str) -> Cell:
        values = shares(runs, kind, other, axis)
        return plots.shares(values), plots.verdict(values / most - 1)

    return judged


def claims(runs: Runs, kind: str = MAIN) -> Table:
    """Judge what the paper says of DRAW, against no norm and against a chosen start."""
    most = ALMOST_TWICE
    told: dict[str, Callable[[Runs, str, str], Cell]] = {
        "Fewer updates to the other's best bound": _race("updates"),
        f"… almost twice as fast (at most {100 * most:.0f} % of them)": _race("updates", most),
        "Fewer seconds to it": _race("seconds"),
        "A lower bound at the end, in nats": _end,
    }
    others = [other for other in (PLAIN, CHOSEN) if other in runs.kinds.get(kind, {})]
    rows = [
        [claim, *(text for other in (PLAIN, CHOSEN) for text in
                  (judge(runs, kind, other) if other in others else (MISSING, "–")))]
        for claim, judge in told.items()
    ]  # fmt: skip
    return Table(
        ["Layer norm", "against no norm", "verdict", "against a chosen start", "verdict there"],
        rows,
        f"All at their own best rates, {_seeds(runs, kind)}. Best is the lowest bound on "
        "validation, the end that of all test images.",
    )


def _seeds(runs: Runs, kind: str) -> str:
    count = len(runs.kinds[kind][LAYER].runs)
    if count == 1:
        return "of one seed, which decides nothing"
    return f"seed by seed; at the end their mean and, in brackets, {compare.bounds_name(count)}"


def hinges(runs: Runs) -> Table:
    """Put kinds of runs side by side: a longer sequence, a smaller batch."""
    rows: list[list[Any]] = []
    for kind in KINDS:
        if kind not in runs.kinds:
            rows.append([kind, MISSING, "–", MISSING, "–"])
            continue
        updates, end = _race("updates")(runs, kind, PLAIN), _end(runs, kind, PLAIN)
        rows.append([kind, *updates, *end])
    return Table(
        ["Runs", "updates to no norm's best", "fewer?", "bound at the end, nats", "lower?"],
        rows,
        "Layer norm against no norm, from the same start weights: 8 glimpses and batches of 64 as "
        "in the picture, and what else was recorded.",
    )
