"""Records as a table: a row for each kind of run, over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lnlab.experiment import Experiment


def table(
    records: Sequence[dict[str, Any]], by: Sequence[str], measures: Sequence[str]
) -> list[dict[str, Any]]:
    """Return how runs end: for each kind, how many seeds it has and what they measure.

    Args:
        records: As :func:`lnlab.records.read_all` returns them.
        by: Settings that make runs of one kind; a record without one has ``None`` there.
        measures: Names of curves.

    Returns:
        Rows in the order in which their kinds come first, with the settings ``by``, ``seeds`` and,
        for each measure, ``(mean, lowest, highest)`` at the last point.

    Raises:
        ValueError: If a kind has two runs of one seed: then ``by`` lacks what sets them apart.
    """
    kinds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in records:
        kinds.setdefault(tuple(str(one["settings"].get(name)) for name in by), []).append(one)
    rows = []
    for kind, runs in kinds.items():
        seeds = [run["seed"] for run in runs]
        if len(set(seeds)) < len(seeds):
            raise ValueError(
                f"table: runs of one kind must differ in the seed, got {', '.join(kind)} with "
                f"seeds {sorted(seeds)}; name in `by` what else differs"
            )
        row = {name: runs[0]["settings"].get(name) for name in by} | {"seeds": len(seeds)}
        for name in measures:
            ends = np.array([run["curves"][name][-1] for run in runs], float)
            row[name] = (float(ends.mean()), float(ends.min()), float(ends.max()))
        rows.append(row)
    return rows


def text(experiment: Experiment, records: Sequence[dict[str, Any]]) -> str:
    """Return what records come to, as the experiment tells it: by default a row for each kind.

    Args:
        experiment: Whose records they are.
        records: As :func:`lnlab.records.read_all` returns them, at least one.
    """
    if experiment.table is not None:
        return experiment.table(records)
    # A setting that came later is not in older records.
    names = dict.fromkeys(name for run in records for name in run["settings"])
    by = [n for n in names if len({str(run["settings"].get(n)) for run in records}) > 1]
    head, unit = experiment.primary_metric, experiment.unit(experiment.primary_metric)
    titles = [*by, "seeds", f"{head} ({unit})", "lowest to highest"]
    lines = [titles] + [
        [*(str(row[n]) for n in by), str(row["seeds"]), f"{mean:.4g}", f"{low:.4g} to {high:.4g}"]
        for row in table(records, by, [head])
        for mean, low, high in [row[head]]
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)
