"""Tables of the paper's claims about an experiment, with the results of its records.

All findings and labels are those of :mod:`lnlab.claims`, as on the page about all claims.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lnbook.figures.table import Table, badge
from lnlab import claims
from lnlab.claims import ClaimResult, Finding, Records
from lnlab.claims.trained import NO_NORM, TARGETS
from lnlab.comparison import Evidence

Record = Mapping[str, Any]


def evaluate_records(experiment: str, records: Sequence[Record], *names: str) -> list[ClaimResult]:
    """Evaluate the claims about an experiment, or only those with the given names."""
    about = [claim for claim in claims.about(experiment) if not names or claim.name in names]
    return claims.evaluate(Records.from_runs(experiment, records), about)


@functools.cache
def page() -> dict[str, ClaimResult]:
    """Return all claims on the book's records, by name; evaluated once per process.

    With ten seeds or more, labels are corrected for all comparisons of the page about all claims.
    """
    return {result.claim.name: result for result in claims.evaluate()}


def findings(results: Sequence[ClaimResult], caption: str) -> Table:
    """Return a table with a row per claim (label and runs), followed by its measurements."""
    rows = []
    for result in results:
        rows.append([result.claim.statement, result.evidence, badge(result.label)])
        rows += [_row(f"– {finding.description}", finding) for finding in result.counting]
    columns = ["Claim and measurements", "Runs and mean difference", "Label"]
    return Table(columns, rows, caption)


def table(experiment: str, records: Sequence[Record], *names: str) -> Table:
    """Return :func:`findings` for an experiment and some of its records."""
    results = evaluate_records(experiment, records, *names)
    ranges = [text for result in results if " to " in (text := result.label.text)]
    counting = [finding for result in results for finding in result.counting]
    shared_rate = any("both at rate" in finding.description for finding in counting)
    return findings(
        results,
        "The paper's claims, each with the measurements behind its label. Every network was "
        "trained at the best of the learning rates that were tried"
        + ", unless a row names the rate of both" * shared_rate
        + ". With fewer than ten seeds the label is a count and not a test."
        + (
            f" A label such as '{ranges[0]}' gives the lowest and the highest count among the "
            "measurements."
            if ranges
            else ""
        ),
    )


def targets(task: Any, arms: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """Return a table of the number of updates that each arm needs to reach the three targets.

    Args:
        task: The comparison of the runs.
        arms: The arms at their best learning rates, including the one without normalization.
        names: Maps each arm to its name in the table.
    """
    plain = arms[NO_NORM]
    rows = [
        [names[arm], f"{best_arm.rate:g}{'*' * best_arm.at_edge}",
         *map(_updates, task.steps_to_targets(plain, best_arm))]
        for arm, best_arm in arms.items()
    ]  # fmt: skip
    first = task.updates(next(iter(plain.runs.values())))[1:5]
    return Table(
        ["Network", "Learning rate", *(f"to {part:.0%} of the way" for part in TARGETS)],
        rows,
        f"Updates until the {task.score_name} has covered 50, 75, and 90% of the way from the "
        "initial value without normalization to the level where it plateaus: mean over seeds "
        "(lowest to highest). The first measurements are after "
        f"{', '.join(f'{at:,.0f}' for at in first[:-1])}, and {first[-1]:,.0f} updates; values "
        "between measurements are interpolated linearly.",
    )


def label(finding: Finding) -> str:
    """Return the badge of a finding; one that enters no label was not tested, and has no verdict.

    Example:
        >>> import numpy as np
        >>> label(Finding("test error", np.array([-1.0, -2.0, 1.5]), "points"))
        '2 of 3 seeds'
    """
    has_label = finding.counts or finding.label.evidence is not Evidence.MANY
    return badge(finding.label) if has_label else "not tested"


def _row(what: str, finding: Finding) -> list[str]:
    return [what, claims.interval(finding), label(finding)]


def _updates(steps: np.ndarray) -> str:
    """Format numbers of updates, one per seed: mean and range; infinite if a target was missed."""
    if np.isinf(steps).any():
        return f"never in {np.isinf(steps).sum()} of {len(steps)} seeds"
    return f"{steps.mean():,.0f} ({steps.min():,.0f} to {steps.max():,.0f})"
