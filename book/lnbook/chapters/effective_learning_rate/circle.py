"""Twelve steps orthogonal to the weights: their norm grows, and the angles shrink."""

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide, add_line
from lnlab.analysis.learning_rate import spiral

TURNS = 12


def draw_circle(length: float, rate: float) -> list[go.Figure]:
    """Draw the path of the weight vector, and the angle of each step."""
    tips, lengths, turns = spiral(length, rate, TURNS)
    way, angles = go.Figure(), go.Figure()
    reach = 1.25 * max(lengths[-1], length)
    around = np.linspace(0, 2 * np.pi, 61)
    circle = (length * np.array([np.cos(around), np.sin(around)])).round(3)
    add_guide(way, *circle, "initial norm", dash="dot")
    for i, name in ((0, "start"), (TURNS, "end")):
        x, y = tips[i].round(3).tolist()
        color = COLORS["ink" if i else "gray"]
        add_guide(way, [0, x], [0, y], name, color=color, width=3)
        way.add_annotation(
            x=x,
            y=y,
            text=name,
            font={"color": color},
            showarrow=False,
            xanchor="left" if x > 0 else "right",
            yanchor="bottom" if y > 0 else "top",
        )
    add_line(
        way,
        tips[:, 0].round(3),
        tips[:, 1].round(3),
        ("steps", COLORS["first"], "solid"),
        "norm %{customdata}<extra>weights</extra>",
        customdata=lengths.round(3),
        size=7,
    )
    way.update_layout(
        title="Two weights, w₁ and w₂",
        height=380,
        showlegend=False,
        xaxis={"title": "w₁", "range": [-reach, reach], "zeroline": False, "constrain": "domain"},
        yaxis={"title": "w₂", "range": [-reach, reach], "zeroline": False, "scaleanchor": "x"},
    )
    angles.add_bar(
        x=list(range(1, TURNS + 1)),
        y=turns.round(2),
        name="turn",
        marker={"color": COLORS["first"]},
        hovertemplate="step %{x}: %{y}°<extra></extra>",
    )
    angles.update_layout(
        title="Angle of each step, degrees",
        height=380,
        xaxis={"title": "step", "dtick": 2},
        yaxis={"range": [0, 90], "tickvals": [0, 30, 60, 90]},
    )
    return [way, angles]


def describe_circle(length: float, rate: float) -> str:
    """Describe the angles by which the first and the last step rotate the weights."""
    _, lengths, turns = spiral(length, rate, TURNS)
    return (
        f"With initial norm {length:g} and learning rate {rate:g}, the first step turns the "
        f"weights by {turns[0]:.1f} degrees and the twelfth by {turns[-1]:.1f}. Their final norm "
        f"is {lengths[-1]:.2f}."
    )


CIRCLE = Picture(
    draw_circle,
    describe_circle,
    alt="Left, a vector of two weights in a plane: each step is orthogonal to the vector, so the "
    "weights move outward in a spiral. Right, the angle of each step, which becomes smaller.",
)
