"""Write a line: the paper's claim, judged seed by seed."""

from __future__ import annotations

from functools import partial

import numpy as np

from lnbook.show import plots
from lnbook.show.arms import AGAINST, Cell
from lnbook.show.table import Table
from lnbook.write_a_line.runs import MAIN, Runs
from lnlib.claims.recurrent import SAME_LOSS

LOSS, WINDOW = "lines of new writers, nats", "lines of new writers, characters and filling"


def more(runs: Runs, kind: str, other: str, measure: str = LOSS) -> np.ndarray:
    """Return what layer norm's measure is more than another arm's, by seed.

    Each run where its loss on new writers is lowest.
    """
    return runs.row(kind, other, measure).difference


def _lower(runs: Runs, kind: str, other: str, measure: str = LOSS) -> Cell:
    values = more(runs, kind, other, measure)
    return plots.difference(values), plots.verdict(values)


def _alike(runs: Runs, kind: str, other: str) -> Cell:
    values = more(runs, kind, other)
    return plots.difference(values), plots.verdict(np.abs(values) - SAME_LOSS)


def claims(runs: Runs, kind: str = MAIN) -> Table:
    """Judge what the paper says of handwriting, against no norm and against a chosen start."""
    sooner = partial(runs.sooner, kind)
    rows = runs.judged(kind, {
        f"A comparable loss (within {SAME_LOSS:g} nats)": partial(_alike, runs, kind),
        "… a lower one": partial(_lower, runs, kind),
        "… a lower one on test writers": partial(_lower, runs, kind, measure=f"test {LOSS}"),
        "Fewer updates to the other's best": partial(sooner, axis="updates"),
        "Fewer seconds to it": partial(sooner, axis="seconds"),
        "The window nearer its character": partial(_lower, runs, kind, measure=WINDOW),
    })  # fmt: skip
    return Table(
        AGAINST,
        rows,
        f"All at their own best rates, {runs.seeds(kind)}. Each run where its loss on new writers "
        "is lowest, in nats a point; the window's distance in characters.",
    )


def hinges(runs: Runs) -> Table:
    """Put kinds of runs side by side: whole lines, a smaller batch, no constant."""
    return Table(
        ["Runs", "updates to no norm's best", "fewer?", "loss on new writers, nats", "lower?"],
        runs.hinges(_lower),
        "Layer norm against no norm, from the same start weights: pieces of up to 300 points and "
        "batches of 8 as in the picture, and what else was recorded.",
    )
