"""NumPy cells with random parameters, by name and form, and their gradients."""

import numpy as np
import pytest

from lnlib import cells
from lnlib.cells import gru_step, lstm_step, rnn_step

EXACT = 1e-12

B, I, H = 5, 3, 4  # noqa: E741
FORMS = {
    "rnn": ["plain", "paper", "parts", "batch"],
    "lstm": ["plain", "paper", "carried", "per_gate", "draw", "batch"],
    "gru": ["plain", "paper", "batch"],
}
EACH = [(cell, form) for cell, forms in FORMS.items() for form in forms]
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
each = pytest.mark.parametrize(("cell", "form"), EACH, ids=lambda v: v)


def places(cell, form):
    """Maps positions of norms to the number of gates they span; 0 stands for the cell."""
    if form == "plain":
        return {}
    if cell == "gru":
        return {"i": 2, "h": 2, "in": 1, "hn": 1}
    table = {
        ("rnn", "paper"): "s",
        ("rnn", "parts"): "ih",
        ("rnn", "batch"): "ih",
        ("lstm", "per_gate"): "sc",
        ("lstm", "draw"): "c",
    }
    return {p: 1 if p == "c" else GATES[cell] for p in table.get((cell, form), "ihc")}


def make(cell, form, seed=0, scale=1.0):
    """Parameters with gains away from 1 and biases away from 0, an input and a state."""
    rng = np.random.default_rng(seed)
    G = GATES[cell] * H
    params = {"W_ih": rng.normal(size=(G, I)), "W_hh": rng.normal(size=(G, H))}
    if form not in ("paper", "batch") or cell == "lstm":
        params["b"] = rng.normal(size=G)
    if (cell, form) == ("rnn", "batch"):
        params["b"] = rng.normal(size=G)
    for place, span in places(cell, form).items():
        params[f"gain_{place}"] = rng.uniform(0.5, 2, size=span * H)
        params[f"bias_{place}"] = rng.normal(size=span * H)
    x, h, c = rng.normal(size=(B, I)), rng.normal(size=(B, H)), rng.normal(size=(B, H))
    return params, scale * x, h, c


def step(cell, form, params, x, h, c, **options):
    """Return the next state as one array, with h and c concatenated for an LSTM."""
    if cell == "lstm":
        return np.concatenate(lstm_step(x, (h, c), params, form=form, **options), axis=1)
    return {"rnn": rnn_step, "gru": gru_step}[cell](x, h, params, form=form, **options)


def backward(cell, form, params, x, h, c, d, **options):
    """Return the gradient with respect to each argument, given that with respect to the result."""
    if cell == "lstm":
        split = d[:, :H], d[:, H:]
        dx, (dh, dc), dparams = cells.lstm_step_backward(
            split, x, (h, c), params, form=form, **options
        )
        return {"x": dx, "h": dh, "c": dc} | dparams
    backward = {"rnn": cells.rnn_step_backward, "gru": cells.gru_step_backward}[cell]
    dx, dh, dparams = backward(d, x, h, params, form=form, **options)
    return {"x": dx, "h": dh} | dparams
