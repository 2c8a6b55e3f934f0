"""What a factor of the weights changes."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.recurrent_networks.network import (
    HIDDEN,
    INPUTS,
    LOOKS,
    SEQUENCES,
    parameters,
    power,
    say,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import cursor, label_ends
from lnlab.analysis import recurrence

_FINE = 10 ** np.linspace(-3, 3, 37)
_FOLLOWED = 16  # units that are drawn
MATRICES = {"both matrices": "both", "W_hh alone": "hidden", "W_ih alone": "input"}
STEPS = 20


@cache
def rescaled(form: str, delta: float, matrix: str, eps: float) -> np.ndarray:
    """Return the state after 20 steps, from a state that is not zero, ``(16, 32)``.

    Args:
        form: Of :func:`lnlib.cells.rnn_step`, with tanh.
        delta: Factor of the weights.
        matrix: ``"both"``, ``"hidden"`` or ``"input"``: whose.
        eps: Inside the root of every norm.
    """
    rng = np.random.default_rng(2)
    params = parameters(form)
    if matrix != "input":
        params["W_hh"] = delta * params["W_hh"]
    if matrix != "hidden":
        params["W_ih"] = delta * params["W_ih"]
    h = rng.normal(size=(SEQUENCES, HIDDEN))
    x = rng.normal(size=(STEPS, SEQUENCES, INPUTS))
    return recurrence.states(x, h, params, form=form, eps=eps)[-1]


def change(form: str, delta: float, matrix: str, eps: float) -> float:
    """Return the largest change of the state when weights are multiplied by ``delta``."""
    before, after = (rescaled(form, d, matrix, eps) for d in (1.0, delta))
    return float(np.abs(after - before).max())


def draw_rescaled(delta: float, matrix: str, eps: float) -> list[go.Figure]:
    """Draw the change over the factor, and the units of one sequence before and after."""
    changes, units = go.Figure(), go.Figure()
    units.add_scatter(
        x=[-1, 1],
        y=[-1, 1],
        mode="lines",
        line={"color": COLORS["gray"], "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    for form, symbol in (("plain", "x"), ("paper", "circle"), ("parts", "diamond")):
        label, color, dash = LOOKS[form]
        changes.add_scatter(
            x=_FINE,
            y=[round(change(form, float(d), matrix, eps), 3) for d in _FINE],
            mode="lines",
            name=label,
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"times %{{x:.3g}}: %{{y:.3f}}<extra>{label}</extra>",
        )
        before, after = (rescaled(form, d, matrix, eps)[0, :_FOLLOWED] for d in (1.0, delta))
        units.add_scatter(
            x=before.round(3),
            y=after.round(3),
            mode="markers",
            name=label,
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.8},
            hovertemplate=f"%{{x:.2f}} becomes %{{y:.2f}}<extra>{label}</extra>",
        )
    exponents = np.arange(-2, 3, 2)
    changes.layout = dict(
        title=f"Largest change of the state after {STEPS} steps",
        height=340,
        xaxis={
            "type": "log",
            "title": "weights multiplied by",
            "range": [-3.1, 3.1],
            "tickvals": 10.0**exponents,
            "ticktext": [power(e) for e in exponents],
            "zeroline": False,
        },
        yaxis={"title": "change", "range": [-0.06, 2.06]},
        shapes=[cursor(delta)],
    )
    units.layout = dict(
        title=f"{_FOLLOWED} units of one sequence",
        height=340,
        xaxis={"title": "state before", "range": [-1.08, 1.08], "dtick": 0.5},
        yaxis={"title": "state after", "range": [-1.08, 1.08], "dtick": 0.5},
    )
    return [label_ends(changes), units]


def describe_rescaled(delta: float, matrix: str, eps: float) -> str:
    """Say how much each network changes."""
    whose = {"both": "both weight matrices", "hidden": "W_hh", "input": "W_ih"}[matrix]
    if delta == 1:
        return "The weights are multiplied by 1: nothing changes; move the factor."
    changes = [change(form, delta, matrix, eps) for form in ("plain", "paper", "parts")]
    plain, paper, parts = (_change(value) for value in changes)
    return (
        f"With {whose} multiplied by {delta:g}, some state changes by {plain} with no norm, by "
        f"{paper} with layer norm of the sum and by {parts} with layer norm of the parts."
    )


RESCALED = Picture(
    draw_rescaled,
    describe_rescaled,
    alt="Left, the largest change of the state over the factor of the weights, for no norm, layer "
    "norm of the sum and of the parts. Right, sixteen units after over before; what lies on the "
    "diagonal has not changed.",
)


def _change(value: float) -> str:
    return "0.00" if value < 1e-12 else say(value)
