"""The norms side by side, in one table."""

from __future__ import annotations

from lnbook.figures.table import Table

#: Number of means for ``(N, C)`` and ``(N, C, ...)``; RMS norm's are mean squares.
MEANS = {
    "batch norm": "C",
    "layer norm": "N",
    "RMS norm": "N",
    "group norm": "N × groups",
    "instance norm": "N × C",
}


def summary() -> Table:
    """Put the norms side by side."""
    rows = {
        "batch norm": ["a channel of all examples", "yes, in training", "yes", "each channel"],
        "layer norm": ["an example", "no", "no", "each number of an example"],
        "RMS norm": ["no mean; as layer norm", "no", "no", "the same, but no bias"],
        "group norm": ["a group of channels of an example", "no", "no", "each channel"],
        "instance norm": ["a channel of an example", "no", "no", "each channel, or none"],
    }
    means = MEANS | {"RMS norm": f"none; {MEANS['RMS norm']} mean squares"}
    return Table(
        ["norm", "one mean for", "means", "depends on the batch", "running statistics",
         "gain and bias for"],
        [[name, who, means[name], *rest] for name, (who, *rest) in rows.items()],
        "Five norms of a tensor (N, C, …): N examples of C channels, with whatever follows.",
    )  # fmt: skip
