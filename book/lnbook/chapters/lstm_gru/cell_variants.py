"""Four cells that are called LN-LSTM, and how well tests detect mistakes."""

import functools
from typing import Any

import numpy as np

from lnbook.chapters.lstm_gru.lstm import Params, State, finish
from lnbook.figures.table import Table
from lnlib import cells
from lnlib.norms import layer_norm

#: Forms of :func:`lnlib.cells.lstm_step` that are called LN-LSTM.
FORMS = {
    "paper": "the paper's",
    "carried": "normalized cell state carried on",
    "per_gate": "one norm per gate",
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
        gain: Gain of every norm of the cell.
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


def output_difference(H: int, gain: float, start: str, form: str) -> np.ndarray:
    """Return the largest difference of a unit's output from the paper's form, ``(50,)``."""
    return np.abs(outputs(H, gain, start, form) - outputs(H, gain, start, "paper")).max(axis=1)


def versions() -> Table:
    """Return a table of what public code normalizes and carries, as read in its source."""
    return Table(
        ["Norms of the gates", "Cell state carried to the next step", "Found in"],
        [
            [
                "Wₓx and Wₕh, four gates together",
                "not normalized",
                "the paper; its authors' Theano code",
            ],
            [
                "Wₓx and Wₕh, four gates together",
                "normalized",
                "PyTorch's custom_lstms.py; TensorFlow Addons",
            ],
            ["the sum, one norm per gate", "not normalized", "labml's annotated LSTM"],
            [
                "the sum, one norm per gate",
                "normalized",
                "TensorFlow 1, LayerNormBasicLSTMCell",
            ],
        ],
        "Four different cells called LN-LSTM. All of them normalize the cell state before tanh.",
    )


# What a test detects.


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


#: Cells with one mistake each.
MISTAKES = {
    "Wₕh is not normalized": _no_hidden_norm,
    "the gates of Wₕh are in the wrong order": _shifted_hidden,
    "the forget gate is always open": _no_forget,
    "the normalized cell state is carried to the next step": functools.partial(
        cells.lstm_step, form="carried"
    ),
}


def seen(step: Any, start: str) -> np.ndarray:
    """Return how much a cell's output differs from the paper's form after each of three steps.

    Args:
        step: Called as ``step(x, (h, c), params)``.
        start: ``"zero"`` or ``"nonzero"``.
    """
    H = 32
    params, xs, state = drawn_weights(H)
    if start == "zero":
        state = np.zeros((1, H)), np.zeros((1, H))
    right = wrong = state
    gaps = []
    for x in xs[:3]:
        right, wrong = cells.lstm_step(x, right, params), step(x, wrong, params)
        gaps.append(np.abs(right[0] - wrong[0]).max())
    return np.array(gaps)


def mistakes() -> Table:
    """Return a table of the mistakes that a test of one or more steps detects."""
    rows = []
    for name, step in MISTAKES.items():
        zero, nonzero = seen(step, "zero"), seen(step, "nonzero")
        rows.append([name, *(_gap(v) for v in (zero[0], nonzero[0], *nonzero[1:]))])
    return Table(
        ["Mistake", "Zero state, step 1", "Nonzero state, step 1", "Step 2", "Step 3"],
        rows,
        "Largest error of h with 32 units. A 0 means that the test does not detect the mistake.",
    )


def _gap(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.2f}"
