"""Tables of records: one row per group of runs that differ only in the seed."""

import pkgutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from lnlab.experiment import Experiment


def table(
    records: Sequence[dict[str, Any]], group_by: Sequence[str], measures: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the final values of runs, grouped by settings.

    Args:
        records: Records, as :func:`lnlab.records.read_all` returns them.
        group_by: Settings to group by; a record that lacks one has ``None`` there.
        measures: Names of curves.

    Returns:
        One row per group, in order of first occurrence, with the settings ``group_by``, the number
        of ``seeds`` and, for each measure, ``(mean, lowest, highest)`` at the last point.

    Raises:
        ValueError: If a group has two runs with the same seed: then ``group_by`` lacks a setting
            in which they differ.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in records:
        groups.setdefault(tuple(str(run["settings"].get(name)) for name in group_by), []).append(
            run
        )
    rows = []
    for group, runs in groups.items():
        seeds = [run["seed"] for run in runs]
        if len(set(seeds)) < len(seeds):
            raise ValueError(
                f"table: runs of a group must have different seeds, got {', '.join(group)} with "
                f"seeds {sorted(seeds)}; add the setting in which they differ to `group_by`"
            )
        row = {name: runs[0]["settings"].get(name) for name in group_by} | {"seeds": len(seeds)}
        for name in measures:
            ends = np.array([run["curves"][name][-1] for run in runs], float)
            row[name] = (float(ends.mean()), float(ends.min()), float(ends.max()))
        rows.append(row)
    return rows


def text(experiment: Experiment, records: Sequence[dict[str, Any]]) -> str:
    """Return the summary of an experiment's records, by default a table of the primary metric.

    Args:
        experiment: The experiment.
        records: Its records, as :func:`lnlab.records.read_all` returns them; at least one.
    """
    if experiment.table is not None:
        return pkgutil.resolve_name(experiment.table)(records)
    # Older records lack settings that were added later.
    names = dict.fromkeys(name for run in records for name in run["settings"])
    varying = [n for n in names if len({str(run["settings"].get(n)) for run in records}) > 1]
    metric, unit = experiment.primary_metric, experiment.unit(experiment.primary_metric)
    titles = [*varying, "seeds", f"{metric} ({unit})", "lowest to highest"]
    lines = [titles] + [
        [
            *(str(row[n]) for n in varying),
            str(row["seeds"]),
            f"{mean:.4g}",
            f"{low:.4g} to {high:.4g}",
        ]
        for row in table(records, varying, [metric])
        for mean, low, high in [row[metric]]
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)
