"""Figures and tables: arrays and records in, plotly figures out. One file a chapter."""

from __future__ import annotations

from lnlib.explore import COLORS

#: How each norm looks in every figure of the book: label, color, dash. Never color alone.
NORMS = {
    "layer": ("layer norm", COLORS["blue"], "solid"),
    "batch": ("batch norm", COLORS["orange"], "dash"),
    "none": ("no norm", COLORS["gray"], "dot"),
    "weight": ("weight norm", COLORS["green"], "dashdot"),
}
