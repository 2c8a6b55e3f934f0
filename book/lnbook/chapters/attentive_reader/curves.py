"""The validation error during training, next to the errors of rules that do not read."""

import dataclasses
from collections.abc import Mapping

from lnbook.chapters.attentive_reader.runs import LAYER, MAIN, AttentiveReaderRuns
from lnbook.figures.learning_curves import LearningCurves

RANDOM, NOT_IN_QUESTION = "random name", "most frequent name not in the question"
#: Rules that choose a name of the passage without reading.
RULES = {
    "random": RANDOM,
    "last": "last name",
    "frequent": "most frequent name",
    "frequent_unasked": NOT_IN_QUESTION,
}


def rule_errors(
    runs: AttentiveReaderRuns, split: str = "val", kind: str = MAIN
) -> dict[str, float]:
    """Return the error of each rule that does not read, in percent."""
    curves = next(iter(runs.groups[kind][LAYER].runs.values()))["curves"]
    return {rule: 100 * curves[f"{split}_{name}_error"][0] for name, rule in RULES.items()}


def _levels(runs: AttentiveReaderRuns, kind: str) -> Mapping[str, float]:
    result = rule_errors(runs, kind=kind)
    return {RANDOM: result[RANDOM], "frequent name, not in question": result[NOT_IN_QUESTION]}


LEARNING_CURVES = LearningCurves(
    "error",
    "validation questions",
    "validation questions",
    unit="%",
    axis="error (%)",
    top=84,
    pad=3,
    difference_unit="points",
    lines="no norm dotted, no norm with tuned initialization dashed, batch norm in the LSTM "
    "solid, batch norm everywhere dashed, layer norm with gain 0.1 dashed, layer norm solid, and "
    "the levels of two rules that do not read",
    levels=_levels,
)
#: The curves alone, without a choice of the quantity.
ERRORS = dataclasses.replace(
    LEARNING_CURVES.curves.of(shown="loss"),
    alt="Validation error of each network over updates, each with a band over its seeds: "
    f"{LEARNING_CURVES.lines}.",
)
