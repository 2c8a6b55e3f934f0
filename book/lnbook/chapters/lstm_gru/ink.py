"""Layer norm of ``Wₓx`` for a single input, the gray value of a pixel."""

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import signs
from lnlib.norms import layer_norm

ROWS = 12  # number of rows of W_x in the figure
W_X, FROM_H = np.random.default_rng(4).normal(size=(2, ROWS))  # FROM_H is W_h h
PANELS = ("Wₓx", "LN(Wₓx)", "LN(Wₓx + Wₕh)")


def parts(ink: float) -> np.ndarray:
    """Return the values of each panel for one pixel, shape ``(3, 12)``.

    Args:
        ink: The value of the pixel, from 0 to 1.
    """
    from_x = W_X * ink
    return np.stack([from_x, layer_norm(from_x), layer_norm(from_x + FROM_H)])


def draw_ink(ink: float) -> list[go.Figure]:
    """Draw the contribution of the pixel to the summed inputs, with and without a norm."""
    figures = []
    for title, values in zip(PANELS, parts(ink), strict=True):
        figure = go.Figure()
        figure.add_bar(
            x=np.arange(1, ROWS + 1),
            y=values.round(4),
            marker={"color": signs(values)},
            name="value",
            hovertemplate="row %{x}: %{y:.2f}<extra></extra>",
        )
        figure.layout = dict(
            title=title,
            height=260,
            showlegend=False,
            xaxis={"title": "row of W", "dtick": 3},
            yaxis={"title": "value", "range": [-3, 3], "tickvals": [-2, 0, 2]},
        )
        figures.append(figure)
    return figures


def describe_ink(ink: float) -> str:
    """Describe the standard deviation of ``Wₓx`` before and after the norm."""
    before, after, _ = parts(ink).std(axis=1)
    return (
        f"With ink = {ink:g}, the standard deviation of Wₓx is {before:.2f}, and that of "
        f"LN(Wₓx) is {after:.2f}."
    )


INK = Picture(
    draw_ink,
    describe_ink,
    alt="Three bar plots over twelve rows of the weights. Left, Wₓx grows with the amount of ink; "
    "middle, its layer norm does not change; right, the layer norm of the sum with Wₕh changes.",
)
