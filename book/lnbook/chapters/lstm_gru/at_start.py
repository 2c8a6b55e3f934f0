"""Before the first update: what gain and bias of the norms do to gates and gradients."""

from __future__ import annotations

import functools

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.lstm_gru.lstm import Params, State, squash, summed_inputs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import GATES, cursor, label_ends, signs
from lnlib import cells

GAINS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class Started:
    """What an LN-LSTM does before it has learned, by the gain and the bias that it starts with.

    Args:
        xs: Inputs, one a step, shape ``(T, I)``.
        params: ``W_ih`` and ``W_hh``.
        v: Shape ``(H,)``: the gradient of a loss in the last output.
    """

    def __init__(self, xs: np.ndarray, params: Params, v: np.ndarray):
        self.xs, self.v = xs[:, None], v[None]
        self.weights = {name: params[name] for name in ("W_ih", "W_hh")}
        self.H = len(v)

    @functools.cache  # noqa: B019  (one object a chapter)
    def at(self, gain: float, bias: float) -> dict[str, np.ndarray]:
        """Return ``gates`` (4, H) and output ``h`` (H,) of the last step, and every gradient.

        Args:
            gain: Of all three norms.
            bias: Of all three norms.
        """
        sizes = {"i": 4 * self.H, "h": 4 * self.H, "c": self.H}
        params = dict(self.weights)
        for place, n in sizes.items():
            params |= {
                f"gain_{place}": np.full(n, float(gain)),
                f"bias_{place}": np.full(n, float(bias)),
            }
        state, before = (np.zeros((1, self.H)), np.zeros((1, self.H))), []
        for x in self.xs:
            before.append(state)
            state = cells.lstm_step(x, state, params)
        gates = summed_inputs(self.xs[-1, 0], before[-1][0][0], params, "paper")
        found = {"gates": squash(gates), "h": state[0][0]}
        return found | self._gradients(params, before)

    def _gradients(self, params: Params, before: list[State]) -> dict[str, np.ndarray]:
        d, total = (self.v, np.zeros_like(self.v)), dict.fromkeys(params, 0.0)
        for x, state in zip(self.xs[::-1], before[::-1], strict=True):
            _, d, dparams = cells.lstm_step_backward(d, x, state, params)
            total = {name: total[name] + dparams[name] for name in params}
        return total


def draw_start(started: Started, gain: float, bias: float) -> list[go.Figure]:
    """Draw the gates, the outputs and the gradients of the weights at the start of training."""
    now = started.at(gain, bias)
    return [_opened(now["gates"]), _out(now["h"]), _slopes(started, gain, bias)]


def _opened(gates: np.ndarray) -> go.Figure:
    figure = go.Figure()
    jitter = 0.25 * np.linspace(-1, 1, gates.shape[1])
    for place, (gate, row) in enumerate(zip(GATES, gates, strict=True)):
        name, color, symbol = GATES[gate]
        figure.add_scatter(
            x=place + jitter,
            y=row,
            mode="markers",
            name=name,
            marker={"color": color, "symbol": symbol, "size": 6},
            hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
        )
    figure.layout = dict(
        title="Gates at the last step",
        height=280,
        showlegend=False,
        xaxis={"tickvals": [0, 1, 2, 3], "ticktext": list(GATES), "title": "gate"},
        yaxis={"range": [-1.08, 1.08], "tickvals": [-1, 0, 0.5, 1]},
    )
    return figure


def _out(h: np.ndarray) -> go.Figure:
    figure = go.Figure()
    figure.add_bar(
        x=np.arange(1, len(h) + 1),
        y=h,
        marker={"color": signs(h)},
        hovertemplate="unit %{x}: %{y:.3f}<extra></extra>",
    )
    figure.layout = dict(
        title="Output h",
        height=280,
        showlegend=False,
        xaxis={"title": "unit"},
        yaxis={"range": [-1.08, 1.08]},
    )
    return figure


FLOOR = 1e-4  # where a gradient of 0 is drawn, on a logarithmic axis


def _slopes(started: Started, gain: float, bias: float) -> go.Figure:
    figure = go.Figure()
    # 0 has no logarithm: it stands as far left of 0.01 as 0.1 stands right of 0.03.
    places = [np.log10(g) if g else -2.5 for g in GAINS]
    for name, color, dash, symbol in (
        ("W_ih", COLORS["first"], "solid", "circle"),
        ("W_hh", COLORS["second"], "dash", "square"),
    ):
        sizes = [np.linalg.norm(started.at(g, bias)[name]) for g in GAINS]
        figure.add_scatter(
            x=places,
            y=np.maximum(sizes, FLOOR),
            mode="lines+markers",
            name=name,
            line={"color": color, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 6},
            hovertemplate=f"{name}: %{{y:.2g}}<extra></extra>",
        )
    here = np.log10(gain) if gain else -2.5
    figure.layout = dict(
        title="Gradient of the weights",
        height=280,
        xaxis={
            "title": "gain", "range": [-2.65, 0.62], "tickvals": [-2.5, -2, -1, 0],
            "ticktext": ["0", "0.01", "0.1", "1"], "tickangle": 0,
        },
        yaxis={
            "type": "log", "range": [-4.3, 1.9], "tickvals": [FLOOR, 1e-2, 1, 10],
            "ticktext": ["0", "0.01", "1", "10"],
        },
        shapes=[cursor(here)],
    )  # fmt: skip
    return label_ends(figure)


def describe_start(started: Started, gain: float, bias: float) -> str:
    """Say the spread of the outputs and the length of the gradients."""
    now = started.at(gain, bias)
    h = now["h"]
    ih, hh = (float(np.linalg.norm(now[name])) for name in ("W_ih", "W_hh"))
    gains = float(np.hypot(*(np.linalg.norm(now[f"gain_{place}"]) for place in "ih")))
    same = np.ptp(h) < 1e-12
    out = f"all outputs are {h[0]:.3f}" if same else f"the outputs spread by {h.std():.3f}"
    return (
        f"With gain {gain:g} and bias {bias:g}, {out}, and the gradient has length "
        f"{_length(ih)} in W_ih, {_length(hh)} in W_hh and {_length(gains)} in the gates' gains."
    )


START = Picture(
    draw_start,
    describe_start,
    alt="Left: the four gates of sixteen units. Middle: the outputs. Right: the length of the "
    "gradient of the two weight matrices, over the gain.",
)


def _length(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"
