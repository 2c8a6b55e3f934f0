"""The error while it falls, and what each network comes to by its rate."""

from __future__ import annotations

from collections.abc import Mapping

from lnbook.chapters.attentive_reader.runs import LAYER, MAIN, Runs
from lnbook.figures.learning_curves import Race

COUNTING = "… not in the question"
#: Who does not read, by how they choose among the names in the story.
UNREAD = {
    "random": "any name",
    "last": "the last name",
    "frequent": "the most frequent",
    "frequent_unasked": COUNTING,
}


def unread(runs: Runs, split: str = "val", kind: str = MAIN) -> dict[str, float]:
    """Return the errors of those who do not read, in percent, by what they take."""
    curves = next(iter(runs.kinds[kind][LAYER].runs.values()))["curves"]
    return {told: 100 * curves[f"{split}_{name}_error"][0] for name, told in UNREAD.items()}


def _levels(runs: Runs, kind: str) -> Mapping[str, float]:
    found = unread(runs, kind=kind)
    return {"any name": found["any name"], "by counting": found[COUNTING]}


RACE = Race(
    "error",
    "networks on validation",
    "networks on validation",
    unit="%",
    axis="% wrong",
    top=84,
    pad=3,
    apart="points",
    lines="no norm dotted, no norm from a tuned initialization dashed, batch norm in the LSTM "
    "solid, batch norm everywhere dashed, layer norm with gain 0.1 dashed, layer norm solid, and "
    "levels for those who do not read",
    levels=_levels,
)
CURVES, RATES, controls = RACE.curves, RACE.rates, RACE.controls
