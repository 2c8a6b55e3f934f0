"""Paint a digit: the paper's claim, judged seed by seed."""

from __future__ import annotations

from functools import partial

import numpy as np

from lnbook.paint_a_digit.runs import MAIN, Runs
from lnbook.show import plots
from lnbook.show.arms import AGAINST, Cell
from lnbook.show.table import Table
from lnlib.claims.recurrent import ALMOST_TWICE


def less(runs: Runs, kind: str, other: str) -> np.ndarray:
    """Return layer norm's bound of all test images at the end less the other's, by seed."""
    return runs.row(kind, other, "of all test images at the end").difference


def _end(runs: Runs, kind: str, other: str) -> Cell:
    values = less(runs, kind, other)
    return plots.difference(values), plots.verdict(values)


def claims(runs: Runs, kind: str = MAIN) -> Table:
    """Judge what the paper says of DRAW, against no norm and against a chosen start."""
    most, sooner = ALMOST_TWICE, partial(runs.sooner, kind)
    rows = runs.judged(kind, {
        "Fewer updates to the other's best bound": partial(sooner, axis="updates"),
        f"… almost twice as fast (at most {100 * most:.0f} % of them)":
            partial(sooner, axis="updates", most=most),
        "Fewer seconds to it": partial(sooner, axis="seconds"),
        "A lower bound at the end, in nats": partial(_end, runs, kind),
    })  # fmt: skip
    return Table(
        AGAINST,
        rows,
        f"All at their own best rates, {runs.seeds(kind)}. Best is the lowest bound on "
        "validation, the end that of all test images.",
    )


def hinges(runs: Runs) -> Table:
    """Put kinds of runs side by side: a longer sequence, a smaller batch."""
    return Table(
        ["Runs", "updates to no norm's best", "fewer?", "bound at the end, nats", "lower?"],
        runs.hinges(_end),
        "Layer norm against no norm, from the same start weights: 8 glimpses and batches of 64 as "
        "in the picture, and what else was recorded.",
    )
