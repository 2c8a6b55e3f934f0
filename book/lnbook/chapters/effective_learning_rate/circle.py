"""Twelve steps at right angles: weights that grow, and turn less."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnlab.analysis.learning_rate import spiral

TURNS = 12


def draw_circle(length: float, rate: float) -> list[go.Figure]:
    """Draw the way of the tip of the weights, and the angle of each step."""
    tips, lengths, turns = spiral(length, rate, TURNS)
    way, angles = go.Figure(), go.Figure()
    reach = 1.25 * max(lengths[-1], length)
    around = np.linspace(0, 2 * np.pi, 61)
    way.add_scatter(
        x=(length * np.cos(around)).round(3),
        y=(length * np.sin(around)).round(3),
        mode="lines",
        name="circle of the start",
        line={"color": COLORS["gray"], "dash": "dot", "width": 1.5},
        hoverinfo="skip",
    )
    for i, name in ((0, "start"), (TURNS, "end")):
        x, y = tips[i].round(3).tolist()
        color = COLORS["ink" if i else "gray"]
        way.add_scatter(
            x=[0, x],
            y=[0, y],
            mode="lines",
            name=name,
            line={"color": color, "width": 3},
            hoverinfo="skip",
        )
        way.add_annotation(
            x=x,
            y=y,
            text=name,
            font={"color": color},
            showarrow=False,
            xanchor="left" if x > 0 else "right",
            yanchor="bottom" if y > 0 else "top",
        )
    way.add_scatter(
        x=tips[:, 0].round(3),
        y=tips[:, 1].round(3),
        mode="lines+markers",
        name="steps",
        line={"color": COLORS["first"], "width": 2.5},
        marker={"color": COLORS["first"], "size": 7},
        customdata=lengths.round(3),
        hovertemplate="length %{customdata}<extra>tip of the weights</extra>",
    )
    way.update_layout(
        title="Weights in a plane",
        height=380,
        showlegend=False,
        xaxis={"range": [-reach, reach], "zeroline": False, "constrain": "domain"},
        yaxis={"range": [-reach, reach], "zeroline": False, "scaleanchor": "x"},
    )
    angles.add_bar(
        x=list(range(1, TURNS + 1)),
        y=turns.round(2),
        name="turn",
        marker={"color": COLORS["first"]},
        hovertemplate="step %{x}: %{y}°<extra></extra>",
    )
    angles.update_layout(
        title="Turn of each step, in degrees",
        height=380,
        xaxis={"title": "step", "dtick": 2},
        yaxis={"range": [0, 90], "tickvals": [0, 30, 60, 90]},
    )
    return [way, angles]


def describe_circle(length: float, rate: float) -> str:
    """Say what the first step does, and what the last."""
    _, lengths, turns = spiral(length, rate, TURNS)
    return (
        f"From length {length:g} at rate {rate:g}: the first step turns the weights by "
        f"{turns[0]:.1f} degrees, the twelfth by {turns[-1]:.1f}; they end {lengths[-1]:.2f} long."
    )


CIRCLE = Picture(
    draw_circle,
    describe_circle,
    alt="Left, the tip of a weight vector in a plane: each step stands at a right angle to the "
    "vector, so the tip leaves its circle. Right, the angle of each step.",
)
