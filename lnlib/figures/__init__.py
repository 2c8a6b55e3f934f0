"""Figures and tables: arrays and records in, plotly figures out. One file a chapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnlib import compare
from lnlib.explore import COLORS, FAILS, HOLDS, OPEN

#: How each norm looks in every figure of the book: label, color, dash. Never color alone.
NORMS = {
    "layer": ("layer norm", COLORS["blue"], "solid"),
    "batch": ("batch norm", COLORS["orange"], "dash"),
    "none": ("no norm", COLORS["gray"], "dot"),
    "weight": ("weight norm", COLORS["green"], "dashdot"),
}


BADGES = {compare.HOLDS: HOLDS, compare.FAILS: FAILS, compare.UNDECIDED: OPEN}


def verdict(differences: np.ndarray) -> str:
    """Return the badge for what :func:`lnlib.compare.verdict` says."""
    return BADGES[compare.verdict(differences)]


def fade(color: str) -> str:
    """Return ``#rrggbb`` as a color that lets four fifths of what is behind it through."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"


def band(
    figure: go.Figure,
    x: Sequence[float],
    values: Sequence[np.ndarray],
    look: tuple[str, str, str],
    hover: str,
    mode: str = "lines",
) -> None:
    """Add a line to a panel, in a band, where there is one.

    Args:
        figure: The panel.
        x: Places, shape ``(points,)``.
        values: The band's lower edge, the line and the upper edge, each ``(points,)``.
        look: Label, color, dash, as in :data:`NORMS`.
        hover: What the line says at a point, in plotly's template.
        mode: Of the line.
    """
    label, color, dash = look
    low, middle, high = values
    edges = () if np.array_equal(low, high) else (("lower", low), ("upper", high))
    for edge, y in edges:
        figure.add_scatter(
            x=x,
            y=y,
            name=f"{label}, {edge} edge",
            fill="tonexty" if edge == "upper" else None,
            fillcolor=fade(color),
            mode="lines",
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=x,
        y=middle,
        name=label,
        mode=mode,
        line={"color": color, "dash": dash, "width": 2.5},
        marker={"size": 7},
        hovertemplate=f"{hover}<extra>{label}</extra>",
    )
    figure.update_layout(legend={"traceorder": "normal"})  # the fill would turn it round


def spread(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lowest, the mean and the highest of the seeds, the first axis."""
    return curves.min(0), curves.mean(0), curves.max(0)


def grouped(
    records: Sequence[dict[str, Any]], names: Sequence[str], command: str
) -> tuple[np.ndarray, dict[tuple, list[dict[str, Any]]]]:
    """Group runs by settings, sorted by seed.

    Args:
        records: As :func:`lnlib.runs.record.read_all` returns them.
        names: Of the settings.
        command: That records such runs.

    Returns:
        The epochs at which all were measured, and from the values of the settings to the runs.

    Raises:
        ValueError: If there are no records, or they were measured at different epochs.
    """
    if not records:
        raise ValueError(f"Runs: no records were given; record them with: {command}")
    epochs, groups = records[0]["curves"]["epoch"], {}
    for r in sorted(records, key=lambda r: r["seed"]):
        if r["curves"]["epoch"] != epochs:
            raise ValueError("Runs: runs must be measured at the same epochs; record them anew")
        groups.setdefault(tuple(r["settings"][name] for name in names), []).append(r)
    return np.array(epochs), groups


def cursor(x: float) -> dict[str, Any]:
    """Return a vertical line at ``x``, over the whole height of a panel, for its ``shapes``."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": COLORS["gray"], "width": 1.5},
    }
