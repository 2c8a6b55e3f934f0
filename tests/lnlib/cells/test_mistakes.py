"""Errors of cell steps for invalid arguments."""

import numpy as np
import pytest

from lnlib import cells
from lnlib.cells import RecurrentBatchNorm, lstm_step, rnn_step
from tests.cases.cells import FORMS, make, step

# Mistakes.

MISTAKES = {
    "form": (lambda p, x, h: rnn_step(x, h, p, form="gru"), "form must be one of.*'gru'"),
    "nonlinearity": (lambda p, x, h: rnn_step(x, h, p, nonlinearity="selu"), "nonlinearity.*selu"),
    "name": (lambda p, x, h: rnn_step(x, h, p | {"gain_sum": p["gain_s"]}), "mean 'gain_s'"),
    "gates": (
        lambda p, x, h: lstm_step(x, (h, h), {k: p[k] for k in ("W_ih", "W_hh")}),
        r"\(4 H, I\)",
    ),
    "x": (lambda p, x, h: rnn_step(x[0], h, p), r"x must be of shape \(B, 3\), got \(3,\)"),
    "h": (lambda p, x, h: rnn_step(x, h[:2], p), r"h must be of shape \(5, 4\), got \(2, 4\)"),
    "gain": (lambda p, x, h: rnn_step(x, h, p | {"gain_s": np.ones(3)}), r"gain_s must be of"),
    "eps": (lambda p, x, h: rnn_step(x, h, p, eps=-1), "eps must be finite and >= 0"),
    "statistics": (
        lambda p, x, h: rnn_step(x, h, p, batch_norm=RecurrentBatchNorm().at(0)),
        "batch_norm belongs to form 'batch'",
    ),
    "momentum": (lambda p, x, h: RecurrentBatchNorm(momentum=0), "momentum.*got 0"),
    "skipped step": (lambda p, x, h: RecurrentBatchNorm().at(1), "train on the steps in order"),
    "no training": (lambda p, x, h: RecurrentBatchNorm().at(0, training=False), "0 steps with"),
    "negative step at test time": (
        lambda p, x, h: trained(p, x, h).at(-1, training=False),
        "from 0 and statistics from training, got t = -1 and 1 steps",
    ),
}


def trained(params, x, h):
    statistics = RecurrentBatchNorm()
    step("rnn", "batch", {k: params[k] for k in ("W_ih", "W_hh")}, x, h, None,
         batch_norm=statistics.at(0))  # fmt: skip
    return statistics


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_invalid_values_are_named_in_the_error(wrong, match):
    params, x, h, _ = make("rnn", "paper")
    with pytest.raises(ValueError, match=match):
        wrong(params, x, h)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda p, x, h: rnn_step(x.tolist(), h, p), "x must be a NumPy array of floats, got list"),
        (lambda p, x, h: rnn_step(x, h, p | {"W_hh": np.eye(4, dtype=int)}), "W_hh.*got int64"),
        (lambda p, x, h: lstm_step(x, h, p), r"state must be a pair of arrays \(h, c\)"),
        (lambda p, x, h: lstm_step(x, (h, h, h), p), r"state must be a pair of arrays \(h, c\)"),
        (lambda p, x, h: rnn_step(x, h, list(p)), "params must be a dict"),
        (lambda p, x, h: rnn_step(x, h.tolist(), p), "h must be a NumPy array of floats, got list"),
    ],
    ids=["list", "ints", "no pair", "a triple", "no dict", "a list as state"],
)
def test_invalid_types_are_named_in_the_error(wrong, match):
    params, x, h, _ = make("rnn", "paper")
    with pytest.raises(TypeError, match=match):
        wrong(params, x, h)


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        (cell, n)
        for cell in FORMS
        for n in ("x", "h", "c", "dh", "dc")
        if n[-1] != "c" or cell == "lstm"
    ],
)
def test_errors_of_backward_steps_name_their_arguments(cell, name):
    params, x, h, c = make(cell, "paper")
    given = {"x": x, "h": h, "c": c, "dh": h, "dc": c}
    given[name] = given[name][:, :2]
    backward = getattr(cells, f"{cell}_step_backward")
    state, dstate = given["h"], given["dh"]
    if cell == "lstm":
        state, dstate = (state, given["c"]), (dstate, given["dc"])
    with pytest.raises(ValueError, match=rf"^{cell}_step_backward: {name} must .*\(5, 2\)"):
        backward(dstate, given["x"], state, params)
