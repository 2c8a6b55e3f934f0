"""Foretell the neighbors: the paper's claims, judged seed by seed."""

from __future__ import annotations

from functools import partial

import numpy as np

from lnbook.foretell_the_neighbors.runs import MAIN, Runs
from lnbook.foretell_the_neighbors.tasks import SHORT
from lnbook.show import plots
from lnbook.show.arms import AGAINST, Cell
from lnbook.show.table import Table
from lnlib.claims.recurrent import SAME_TIME


def more(runs: Runs, kind: str, other: str, measure: str) -> np.ndarray:
    """Return what layer norm adds to a measure of the experiment's, by seed."""
    return runs.row(kind, other, measure).difference


def slower(runs: Runs, kind: str, other: str) -> np.ndarray:
    """Return by what share of the other's time an update takes longer with layer norm, by seed."""
    row = runs.row(kind, other, "milliseconds an update")
    return row.difference / row.none


def _loss(runs: Runs, kind: str, other: str) -> Cell:
    values = more(runs, kind, other, "loss, nats a word")
    return plots.difference(values, 3), plots.verdict(values)


def _task(runs: Runs, measure: str, other: str) -> Cell:
    values = more(runs, MAIN, other, measure)
    return plots.difference(values, 1), plots.verdict(-values)


def _time(runs: Runs, kind: str, other: str) -> Cell:
    values = 100 * slower(runs, kind, other)
    return plots.difference(values, 0, " %"), plots.verdict(np.abs(values) - 100 * SAME_TIME)


def speed(runs: Runs, kind: str = MAIN) -> Table:
    """Judge "speedup over the baseline", and "no significant difference" of an update's time."""
    sooner = partial(runs.sooner, kind)
    rows = runs.judged(kind, {
        "Fewer updates to the other's best loss": partial(sooner, axis="updates"),
        "Fewer seconds to it": partial(sooner, axis="seconds"),
        "A lower loss at its best, in nats": partial(_loss, runs, kind),
        f"As long an update, to {100 * SAME_TIME:.0f} %": partial(_time, runs, kind),
    })  # fmt: skip
    return Table(
        AGAINST,
        rows,
        f"All at their own best rates, {runs.seeds(kind)}. Best is the lowest loss on held-out "
        "chapters; time of an update: what layer norm adds, as a share.",
    )


def better(runs: Runs) -> Table:
    """Judge "better final results", task by task."""
    rows = runs.judged(
        MAIN, {f"Worth more on {name}": partial(_task, runs, name) for name in SHORT.values()}
    )
    return Table(
        AGAINST,
        rows,
        f"What layer norm adds at the end, in points, {runs.seeds(MAIN)}.",
    )


def hinges(runs: Runs) -> Table:
    """Put kinds of runs side by side: longer sentences, smaller batches."""
    return Table(
        ["Runs", "updates to no norm's best", "fewer?", "best loss, nats a word", "lower?"],
        runs.hinges(_loss),
        "Layer norm against no norm, from the same start weights: 32 sentences of at most 20 words "
        "as in the picture, and what else was recorded. Runs of 3,000, 600 and 1,000 updates.",
    )
