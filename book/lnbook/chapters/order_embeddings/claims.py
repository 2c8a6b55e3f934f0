"""What the paper claims, and what pairs of runs come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lnbook.figures import claims
from lnbook.figures.plots import difference
from lnbook.figures.table import Table
from lnlab.claims.numbers import PAPER_TABLE_2
from lnlab.comparison import limits_name

EXPERIMENT = "order_embeddings"
_MEASURES = {f"recall_{k}": f"R@{k} (%)" for k in (1, 5, 10)} | {"mean_rank": "mean rank"}
# Table 2 of the paper: OE (ours), OE + LN.
PAPER = {
    f"{what} retrieval, {_MEASURES[name]}": tuple(map(float, told))
    for (what, name), told in PAPER_TABLE_2.items()
}
Record = Mapping[str, Any]


def speed(records: Sequence[Record]) -> Table:
    """Say whether layer norm needs fewer updates, to the targets and to its own best."""
    return claims.table(EXPERIMENT, records, "recall-speedup", "sixty-percent")


def table_2(rows: Sequence[Any], records: Sequence[Record]) -> Table:
    """Put Table 2 of the paper beside ours, with the label of each row.

    Args:
        rows: As ``lnlab.experiments.order_embeddings.results.rows`` returns them.
        records: From which they are.
    """
    written = []
    (claim,) = claims.weighed(EXPERIMENT, records, "table-2")
    for row, finding in zip(rows, claim.counting, strict=True):
        paper = PAPER[row.name]
        written.append([
            row.name,
            f"{row.none.mean():.1f}",
            f"{row.layer.mean():.1f}",
            difference(row.difference, 1),
            claims.label(finding),
            f"{paper[0]}, {paper[1]}",
        ])  # fmt: skip
    count = len(rows[0].none)
    return Table(
        ["Test pictures", "No norm", "Layer norm", "Difference", "Layer norm is better",
         "Paper’s, without and with"],
        written,
        f"Where validation was best; mean difference of {count} pairs of runs, in brackets "
        f"{limits_name(count)}.",
    )  # fmt: skip
