"""Write a line: the paper's claim, judged seed by seed."""

from __future__ import annotations

from functools import partial

import numpy as np

from lnbook.show import plots
from lnbook.show.arms import AGAINST, LAYER, Cell
from lnbook.show.table import Table
from lnbook.write_a_line.runs import MAIN, Runs
from lnlib.claims.recurrent import SAME_LOSS

WINDOW = "val_new_window_off"


def more(runs: Runs, kind: str, other: str, name: str = "val_new_nll") -> np.ndarray:
    """Return what layer norm's measure is more than another arm's, by seed.

    Each run where its loss on new writers is lowest.
    """
    arms = runs.kinds[kind]
    own, others = (
        {seed: runs.judge.at_best(run, name) for seed, run in arms[arm].runs.items()}
        for arm in (LAYER, other)
    )
    return np.array([own[seed] - others[seed] for seed in own if seed in others])


def _lower(runs: Runs, kind: str, other: str, name: str = "val_new_nll") -> Cell:
    values = more(runs, kind, other, name)
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
        "… a lower one on test writers": partial(_lower, runs, kind, name="test_new_nll"),
        "Fewer updates to the other's best": partial(sooner, axis="updates"),
        "Fewer seconds to it": partial(sooner, axis="seconds"),
        "The window nearer its character": partial(_lower, runs, kind, name=WINDOW),
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
