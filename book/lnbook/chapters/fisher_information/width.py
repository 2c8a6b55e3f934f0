"""The error of eq. 13 in wider layers."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.fisher_information.models import INPUTS
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide, add_line, label_ends, log_axis
from lnlab.analysis import fisher_error
from lnlib.fisher import GLM

WIDTHS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def wide(units: int, family: str) -> tuple[GLM, np.ndarray]:
    """Return a layer-normalized model with this number of units, and sixty examples."""
    rng = np.random.default_rng(units)
    X, W = rng.normal(size=(60, INPUTS)), rng.normal(size=(units, INPUTS)) / 2
    return GLM(W, np.zeros(units), norm="layer", family=family), X


@cache
def width_shares(family: str) -> np.ndarray:
    """Return the relative error of eq. 13 with layer norm: all blocks and diagonal."""
    results = []
    for H in WIDTHS:
        model, X = wide(H, family)
        printed, exact = model.fisher(X, "paper"), model.fisher(X)
        results.append(
            [fisher_error.relative_error(printed, exact, units=units) for units in (None, H)]
        )
    return np.array(results).T


def draw_widths(family: str) -> go.Figure:
    """Draw the relative error of eq. 13 over the number of units."""
    figure, result = go.Figure(), width_shares(family)
    styles = (
        ("whole matrix", "first", "solid", "circle"),
        ("blocks on the diagonal", "second", "dash", "square"),
    )
    for (label, color, dash, symbol), values in zip(styles, result, strict=True):
        style = label, COLORS[color], dash, symbol
        add_line(figure, WIDTHS, values.round(4), style, "%{x} units: %{y:.1%}", size=8)
    ends = [WIDTHS[0], WIDTHS[-1]]
    falls = [np.round(result[0][-1] * np.sqrt(WIDTHS[-1] / H), 4) for H in ends]
    add_guide(figure, ends, falls, "∝ 1/√H", dash="dot")
    figure.update_layout(
        title="Relative error of eq. 13",
        height=340,
        xaxis=log_axis([4, 8, 16, 32, 64], [np.log10(2.7), np.log10(72)], title="units H"),
        yaxis=log_axis(
            [0.01, 0.03, 0.1, 0.3, 1], [-2.1, 0.1], texts=["1%", "3%", "10%", "30%", "100%"]
        ),
    )
    return label_ends(figure)


def describe_widths(family: str) -> str:
    """Describe both errors at the smallest and the largest width."""
    whole, own = width_shares(family)
    return (
        f"From {WIDTHS[0]} to {WIDTHS[-1]} units, the relative error of eq. 13 falls from "
        f"{whole[0]:.0%} to {whole[-1]:.0%} for the whole matrix, and from {own[0]:.0%} to "
        f"{own[-1]:.0%} for its blocks on the diagonal."
    )


WIDER = Picture(
    draw_widths,
    describe_widths,
    alt="On logarithmic axes, the relative error of eq. 13 for 3 to 64 units: of the whole matrix, "
    "near a line of 1 over root H, and of its diagonal blocks, steeper.",
)
