"""Diagrams compared with lnlib: normalization sets by perturbation, cells box by box."""

import re

import numpy as np
import pytest

import lnlib
from lnbook.diagrams import cells as drawn
from lnbook.diagrams import cubes, residuals
from lnlib import cells

SAME = 1e-12  # float64: sums in another order


def over_example(norm):
    """A norm over all numbers of an example."""
    return lambda x: norm(x.reshape(len(x), -1)).reshape(x.shape)


def over_channels(norm):
    """A norm over the last axis, for (batch, channel, position)."""
    return lambda x: norm(x.swapaxes(1, 2)).swapaxes(1, 2)


COMPUTED = {
    "LayerNorm(C)": over_channels(lnlib.layer_norm),
    "RMSNorm(C)": over_channels(lnlib.rms_norm),
    "BatchNorm": lnlib.batch_norm,
    "InstanceNorm": lnlib.instance_norm,
    "GroupNorm(2, C)": lambda x: lnlib.group_norm(x, 2),
    "LayerNorm([C, T])": over_example(lnlib.layer_norm),
}


@pytest.mark.parametrize("name", cubes.NORMS)
def test_highlighted_cells_are_those_that_affect_each_other(name):
    x = np.random.default_rng(0).normal(size=cubes.SHAPE)
    before, numbers = COMPUTED[name](x), cubes.sets(name)
    for cell in np.ndindex(x.shape):
        changed = x.copy()
        changed[cell] += 1
        moved = np.abs(COMPUTED[name](changed) - before) > 1e-9
        assert np.array_equal(moved, numbers == numbers[cell]), cell


# One step, computed along the arrows.


def computed(shown, values, params, H):
    """Evaluate a diagram: compute every box from its inputs."""

    def norm(place):
        return lambda z: lnlib.layer_norm(z, params[f"gain_{place}"], params[f"bias_{place}"])

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    def take(gates, gate):
        return lambda a: a[gates.index(gate) * H : (gates.index(gate) + 1) * H]

    gates = "ifgo" if "o" in shown.boxes else "rz"
    functions = {"σ": sigmoid, "tanh": np.tanh}

    def value(name):
        if name in values:
            return values[name]
        box = shown.boxes[name]
        into = [value(w.source) for w in shown.wires if w.target == name]
        if box.kind == "sum":
            return sum(into)
        if box.kind == "times":
            return np.prod(into, axis=0)
        (a,) = into
        if box.kind == "weight":
            return params[name] @ a
        if box.kind == "norm":
            return norm(re.search(r"α_(\d)", box.note)[1])(a)
        if box.kind == "minus":
            return 1 - a
        result = re.fullmatch(r"(σ|tanh)\((\w)\)", box.label)
        if result:
            return functions[result[1]](take(gates, result[2])(a))
        return a if box.kind == "end" else functions[box.label](a)

    return value


def gains(rng, blocks, H):
    """Random gains and biases by position, each for one or several blocks."""
    return {
        f"{kind}_{k}": rng.normal(size=n * H)
        for k, n in enumerate(blocks, 1)
        for kind in ("gain", "bias")
    }


@pytest.mark.parametrize("shown", [drawn.LSTM, drawn.GRU], ids=["LSTM", "GRU"])
def test_drawn_cells_compute_the_same_as_the_library(shown):
    rng, H, lstm = np.random.default_rng(0), 5, shown is drawn.LSTM
    state = {"x": rng.normal(size=3), "h": rng.normal(size=H)}
    if lstm:
        state |= {"c": rng.normal(size=H), "b": rng.normal(size=4 * H)}
    blocks, places = ((4, 4, 1), "h i c") if lstm else ((2, 2, 1, 1), "h i in hn")
    p = gains(rng, blocks, H)
    sizes = (("W_h", 4, H), ("W_x", 4, 3)) if lstm else (
        ("W_h", 2, H), ("W_x", 2, 3), ("U", 1, H), ("W", 1, 3))  # fmt: skip
    p |= {name: rng.normal(size=(n * H, inputs)) for name, n, inputs in sizes}
    theirs = {f"{kind}_{place}": p[f"{kind}_{k}"] for kind in ("gain", "bias")
              for k, place in enumerate(places.split(), 1)}  # fmt: skip
    value = computed(shown, state, p, H)
    if lstm:
        theirs |= {"W_ih": p["W_x"], "W_hh": p["W_h"], "b": state["b"]}
        h, c = cells.lstm_step(state["x"][None], (state["h"][None], state["c"][None]), theirs)
        np.testing.assert_allclose(value("c_next"), c[0], atol=SAME)
    else:
        theirs |= {"W_ih": np.vstack([p["W_x"], p["W"]]), "W_hh": np.vstack([p["W_h"], p["U"]])}
        h = cells.gru_step(state["x"][None], state["h"][None], theirs)
    np.testing.assert_allclose(value("h_next"), h[0], atol=SAME)


# Residual blocks.


def block_value(panel, norm):
    shown, functions = panel.flow, {"LN": norm, "linear": lambda x: x @ MIX, "ReLU": relu}

    def value(name, x):
        if name == "x":
            return x
        into = [value(w.source, x) for w in shown.wires if w.target == name]
        label = shown.boxes[name].label
        return functions[label](*into) if label in functions else sum(into)

    return lambda x: value("y", x)


MIX = np.random.default_rng(1).normal(size=(4, 4))


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.parametrize(
    ("form", "formula"),
    [
        ("pre", lambda x, n: x + relu(n(x) @ MIX)),
        ("post", lambda x, n: n(x + relu(x @ MIX))),
        ("sandwich", lambda x, n: x + n(relu(n(x) @ MIX))),
        ("inner", lambda x, n: x + relu(n(x @ MIX))),
    ],
)
def test_drawn_blocks_and_their_formula_compute_the_same(form, formula):
    (panel,) = residuals.panels(("linear", "ReLU"), {form: None})
    x = np.random.default_rng(0).normal(size=(2, 4))
    expected = formula(x, lnlib.layer_norm)
    assert np.array_equal(block_value(panel, lnlib.layer_norm)(x), expected)
    text = panel.formula.removeprefix("y = ").replace("linear(", "relu_in(")
    names = {"x": x, "LN": lnlib.layer_norm, "ReLU": relu, "relu_in": lambda x: x @ MIX}
    assert np.array_equal(eval(text, names), expected)
    assert panel.free == (form != "post")
    assert residuals.describe([panel]).startswith("No norm" if panel.free else "A norm")
