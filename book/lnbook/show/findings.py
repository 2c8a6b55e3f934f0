"""What the page of claims has found, as a table for a chapter: the same findings and labels."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from lnbook.show.table import Table, badge
from lnlib import claims
from lnlib.claims import Weighed


@functools.cache
def weighed() -> dict[str, Weighed]:
    """Return all claims by the book's records, by name; they are weighed once in a process."""
    return {one.claim.name: one for one in claims.weigh()}


def findings(of: Sequence[Weighed], caption: str) -> Table:
    """Tabulate claims, each with its label, and below it the findings on which the label rests.

    Args:
        of: As :func:`weighed` has them, so that p values are corrected for the whole page.
        caption: What the table shows, in one sentence.
    """
    rows = []
    for one in of:
        rows.append([one.claim.says, one.evidence, badge(one.label)])
        rows += [
            [f"– {finding.what}", claims.interval(finding), badge(finding.label)]
            for finding in one.counting
        ]
    return Table(
        ["Claim, and what was measured", "Runs, and mean difference", "Label"], rows, caption
    )
