"""Tables of the paper's claims about an experiment, with what its records show.

All findings and labels are those of :mod:`lnlab.claims`, as the page on every claim has them.
"""

from __future__ import annotations

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
    """Evaluate the claims that an experiment decides; only those of the names, if any."""
    about = [claim for claim in claims.about(experiment) if not names or claim.name in names]
    return claims.evaluate(Records.from_runs(experiment, records), about)


@functools.cache
def page() -> dict[str, ClaimResult]:
    """Return all claims by the book's records, by name; they are weighed once in a process.

    Labels of ten seeds or more are corrected for all comparisons of the page on every claim.
    """
    return {result.claim.name: result for result in claims.evaluate()}


def findings(results: Sequence[ClaimResult], caption: str) -> Table:
    """Return a row a claim, with its label and what was run, and below it what was measured."""
    rows = []
    for result in results:
        rows.append([result.claim.statement, result.evidence, badge(result.label)])
        rows += [_row(f"– {finding.what}", finding) for finding in result.counting]
    columns = ["Claim and measurements", "Runs and mean difference", "Label"]
    return Table(columns, rows, caption)


def table(experiment: str, records: Sequence[Record], *names: str) -> Table:
    """Return :func:`findings` on an experiment, by some of its records."""
    results = evaluate_records(experiment, records, *names)
    ranges = [text for result in results if " to " in (text := result.label.text)]
    return findings(
        results,
        "The paper's claims, each with the measurements behind its label. Every network was "
        "trained at the best of the learning rates that were tried. With fewer than ten seeds the "
        "label is a count and not a test."
        + (
            f" A label such as '{ranges[0]}' gives the lowest and the highest count among the "
            "measurements."
            if ranges
            else ""
        ),
    )


def targets(task: Any, arms: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """Return how many updates each arm needs to reach the three targets.

    Args:
        task: Compares the runs.
        arms: At their best rates, that without norm among them.
        names: What the table calls them.
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
    """Write numbers of updates, one a seed: mean and ends; infinite where a target was missed."""
    if np.isinf(steps).any():
        return f"never in {np.isinf(steps).sum()} of {len(steps)} seeds"
    return f"{steps.mean():,.0f} ({steps.min():,.0f} to {steps.max():,.0f})"
