"""Saturation of the gates under large weights, and the relative scale of the gates."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.lstm_gru.lstm import Params, squash, summed_inputs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import GATES, add_guide, add_points


def draw_squash(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> list[go.Figure]:
    """Draw the gates on their curves, with and without a norm, for weights times ``scale``."""
    scaled = _scaled(params, scale)
    return [
        _curves(summed_inputs(x, h, scaled, "plain"), "Without normalization (eq. 17)"),
        _curves(summed_inputs(x, h, scaled, "paper"), "With layer norm (eq. 20)"),
    ]


def describe_squash(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> str:
    """Describe how many gates are saturated."""
    plain, paper = saturated(x, h, params, scale)
    return (
        f"With all weights multiplied by {scale:g}, {plain:.0%} of the gates are saturated without "
        f"normalization and {paper:.0%} with layer norm."
    )


SQUASH = Picture(
    draw_squash,
    describe_squash,
    alt="Two panels with the same two S-shaped curves and 64 points on them, one symbol per gate. "
    "Without normalization the points move outward as the weights grow; with layer norm they do "
    "not move.",
)


def saturated(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> list[float]:
    """Return the fractions of gates that are saturated, without a norm and with layer norm.

    A gate is saturated if its slope is less than a fifth of the maximum slope.
    """
    shares = []
    for form in ("plain", "paper"):
        opened = squash(summed_inputs(x, h, _scaled(params, scale), form))
        # Slopes relative to the maximum: 4 s (1 - s) of the logistic function, 1 - tanh^2 of tanh.
        slope = np.where(np.arange(4)[:, None] == 2, 1 - opened**2, 4 * opened * (1 - opened))
        shares.append(float((slope < 0.2).mean()))
    return shares


def _scaled(params: Params, scale: float) -> Params:
    return params | {name: scale * params[name] for name in ("W_ih", "W_hh")}


EDGE = 8.0  # larger summed inputs are drawn at this value


def _curves(gates: np.ndarray, title: str) -> go.Figure:
    figure = go.Figure()
    a = np.linspace(-EDGE, EDGE, 65)
    for y in ((1 + np.tanh(a / 2)) / 2, np.tanh(a)):
        add_guide(figure, a, y, width=1)
    for (name, color, symbol), row, y in zip(GATES.values(), gates, squash(gates), strict=True):
        add_points(
            figure,
            np.clip(row, -EDGE, EDGE),
            y,
            (name, color, symbol),
            f"{name}: %{{y:.3f}}<extra></extra>",
            size=8,
            opacity=0.75,
        )
    figure.layout = dict(
        title=title,
        height=340,
        xaxis={"title": "summed input", "range": [-1.05 * EDGE, 1.05 * EDGE]},
        yaxis={"title": "gate", "range": [-1.12, 1.12], "tickvals": [-1, 0, 0.5, 1]},
    )
    return figure


# The standard deviation of each gate.

SPREADS = {"plain": "no norm", "paper": "one joint norm", "per_gate": "one norm per gate"}


def spreads(x: np.ndarray, h: np.ndarray, params: Params, factor: float, form: str) -> np.ndarray:
    """Return the standard deviation of the summed inputs over the units of each gate: i, f, g, o.

    Args:
        x: Shape ``(I,)``.
        h: Shape ``(H,)``.
        params: See :func:`summed_inputs`.
        factor: Factor of the forget gate's rows of both matrices.
        form: See :func:`summed_inputs`.
    """
    return summed_inputs(x, h, scale_forget_gate(params, factor), form).std(axis=1)


def scale_forget_gate(params: Params, factor: float) -> Params:
    """Return parameters with the forget gate's rows of both matrices multiplied by ``factor``."""
    H = params["W_hh"].shape[1]
    rows = np.ones(4 * H)
    rows[H : 2 * H] = factor
    return params | {name: rows[:, None] * params[name] for name in ("W_ih", "W_hh")}


def draw_spread(x: np.ndarray, h: np.ndarray, params: Params, factor: float) -> go.Figure:
    """Draw the standard deviation per gate: no norm, one joint norm, one norm per gate."""
    result = np.array([spreads(x, h, params, factor, form) for form in SPREADS])
    figure = go.Figure()
    for (gate, (name, color, _)), values in zip(GATES.items(), result.T, strict=True):
        figure.add_bar(
            x=[name.replace(" norm", "<br>norm") for name in SPREADS.values()],
            y=values,
            name=name,
            text=[gate] * len(SPREADS),
            textposition="outside",
            marker={"color": color},
            hovertemplate=f"{name}: %{{y:.2f}}<extra>%{{x}}</extra>",
        )
    figure.layout = dict(
        title="Standard deviation of the summed inputs, per gate",
        barmode="group",
        xaxis={"tickangle": 0},
        yaxis={"title": "standard deviation", "range": [0, 4.2]},
    )
    return figure


def describe_spread(x: np.ndarray, h: np.ndarray, params: Params, factor: float) -> str:
    """Describe the standard deviation of the forget gate relative to that of the input gate."""
    ratios = [f / i for i, f, *_ in (spreads(x, h, params, factor, form) for form in SPREADS)]
    return (
        f"The standard deviation of the forget gate is {ratios[0]:.2f} times that of the input "
        f"gate without a norm, {ratios[1]:.2f} times with one joint norm, and {ratios[2]:.2f} "
        f"times with one norm per gate."
    )


SPREAD = Picture(
    draw_spread,
    describe_spread,
    alt="Three groups of four bars, the standard deviation per gate: without a norm, with the "
    "joint norm of the paper, and with one norm per gate, where all bars are 1.",
)
