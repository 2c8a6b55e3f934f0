"""Variance of the residual stream, share and gradient of each block, over the blocks."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.residual_scaling.stack import NAMES, profile
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, label_ends, log_axis

DEPTHS = (6, 12, 24, 48)
#: Ranges of the vertical axes, which are logarithmic; shares are in percent.
RANGES = {"variance": (0.01, 200.0), "share": (0.001, 150.0), "gradient": (0.03, 10.0)}
TICKS = {
    "variance": (0.01, 0.1, 1, 10, 100),
    "share": (0.001, 0.01, 0.1, 1, 10, 100),
    "gradient": (0.1, 0.3, 1, 3, 10),
}
SOLID = (COLORS["first"], "solid")
DASHED = (COLORS["second"], "dash")
DOTTED = (COLORS["gray"], "dot")


def draw(scheme: str, depth: int) -> list[go.Figure]:
    """Draw the three panels of a scheme, with pre-norm as a dotted line for comparison."""
    chosen, pre, blocks = profile(scheme, depth), profile("pre", depth), np.arange(1, depth + 1)
    others = scheme != "pre"
    variance, share, gradient = (go.Figure() for _ in RANGES)
    if others:
        _line(variance, np.arange(depth + 1), pre.variance, "pre-norm", DOTTED)
        _line(gradient, blocks, pre.gradient, "pre-norm", DOTTED)
    name = "chosen" if others else "pre-norm"
    _line(variance, np.arange(depth + 1), chosen.variance, name, SOLID)
    _line(share, blocks, 100 / blocks, "1/block", DOTTED)
    _line(share, blocks, 100 * chosen.share, "written", SOLID)
    _line(share, blocks, 100 * chosen.in_output[1:], "output", DASHED)
    _line(gradient, blocks, chosen.gradient, name, SOLID)
    return [
        _layout(variance, "variance", "Variance of the stream", "after block", depth),
        _layout(share, "share", "Share of each block (%)", "block", depth),
        _layout(gradient, "gradient", "Norm of the gradient", "block", depth),
    ]


def _line(
    figure: go.Figure, x: Sequence[int], y: np.ndarray, name: str, style: tuple[str, str]
) -> None:
    """Add a line, without the points below its axis."""
    color, dash = style
    add_line(
        figure,
        list(x),
        [float(f"{value:.3g}") for value in y],
        (name, color, dash),
        "block %{x}: %{y:.3g}",
        width=1.5 if style is DOTTED else 2.5,
    )


def _layout(figure: go.Figure, name: str, title: str, label: str, depth: int) -> go.Figure:
    low, high = RANGES[name]
    lines = {line.name: np.array(line.y) for line in figure.data}
    below = [key for key, y in lines.items() if y.max() < low]
    figure.data = [line for line in figure.data if line.name not in below]
    for line in figure.data:  # points below the axis are not drawn
        line.y = [value if value >= low else None for value in line.y]
    figure.update_layout(
        title=title,
        xaxis={"title": label, "range": [-0.02 * depth, 1.01 * depth], "zeroline": False,
               "tickvals": [1, depth // 2, depth]},
        yaxis=log_axis(TICKS[name], np.log10([low, high]).round(3).tolist()),
    )  # fmt: skip
    if below:
        top = max(lines[key].max() for key in below)
        text = "0 in every block" if top == 0 else f"at most {top:.0e}"
        figure.add_annotation(x=0.5, y=0.06, xref="paper", yref="paper", text=text, showarrow=False)
    return label_ends(figure)


def describe(scheme: str, depth: int) -> str:
    """Describe how the stream grows, what the last block contributes, and the gradients."""
    chosen = profile(scheme, depth)
    before, after = chosen.variance[[0, -1]]
    name = NAMES[scheme]
    text = (
        f"{name[0].upper()}{name[1:]}, {depth} blocks: the variance of the residual stream is "
        f"{before:.2g} before the first block and {after:.2g} after the last."
    )
    if not chosen.share.any():
        return f"{text} Every block is the identity, and its weight matrices have no gradient yet."
    parts = [*chosen.share[[0, -1]], chosen.in_output[1]]
    written, end, left = ("less than 0.001%" if s < 1e-5 else f"{100 * s:.2g}%" for s in parts)
    first, last = (f"{norm:.2g}" for norm in chosen.gradient[[0, -1]])
    return (
        f"{text} The first block contributes {written} of the stream after it, the last {end}; "
        f"{left} of the output comes from the first block. Norm of the gradient: {first} in the "
        f"first block, {last} in the last."
    )


PROFILE = Picture(
    draw,
    describe,
    alt="Three panels over the blocks, on logarithmic axes: the variance of the residual stream; "
    "the share of each block in the stream when the block writes it and in the output, next to a "
    "dotted line 1/block; the norm of the gradient of each block. If another scheme is chosen, "
    "pre-norm is dotted.",
)
