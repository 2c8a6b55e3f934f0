"""One small table of summed inputs under batch norm and under layer norm."""

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS

#: Summed inputs of eight examples (rows) to six hidden units (columns).
TABLE = np.array(
    [
        [2.0, -1.0, 0.0, 3.0, 1.0, 1.0],
        [4.0, 5.0, 3.0, 6.0, 2.0, 4.0],
        [-2.0, 0.0, -1.0, 1.0, -3.0, -1.0],
        [0.5, 0.0, 1.0, 1.5, 0.0, 0.0],
        [6.0, -2.0, 2.0, 8.0, 4.0, 0.0],
        [-1.0, -4.0, -2.0, 0.0, 1.0, -6.0],
        [1.0, 3.0, -3.0, 2.0, 5.0, 4.0],
        [3.0, 1.0, 2.0, -1.0, 0.0, 7.0],
    ]
)


def tables(batch_size: int, scale: float) -> dict[str, np.ndarray]:
    """Return the summed inputs and the output of each norm.

    Args:
        batch_size: Number of rows of :data:`TABLE` in the batch, 1 to 8.
        scale: Factor of the first row.

    Returns:
        ``input``, ``batch`` and ``layer``, each of shape ``(batch_size, 6)``.
    """
    x = TABLE[:batch_size].copy()
    x[0] *= scale
    return {"input": x, "batch": lnlib.batch_norm(x), "layer": lnlib.layer_norm(x)}


def draw(batch_size: int, scale: float) -> list[go.Figure]:
    """Draw the three tables, with the first example framed."""
    shown = tables(batch_size, scale)
    titles = {"input": "Summed inputs", "batch": "After batch norm", "layer": "After layer norm"}
    return [
        _table(shown[key], title, 8.0 if key == "input" else 2.2) for key, title in titles.items()
    ]


def describe(batch_size: int, scale: float) -> str:
    """Return a sentence with the first example before and after both norms."""
    shown = tables(batch_size, scale)
    before, batch, layer = (_list(shown[key][0]) for key in ("input", "batch", "layer"))
    others = batch_size - 1
    rest = f"with {others} other example{'s' * (others > 1)}" if others else "of size one"
    return (
        f"Example 1 is {before}, in a batch {rest}. "
        f"Batch norm maps it to {batch}, and layer norm maps it to {layer}."
    )


TWO_NORMS = Picture(
    draw,
    describe,
    alt="Three tables of numbers, examples by hidden units: the summed inputs, the same after "
    "batch norm, and after layer norm. The first example is framed.",
)


def _list(row: np.ndarray) -> str:
    return "(" + ", ".join(map(_one, row)) + ")"


def _one(value: float) -> str:
    # Rounding first turns -0.00 into 0.00.
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _table(x: np.ndarray, title: str, limit: float) -> go.Figure:
    figure = go.Figure(
        go.Heatmap(
            z=x,
            x=np.arange(1, x.shape[1] + 1),
            y=np.arange(1, len(x) + 1),
            coloraxis="coloraxis",
            # Not plotly's rounding, which writes −0.04 as −0.0.
            text=[[_one(v) for v in row] for row in x],
            texttemplate="%{text}",
            textfont={"size": 11},  # plotly would choose 9
            hovertemplate="example %{y}, unit %{x}: %{z:.3f}<extra></extra>",
            xgap=2,
            ygap=2,
        )
    )
    figure.layout = dict(
        title=title,
        height=310,
        margin={"r": 2},  # room for the numbers
        coloraxis={"cmin": -limit, "cmax": limit, "cmid": 0, "showscale": False},
        xaxis={
            "side": "top",
            "showgrid": False,
            "tickvals": [],
            "title": "hidden units →",
            "zeroline": False,
        },
        # Space for eight rows at every batch size, so that the table grows instead of being
        # stretched.
        yaxis={
            "range": [len(TABLE) + 0.5, 0.5],
            "showgrid": False,
            "title": "← examples",
            "zeroline": False,
            "tickvals": list(range(1, len(x) + 1)),
        },
        shapes=[
            {"type": "rect", "x0": 0.5, "x1": x.shape[1] + 0.5, "y0": 0.5, "y1": 1.5,
             "line": {"width": 2.5, "color": COLORS["ink"]}}
        ],
    )  # fmt: skip
    return figure
