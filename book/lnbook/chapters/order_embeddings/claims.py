"""Table 2 of the paper next to the recorded runs, and the updates to the targets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lnbook.figures import claims
from lnbook.figures.plots import NORMS as STYLES
from lnbook.figures.plots import difference
from lnbook.figures.table import Table
from lnlab.claims.numbers import PAPER_TABLE_2
from lnlab.claims.trained import NO_NORM
from lnlab.comparison import limits_name

EXPERIMENT = "order_embeddings"
_MEASURES = {f"recall_{k}": f"R@{k} (%)" for k in (1, 5, 10)} | {"mean_rank": "mean rank"}
# Table 2 of the paper: OE (ours), OE + LN.
PAPER = {
    f"{what} retrieval, {_MEASURES[name]}": tuple(map(float, values))
    for (what, name), values in PAPER_TABLE_2.items()
}
Record = Mapping[str, Any]


def table_2(rows: Sequence[Any], records: Sequence[Record]) -> Table:
    """Return table 2 of the recorded runs next to that of the paper, with a label per row.

    Args:
        rows: Rows from ``lnlab.experiments.order_embeddings.results.rows``.
        records: The records from which the rows were computed.
    """
    cells = []
    (claim,) = claims.evaluate_records(EXPERIMENT, records, "table-2")
    for row in rows:
        task, measure = row.name.removesuffix(" (%)").split(", ")
        (finding,) = claim.matching(f"{measure} of {task}")
        paper = PAPER[row.name]
        cells.append([
            row.name,
            f"{row.none.mean():.1f}",
            f"{row.layer.mean():.1f}",
            difference(row.difference, 1),
            claims.label(finding),
            f"{paper[0]}, {paper[1]}",
        ])  # fmt: skip
    count = len(rows[0].none)
    return Table(
        ["Test set", "No norm", "Layer norm", "Difference", "Layer norm is better",
         "Paper: no norm, layer norm"],
        cells,
        f"Test results at the point of best validation recall. Differences are means of {count} "
        f"pairs of runs with the same seed; in parentheses: {limits_name(count)}.",
    )  # fmt: skip


def updates(task: Any, best: Mapping[str, Any], same: Sequence[Mapping[str, Any]]) -> Table:
    """Return the updates to the targets at the best rates, and with both models at one rate.

    Args:
        task: The comparison, ``lnlab.experiments.order_embeddings.results.TASK``.
        best: Both models at their best learning rates.
        same: Both models at one learning rate, for each such rate.
    """
    arms = {(norm, arm.rate): arm for norm, arm in best.items()}
    arms |= {(norm, arm.rate): arm for arms_at_rate in same for norm, arm in arms_at_rate.items()}
    plain = {NO_NORM: best[NO_NORM]}  # defines the targets
    result = claims.targets(task, plain | arms, {name: "" for name in plain} | {
        (norm, rate): STYLES[norm][0] for norm, rate in arms
    })  # fmt: skip
    scores = [[-task.score(run).min() / 3 for run in arm.runs.values()] for arm in arms.values()]
    return Table(
        [*result.columns, "best score (%)"],
        [
            [*row, f"{np.mean(arm_scores):.1f}"]
            for row, arm_scores in zip(result.rows[1:], scores, strict=True)
        ],
        f"{result.caption} The first two rows are the models at their best learning rates.",
        folded=True,
    )
