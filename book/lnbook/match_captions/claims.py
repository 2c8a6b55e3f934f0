"""Match captions to pictures: what the paper claims, and what five pairs of runs say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lnbook.match_captions.runs import NORMS, Runs
from lnbook.show.plots import verdict
from lnbook.show.table import Table
from lnlib.claims.numbers import PAPER_TABLE_2
from lnlib.compare import bounds, bounds_name

POINTS = (76, 305, 1525)  # updates at which both are compared
_MEASURES = {f"recall_{k}": f"R@{k} (%)" for k in (1, 5, 10)} | {"mean_rank": "mean rank"}
# Table 2 of the paper: OE (ours), OE + LN.
PAPER = {
    f"{what} retrieval, {_MEASURES[name]}": tuple(map(float, told))
    for (what, name), told in PAPER_TABLE_2.items()
}
NEVER = "never"


def _signed(value: float, unit: str) -> str:
    if np.isinf(value):
        return NEVER
    text = f"{value:+,.0f}" if unit in ("updates", "s") else f"{value:+.1f}"
    return text.replace("-", "−")


def _row(claim: str, differences: np.ndarray, unit: str, better: int) -> list[str]:
    """Write a row: a claim, what layer norm adds seed by seed, whether that is better."""
    low, high = (_signed(v, unit) for v in bounds(differences))
    known = differences[np.isfinite(differences)]
    mean = f"{_signed(known.mean(), unit)}\u00a0{unit}" if len(known) else NEVER
    if len(known) and (lost := len(differences) - len(known)):
        mean += f" in {len(known)} pair{'s' * (len(known) > 1)}, {NEVER} in {lost}"
    return [claim, mean, f"{low} to\u00a0{high}", verdict(-better * differences)]


def speed(runs: Runs, race: Any) -> Table:
    """Judge whether layer norm is faster.

    Args:
        runs: The recorded runs.
        race: As ``lnlib.experiments.order_embeddings.results.race`` returns it.
    """
    score = {norm: runs.score(runs.best(norm)) for norm in NORMS}
    rows = []
    for updates in POINTS:
        (k,) = np.flatnonzero(runs.updates == updates)
        ahead = score["layer"][:, k] - score["none"][:, k]
        rows.append(_row(f"Ahead after {updates:,} updates", ahead, "points", 1))
    fewer = "Fewer updates to the best of no norm"
    rows.append(_row(fewer, race.layer_there - race.none_best, "updates", -1))
    own = race.layer_best - race.none_best
    rows.append(_row("Fewer updates to its own best", own, "updates", -1))
    seconds = runs.pace("layer") * race.layer_best - runs.pace("none") * race.none_best
    rows.append(_row("Fewer seconds to its own best", seconds, "s", -1))
    return Table(
        ["Layer norm is", "Difference", bounds_name(len(own)).capitalize(), "Verdict"],
        rows,
        f"Each norm at its own best rate, {len(own)} pairs of runs of one seed. Ahead: the mean of "
        "R@1, R@5 and R@10 of images on validation. Seconds: by the pace of the fastest run.",
    )


def table_2(rows: Sequence[Any]) -> Table:
    """Put Table 2 of the paper beside ours.

    Args:
        rows: As ``lnlib.experiments.order_embeddings.results.rows`` returns them.
    """
    written = []
    for row in rows:
        low, high = (_signed(v, "") for v in bounds(row.difference))
        paper = PAPER[row.name]
        written.append([
            row.name,
            f"{row.none.mean():.1f}",
            f"{row.layer.mean():.1f}",
            f"{_signed(row.difference.mean(), '')} [{low},\u00a0{high}]",
            verdict(-row.better * row.difference),
            f"{paper[0]}, {paper[1]}",
        ])  # fmt: skip
    return Table(
        ["Test pictures", "No norm", "Layer norm", "Difference", "Layer norm is better",
         "Paper’s, without and with"],
        written,
        f"Where validation was best; mean difference of {len(rows[0].none)} pairs of runs, in "
        f"brackets {bounds_name(len(rows[0].none))}.",
    )  # fmt: skip
