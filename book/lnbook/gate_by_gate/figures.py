"""Normalize gate by gate: one step of an LSTM, its versions, its gains, and what it learns."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import GATES, NORMS, band, cursor, label_ends, signs, spread, verdict
from lnbook.show.table import Table
from lnlib import cells
from lnlib.norm import layer_norm

Params = Mapping[str, np.ndarray]
State = tuple[np.ndarray, np.ndarray]

#: Forms of :func:`lnlib.cells.lstm_step` that go by the name of LN-LSTM.
FORMS = {
    "paper": ("the paper's", COLORS["layer"], "solid"),
    "carried": ("normalized cell carried on", COLORS["first"], "dash"),
    "per_gate": ("each gate alone", COLORS["second"], "dot"),
}


def parameters(
    gates: int, places: Mapping[str, int], inputs: int, H: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw the parameters of a cell: weights as if fresh, gains and biases as if learned.

    Args:
        gates: Blocks of ``H`` rows in each weight matrix.
        places: From a norm's place to how many gates it spans.
        inputs: Features that one step reads.
        H: Number of units.
        rng: Draws them.
    """
    p = {
        "W_ih": rng.normal(size=(gates * H, inputs)) / np.sqrt(inputs),
        "W_hh": rng.normal(size=(gates * H, H)) / np.sqrt(H),
    }
    for place, n in places.items():
        p[f"gain_{place}"], p[f"bias_{place}"] = rng.normal([[1], [0]], 0.2, size=(2, n * H))
    return p


def summed_inputs(x: np.ndarray, h: np.ndarray, params: Params, form: str) -> np.ndarray:
    """Return what goes into the four gates of one example, eqs. 17 and 20.

    Args:
        x: Shape ``(I,)``.
        h: Shape ``(H,)``.
        params: As for :func:`lnlib.cells.lstm_step` with ``form="paper"``. ``plain`` and
            ``per_gate`` leave the gains and biases of the norms out.
        form: ``plain``, ``paper`` or ``per_gate``.

    Returns:
        Shape ``(4, H)``, gates i, f, g, o.
    """
    from_x, from_h = params["W_ih"] @ x, params["W_hh"] @ h
    b = params.get("b", np.zeros(len(from_x)))
    if form == "paper":
        parts = [
            layer_norm(a, params.get(f"gain_{place}"), params.get(f"bias_{place}"))
            for place, a in (("i", from_x), ("h", from_h))
        ]
        return (sum(parts) + b).reshape(4, -1)
    gates = (from_x + from_h + b).reshape(4, -1)
    return layer_norm(gates) if form == "per_gate" else gates


# Large weights.


def draw_squash(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> list[go.Figure]:
    """Draw the gates on their curves, without a norm and with, all weights times ``scale``."""
    scaled = _scaled(params, scale)
    return [
        _curves(summed_inputs(x, h, scaled, "plain"), "No norm: eq. 17"),
        _curves(summed_inputs(x, h, scaled, "paper"), "Layer norm: eq. 20"),
    ]


def describe_squash(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> str:
    """Say how many gates lie on the flat parts of their curves."""
    plain, paper = shares(x, h, params, scale)
    return (
        f"With all weights times {scale:g}, {plain:.0%} of the gates lie on the flat parts of "
        f"their curves without a norm, {paper:.0%} with layer norm."
    )


SQUASH = Picture(
    draw_squash,
    describe_squash,
    alt="Two panels with the same two S-shaped curves and 64 points on them, a symbol a gate: "
    "without a norm they move outward with the scale, with layer norm they stay.",
)


def shares(x: np.ndarray, h: np.ndarray, params: Params, scale: float) -> list[float]:
    """Return the shares of gates on flat parts of their curves, without a norm and with.

    Flat is where the curve is less than a fifth as steep as in its middle.
    """
    found = []
    for form in ("plain", "paper"):
        opened = _squash(summed_inputs(x, h, _scaled(params, scale), form))
        # Slopes, 1 in the middle: 4 s (1 - s) of the logistic function, 1 - tanh^2 of tanh.
        slope = np.where(np.arange(4)[:, None] == 2, 1 - opened**2, 4 * opened * (1 - opened))
        found.append(float((slope < 0.2).mean()))
    return found


def _scaled(params: Params, scale: float) -> Params:
    return params | {name: scale * params[name] for name in ("W_ih", "W_hh")}


def _squash(gates: np.ndarray) -> np.ndarray:
    """Apply the logistic function to i, f and o, tanh to g; shape ``(4, ...)``."""
    opened = (1 + np.tanh(gates / 2)) / 2
    opened[2] = np.tanh(gates[2])
    return opened


EDGE = 8.0  # summed inputs beyond it are drawn at it


def _curves(gates: np.ndarray, title: str) -> go.Figure:
    figure = go.Figure()
    a = np.linspace(-EDGE, EDGE, 65)
    for y in ((1 + np.tanh(a / 2)) / 2, np.tanh(a)):
        figure.add_scatter(
            x=a, y=y, mode="lines", line={"color": COLORS["gray"], "width": 1}, hoverinfo="skip",
            showlegend=False,
        )  # fmt: skip
    for (name, color, symbol), row, y in zip(GATES.values(), gates, _squash(gates), strict=True):
        figure.add_scatter(
            x=np.clip(row, -EDGE, EDGE),
            y=y,
            mode="markers",
            name=name,
            marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.75},
            hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
        )
    figure.update_layout(
        title=title,
        height=340,
        xaxis={"title": "summed input", "range": [-1.05 * EDGE, 1.05 * EDGE]},
        yaxis={"title": "gate", "range": [-1.12, 1.12], "tickvals": [-1, 0, 0.5, 1]},
    )
    return figure


# The spread of each gate.

SPREADS = {"plain": "no norm", "paper": "together", "per_gate": "each alone"}


def spreads(x: np.ndarray, h: np.ndarray, params: Params, factor: float, form: str) -> np.ndarray:
    """Return the deviation of each gate's summed inputs over its units, ``(4,)``: i, f, g, o.

    Args:
        x: Shape ``(I,)``.
        h: Shape ``(H,)``.
        params: As for :func:`summed_inputs`.
        factor: On the rows of both matrices that belong to the forget gate.
        form: As for :func:`summed_inputs`.
    """
    return summed_inputs(x, h, louder(params, factor), form).std(axis=1)


def louder(params: Params, factor: float) -> Params:
    """Return parameters with the forget gate's rows of both matrices times ``factor``."""
    H = params["W_hh"].shape[1]
    rows = np.ones(4 * H)
    rows[H : 2 * H] = factor
    return params | {name: rows[:, None] * params[name] for name in ("W_ih", "W_hh")}


def draw_spread(x: np.ndarray, h: np.ndarray, params: Params, factor: float) -> go.Figure:
    """Draw the spread of each gate under no norm, the joint norm and a norm for each gate."""
    found = np.array([spreads(x, h, params, factor, form) for form in SPREADS])
    figure = go.Figure()
    for (gate, (name, color, _)), values in zip(GATES.items(), found.T, strict=True):
        figure.add_bar(
            x=list(SPREADS.values()),
            y=values,
            name=name,
            text=[gate] * len(SPREADS),
            textposition="outside",
            marker={"color": color},
            hovertemplate=f"{name}: %{{y:.2f}}<extra>%{{x}}</extra>",
        )
    figure.update_layout(
        title="Spread of the summed inputs of each gate",
        barmode="group",
        yaxis={"title": "deviation", "range": [0, 4.2]},
    )
    return figure


def describe_spread(x: np.ndarray, h: np.ndarray, params: Params, factor: float) -> str:
    """Say how much wider the forget gate spreads than the input gate."""
    ratios = [f / i for i, f, *_ in (spreads(x, h, params, factor, form) for form in SPREADS)]
    return (
        f"The forget gate spreads {ratios[0]:.2f} times as wide as the input gate without a norm, "
        f"{ratios[1]:.2f} times under the paper's, {ratios[2]:.2f} times with a norm for each."
    )


SPREAD = Picture(
    draw_spread,
    describe_spread,
    alt="Three groups of four bars, the spread of each gate: without a norm, under the joint norm "
    "of the paper, and with a norm for each gate, where all bars are 1.",
)


# How far the versions part.

STEPS, INPUTS = 50, 16
WIDTHS = (8, 32, 128)


@functools.cache
def drawn_weights(H: int) -> tuple[dict[str, np.ndarray], np.ndarray, State]:
    """Draw weights, 50 inputs ``(50, 1, 16)`` and a nonzero state, the same for every form.

    Args:
        H: Number of units.
    """
    rng = np.random.default_rng(H)
    params = {
        "W_ih": rng.normal(size=(4 * H, INPUTS)) / np.sqrt(INPUTS),
        "W_hh": rng.normal(size=(4 * H, H)) / np.sqrt(H),
    }
    state = rng.uniform(-0.9, 0.9, size=(1, H)), rng.normal(size=(1, H))
    return params, rng.normal(size=(STEPS, 1, INPUTS)), state


@functools.cache
def outputs(H: int, gain: float, start: str, form: str) -> np.ndarray:
    """Return the outputs h of an LN-LSTM, shape ``(50, H)``.

    Args:
        H: Number of units.
        gain: Of every norm of the cell.
        start: ``"zero"`` or ``"nonzero"``, the state before the first step.
        form: A key of :data:`FORMS`.
    """
    params, xs, state = drawn_weights(H)
    places = {"s": 4 * H, "c": H} if form == "per_gate" else {"i": 4 * H, "h": 4 * H, "c": H}
    params = params | {f"gain_{place}": np.full(n, float(gain)) for place, n in places.items()}
    if start == "zero":
        state = np.zeros((1, H)), np.zeros((1, H))
    hs = np.empty((STEPS, H))
    for t, x in enumerate(xs):
        state = cells.lstm_step(x, state, params, form=form)
        hs[t] = state[0][0]
    return hs


def apart(H: int, gain: float, start: str, form: str) -> np.ndarray:
    """Return the largest difference of a unit's output from the paper's, ``(50,)``."""
    return np.abs(outputs(H, gain, start, form) - outputs(H, gain, start, "paper")).max(axis=1)


def draw_apart(H: int, gain: float, start: str) -> list[go.Figure]:
    """Draw how far two versions are from the paper's, and one unit of all three."""
    steps = np.arange(1, STEPS + 1)
    gap, unit = go.Figure(), go.Figure()
    for form, (name, color, dash) in FORMS.items():
        line = {"color": color, "dash": dash, "width": 2}
        if form != "paper":
            gap.add_scatter(
                x=steps, y=apart(H, gain, start, form), mode="lines", name=name, line=line,
                hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
            )  # fmt: skip
        unit.add_scatter(
            x=steps[:20], y=outputs(H, gain, start, form)[:20, 0], mode="lines", name=name,
            line=line, hovertemplate=f"{name}, step %{{x}}: %{{y:.2f}}<extra></extra>",
        )  # fmt: skip
    gap.update_layout(
        title="Largest difference from the paper's h",
        xaxis={"title": "step", "range": [0, 51]},
        yaxis={"title": "difference", "range": [0, 2]},
    )
    unit.update_layout(
        title="Unit 1, the first 20 steps",
        xaxis={"title": "step", "range": [0, 21]},
        yaxis={"title": "h", "range": [-1, 1]},
    )
    return [label_ends(gap), label_ends(unit)]


def describe_apart(H: int, gain: float, start: str) -> str:
    """Say the difference at step 1 and the largest of all steps."""
    said = []
    for form in ("carried", "per_gate"):
        gap = apart(H, gain, start, form)
        said.append(f"{FORMS[form][0]} {gap[0]:.2f} and {gap.max():.2f}")
    return f"From the paper's outputs, at step 1 and at most in 50 steps: {'; '.join(said)}."


APART = Picture(
    draw_apart,
    describe_apart,
    alt="Left: over fifty steps, how far the outputs of two versions are from the paper's. "
    "Right: one unit of all three over twenty steps.",
)


def versions() -> Table:
    """Tabulate who normalizes what and carries what; each row was read in its source."""
    return Table(
        ["Gates", "Carried to the next step", "Who"],
        [
            ["two parts, four gates together", "the cell", "the paper; its authors' Theano"],
            [
                "two parts, four gates together",
                "the normalized cell",
                "PyTorch's custom_lstms.py; TensorFlow Addons",
            ],
            ["the sum, each gate alone", "the cell", "labml's annotated LSTM"],
            [
                "the sum, each gate alone",
                "the normalized cell",
                "TensorFlow 1, LayerNormBasicLSTMCell",
            ],
        ],
        "One name, four cells. In all of them the cell is normalized before tanh.",
    )


# What a test sees.


def _no_hidden_norm(x: np.ndarray, state: State, params: Params) -> State:
    h, c = state
    gates = layer_norm(x @ params["W_ih"].T) + h @ params["W_hh"].T
    return finish(gates, c)


def _shifted_hidden(x: np.ndarray, state: State, params: Params) -> State:
    h, c = state
    hidden = layer_norm(h @ params["W_hh"].T)
    return finish(layer_norm(x @ params["W_ih"].T) + np.roll(hidden, h.shape[1], axis=1), c)


def _no_forget(x: np.ndarray, state: State, params: Params) -> State:
    h, c = state
    gates = layer_norm(x @ params["W_ih"].T) + layer_norm(h @ params["W_hh"].T)
    gates[:, h.shape[1] : 2 * h.shape[1]] = 30.0  # wide open
    return finish(gates, c)


def finish(gates: np.ndarray, c: np.ndarray) -> State:
    """Return ``(h, c)`` from summed inputs ``(B, 4H)`` and the cell before, eqs. 21 and 22."""
    i, f, g, o = _squash(np.stack(np.split(gates, 4, axis=1)))
    c = f * c + i * g
    return o * np.tanh(layer_norm(c)), c


#: Cells that are wrong, each in one place.
MISTAKES = {
    "W_h h is not normalized": _no_hidden_norm,
    "the gates of W_h h are in another order": _shifted_hidden,
    "the forget gate is always open": _no_forget,
    "the normalized cell is carried on": functools.partial(cells.lstm_step, form="carried"),
}


def seen(step: Any, start: str, steps: int = 3, H: int = 32) -> np.ndarray:
    """Return by how much a cell's output differs from the paper's after each step, ``(steps,)``.

    Args:
        step: Called as ``step(x, (h, c), params)``.
        start: ``"zero"`` or ``"nonzero"``.
        steps: How many.
        H: Number of units.
    """
    params, xs, state = drawn_weights(H)
    if start == "zero":
        state = np.zeros((1, H)), np.zeros((1, H))
    right = wrong = state
    gaps = []
    for x in xs[:steps]:
        right, wrong = cells.lstm_step(x, right, params), step(x, wrong, params)
        gaps.append(np.abs(right[0] - wrong[0]).max())
    return np.array(gaps)


def mistakes() -> Table:
    """Tabulate what a test of one or more steps sees of a mistake."""
    rows = []
    for name, step in MISTAKES.items():
        zero, nonzero = seen(step, "zero"), seen(step, "nonzero")
        rows.append([name, *(_gap(v) for v in (zero[0], nonzero[0], *nonzero[1:]))])
    return Table(
        ["Mistake", "Zero state, step 1", "Nonzero state, step 1", "step 2", "step 3"],
        rows,
        "Largest error of h, H = 32: what a test would have seen.",
    )


def _gap(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.2f}"


# The gain at the start.

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
        found = {"gates": _squash(gates), "h": state[0][0]}
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
    figure.update_layout(
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
    figure.update_layout(
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
    figure.update_layout(
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


# What it learns.

#: Names of the cells in the records, with and without layer norm.
CELLS = {"LSTM": "lstm", "GRU": "gru", "simple": "rnn"}
STEP_NAMES = {"a row": "row", "a pixel": "pixel"}
MEASURES = {"train_nll": "Training NLL", "test_error": "Test error"}
UNITS = {"train_nll": "nats", "test_error": "%"}
TICKS = {"train_nll": [0.0001, 0.001, 0.01, 0.1, 1], "test_error": [1, 3, 10, 30]}
RANGES = {"train_nll": (0.00007, 5), "test_error": (0.4, 98)}
RACED = ("layer", "none")


class Learned:
    """Recorded runs of sequential digits, one curve a seed.

    A norm is ``layer`` or ``none``. Runs of layer norm in another form, or from other gains or
    biases, are named by that, such as ``gain 0.1``.

    Args:
        records: As :func:`lnlib.runs.record.read_all` returns them. Of one cell, step and norm
            all must be measured at the same epochs and differ in the seed alone.

    Raises:
        ValueError: If there are no records, or runs to be drawn as one band are not comparable.
    """

    def __init__(self, records: Sequence[dict[str, Any]]):
        if not records:
            raise ValueError("Learned: no records were given; record them with: make replay")
        self._kept: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for r in sorted(records, key=lambda r: r["seed"]):
            chosen = r["settings"]
            norm = _norm(chosen)
            kept = self._kept.setdefault((chosen["cell"], chosen["step"], norm), [])
            if kept and kept[0]["settings"] != chosen:
                raise ValueError(
                    f"Learned: runs of {chosen['cell']}, {chosen['step']}, {norm} must have the "
                    "same settings to be one band; filter them first"
                )
            kept.append(r)
        #: Cell, step and norm of the bands of another layer norm than ``layer``.
        self.others = sorted(
            (key for key in self._kept if not key[2].startswith(RACED)), reverse=True
        )

    def seeds(self, cell: str, step: str, norm: str) -> list[int]:
        """Return the seeds of a band, in the order of its curves."""
        return [r["seed"] for r in self._kept[cell, step, norm]]

    def rate(self, cell: str, step: str, norm: str) -> float:
        """Return the learning rate of a band."""
        return self._kept[cell, step, norm][0]["settings"]["learning_rate"]

    def epochs(self, cell: str, step: str) -> np.ndarray:
        """Return the epochs (points,) at which the runs were measured, 0 first."""
        return np.array(self._kept[cell, step, "layer"][0]["curves"]["epoch"])

    def curves(self, cell: str, step: str, norm: str, name: str) -> np.ndarray:
        """Return curves ``(seeds, points)``: NLL in nats, test error in percent."""
        values = np.array([r["curves"][name] for r in self._kept[cell, step, norm]], float)
        return values * (100 if name == "test_error" else 1)

    def at(self, epoch: float, cell: str, step: str, norm: str, name: str) -> np.ndarray:
        """Return the values ``(seeds,)`` at the last point measured up to ``epoch``."""
        point = np.searchsorted(self.epochs(cell, step), epoch + 1e-3, side="right") - 1
        return self.curves(cell, step, norm, name)[:, point]

    def pairs(
        self, epoch: float, cell: str, step: str, norm: str, name: str, against: str = "none"
    ) -> np.ndarray:
        """Return values with ``norm``, then with ``against``, of the seeds of both, ``(2, n)``."""
        both = sorted({*self.seeds(cell, step, norm)} & {*self.seeds(cell, step, against)})
        found = []
        for n in (norm, against):
            seeds, values = self.seeds(cell, step, n), self.at(epoch, cell, step, n, name)
            found.append(values[[seeds.index(seed) for seed in both]])
        return np.array(found)


def _norm(chosen: dict[str, Any]) -> str:
    """Name the norm of a run by its settings."""
    unusual = []
    if chosen.get("gain", 1) != 1:
        unusual.append(f"gain {chosen['gain']:g}")
    if chosen.get("form", "paper") != "paper":
        unusual.append(FORMS[chosen["form"]][0] if chosen["form"] in FORMS else chosen["form"])
    if chosen.get("bias_init", "zeros") != "zeros":
        unusual.append("biases drawn")
    if chosen["norm"] == "none" or not unusual:
        unusual.insert(0, chosen["norm"])
    return ", ".join(unusual)


def draw_learned(learned: Learned, epoch: float, cell: str, step: str) -> list[go.Figure]:
    """Draw training NLL and test error over epochs, with a cursor at ``epoch``.

    A line is the mean of the seeds, its band reaches from the lowest to the highest.
    """
    return [_learned(learned, name, epoch, cell, step) for name in MEASURES]


def _learned(learned: Learned, name: str, epoch: float, cell: str, step: str) -> go.Figure:
    figure, epochs = go.Figure(), learned.epochs(cell, step)
    for norm in RACED:
        curves = np.maximum(learned.curves(cell, step, norm, name), RANGES[name][0])
        hover = f"epoch %{{x:.3g}}: %{{y:.3g}} {UNITS[name]}"
        band(figure, epochs, spread(curves), NORMS[norm], hover)
    epoch = min(epoch, float(epochs[-1]))
    for norm in RACED:
        mean = learned.at(epoch, cell, step, norm, name).mean()
        figure.add_scatter(
            x=[epoch],
            y=[max(mean, RANGES[name][0])],
            mode="markers",
            marker={"color": NORMS[norm][1], "size": 10},
            hoverinfo="skip",
            showlegend=False,
        )
    _axes(figure, name, float(epochs[-1]))
    figure.update_layout(shapes=[cursor(epoch)])
    return label_ends(figure)


def _axes(figure: go.Figure, name: str, until: float) -> None:
    figure.update_layout(
        title=MEASURES[name],
        height=300,
        xaxis={"title": "epochs", "range": [-0.02 * until, 1.02 * until]},
        yaxis={
            "type": "log",
            "title": UNITS[name],
            "tickvals": TICKS[name],
            "ticktext": [f"{t:g}" for t in TICKS[name]],
            "range": [np.log10(v) for v in RANGES[name]],
        },
    )


def describe_learned(learned: Learned, epoch: float, cell: str, step: str) -> str:
    """Say where both stand at the cursor, mean of the seeds."""
    epoch = min(epoch, float(learned.epochs(cell, step)[-1]))
    said = [
        f"{NORMS[norm][0]} {learned.at(epoch, cell, step, norm, 'train_nll').mean():.2g} nats and "
        f"{learned.at(epoch, cell, step, norm, 'test_error').mean():.1f} %"
        for norm in RACED
    ]
    return f"Training NLL and test error after {_epochs(epoch)}: {'; '.join(said)}."


LEARNED = Picture(
    draw_learned,
    describe_learned,
    alt="Two panels of curves over epochs, training NLL and test error, with layer norm and "
    "without, the range of the seeds as a band.",
)


def _epochs(epoch: float) -> str:
    return f"{epoch:.3g} epoch{'s' * (epoch != 1)}"


def verdicts(learned: Learned, early: float) -> Table:
    """Judge, cell by cell, whether layer norm learns faster and whether it ends better.

    A verdict compares the two runs of each seed; :func:`lnlib.compare.verdict` gives it.

    Args:
        learned: The recorded runs.
        early: After which epoch the training NLL says who is faster.
    """
    keys = [(cell, step, "layer") for step in STEP_NAMES.values() for cell in CELLS.values()]
    cell_names = {cell: name for name, cell in CELLS.items()}
    rows = []
    for cell, step, norm in keys + learned.others:
        end = float(learned.epochs(cell, step)[-1])
        row = [f"{cell_names[cell]}, {step}s"]
        if norm != "layer":
            row[0] += f", {norm}"
        for name, epoch, digits in (("train_nll", early, 3), ("test_error", end, 1)):
            layer, none = learned.pairs(epoch, cell, step, norm, name)
            row += [
                verdict(layer - none),
                f"{layer.mean():.{digits}f} against {none.mean():.{digits}f} {UNITS[name]}",
            ]
        rows.append(row)
    seeds = sorted({len(learned.pairs(0, *key, "train_nll")[0]) for key in keys + learned.others})
    return Table(
        [
            "Cell",
            "Ahead early",
            f"NLL after {_epochs(early)}",
            "Ends with fewer errors",
            "Test error at the end",
        ],
        rows,
        f"Layer norm against none, judged by {' or '.join(map(str, seeds))} seeds a line. The "
        "numbers, training NLL and test error, are the seeds' means.",
    )


def draw_race(results: Sequence[dict[str, dict[str, float]]], **settings: Any) -> list[go.Figure]:
    """Draw two networks that train side by side: training NLL and test error so far.

    Args:
        results: As :func:`lnlib.experiments.sequence.run.race` yields them, at least one.
        **settings: As given to it; they do not change the picture.
    """
    figures = []
    for name in MEASURES:
        figure = go.Figure()
        for norm in results[-1]:
            label, color, dash = NORMS[norm]
            figure.add_scatter(
                x=[r[norm]["epoch"] for r in results],
                y=[r[norm][name] * (100 if name == "test_error" else 1) for r in results],
                mode="lines+markers",
                name=label,
                line={"color": color, "dash": dash, "width": 2.5},
                marker={"size": 4},
                hovertemplate=f"{label}, epoch %{{x:.3g}}: %{{y:.3g}} {UNITS[name]}<extra></extra>",
            )
        _axes(figure, name, RACE_EPOCHS)
        figures.append(label_ends(figure))
    return figures


#: Epochs of a live race.
RACE_EPOCHS = 10


def describe_race(results: Sequence[dict[str, dict[str, float]]], **settings: Any) -> str:
    """Say where each stands."""
    if not results:
        return "Press Start to train the two networks side by side; Stop keeps what was reached."
    last = results[-1]
    parts = [
        f"{NORMS[norm][0]} {point['train_nll']:.3f} nats, {point['test_error']:.1%} wrong"
        for norm, point in last.items()
    ]
    return f"After {_epochs(next(iter(last.values()))['epoch'])}: {'; '.join(parts)}."


RACE = Picture(
    draw_race,
    describe_race,
    alt="Two panels of curves over epochs, training NLL and test error, one with layer norm and "
    "one without.",
)
