"""Building blocks of the figures: a line, a band, and two axes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.figures.plots import band, spread

SCALES = [0.125, 0.25, 0.5, 1, 2, 4, 8]
FINE = 2 ** np.linspace(-3, 3, 25)


def add_line(figure: go.Figure, x: np.ndarray, y: np.ndarray, style: tuple, hover: str) -> None:
    """Add a line, rounded to four digits; ``style`` is as in :data:`lnbook.figures.plots.NORMS`."""
    label, color, dash = style
    figure.add_scatter(
        x=x,
        y=[float(f"{v:.4g}") for v in y],
        mode="lines",
        name=label,
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"{hover}<extra>{label}</extra>",
    )


def add_band(
    figure: go.Figure, x: np.ndarray, curves: np.ndarray, style: tuple, hover: str
) -> None:
    """Add the mean over the seeds, with a band from the lowest to the highest."""
    values = [np.array([float(f"{v:.4g}") for v in line]) for line in spread(curves)]
    band(figure, x, values, style, hover)


def doubling(title: str) -> dict:
    """Return a logarithmic axis for :data:`SCALES`."""
    return {
        "type": "log",
        "title": title,
        "range": [-0.95, 0.95],
        "tickvals": SCALES,
        "ticktext": ["⅛", "¼", "½", "1", "2", "4", "8"],
        "zeroline": False,
    }


def decades(low: float, high: float) -> dict:
    """Return a logarithmic axis with a tick at each power of ten."""
    powers = np.arange(np.ceil(low), np.floor(high) + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": (10.0**powers).tolist(),
        "ticktext": [f"{10.0**p:.{max(0, int(-p))}f}" for p in powers],
        "zeroline": False,
    }
