"""Four cells of one name: how far they part, and what a test sees of a mistake."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.lstm_gru.lstm import Params, State, finish
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import label_ends
from lnbook.figures.table import Table
from lnlib import cells
from lnlib.norms import layer_norm

#: Forms of :func:`lnlib.cells.lstm_step` that go by the name of LN-LSTM.
FORMS = {
    "paper": ("the paper's", COLORS["layer"], "solid"),
    "carried": ("normalized cell carried on", COLORS["first"], "dash"),
    "per_gate": ("each gate alone", COLORS["second"], "dot"),
}

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
    gap.layout = dict(
        title="Largest difference from the paper's h",
        xaxis={"title": "step", "range": [0, 51]},
        yaxis={"title": "difference", "range": [0, 2]},
    )
    unit.layout = dict(
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
