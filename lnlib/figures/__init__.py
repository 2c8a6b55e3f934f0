"""Figures and tables: arrays and records in, plotly figures out. One file a chapter."""

from __future__ import annotations

from typing import Any

from lnlib.explore import COLORS

#: How each norm looks in every figure of the book: label, color, dash. Never color alone.
NORMS = {
    "layer": ("layer norm", COLORS["blue"], "solid"),
    "batch": ("batch norm", COLORS["orange"], "dash"),
    "none": ("no norm", COLORS["gray"], "dot"),
    "weight": ("weight norm", COLORS["green"], "dashdot"),
}


def fade(color: str) -> str:
    """Return ``#rrggbb`` as a color that lets four fifths of what is behind it through."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"


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
