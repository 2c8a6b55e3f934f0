"""The comparison on each set of lines: new writers, known writers, and training data."""

import numpy as np

from lnbook.chapters.handwriting.runs import MAIN, HandwritingRuns
from lnbook.figures.run_groups import LAYER, NO_NORM
from lnbook.figures.table import Table
from lnlab.claims import Finding
from lnlab.experiments._arms import paired
from lnlab.experiments._curves import TARGETS, end_value


def splits(runs: HandwritingRuns) -> Table:
    """Return the updates of layer norm relative to no norm, and the difference at the end.

    Learning rates are chosen by the loss of each row.
    """
    task, findings = runs.task, runs.claim_results(MAIN)["pen-faster"].findings
    rows = []
    for metric, score in task.scores.items():
        arms = task.at_best_rates(runs.records_by_group[MAIN], metric)
        ends = paired(arms[LAYER], arms[NO_NORM], lambda run, score=score: end_value(score(run)))
        text = f"{metric}, layer norm versus no norm"
        found = [one for one in findings if one.description.endswith(text)]
        shares = [str(found[0].label), "–", "–"] if found[0].untestable else map(_percent, found)
        rows.append([metric, *shares, _difference(ends[0] - ends[1])])
    seeds = len(ends[0])
    return Table(
        ["Loss", *(f"to {target:.0%} of the way" for target in TARGETS), "At the end (nats)"],
        rows,
        "Updates that layer norm needs to each target, in percent of those without normalization: "
        f"mean over {seeds} seeds, and in parentheses the number of seeds in which they are fewer. "
        "Last column: layer norm minus no normalization, mean (lowest to highest), below 0 "
        "where layer norm ends lower. All rows count for the label of the claim.",
    )


def _percent(finding: Finding) -> str:
    d = finding.differences
    return f"{100 * (1 + d.mean()):.0f}% ({int((d < 0).sum())} of {len(d)})"


def _difference(values: np.ndarray) -> str:
    numbers = (values.mean(), values.min(), values.max())
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(*numbers).replace("-", "−")
