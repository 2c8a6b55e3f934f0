"""Diagrams compared with lnlib: normalization sets by perturbation, cells box by box."""

import re

import numpy as np
import pytest

import lnlib
from lnbook.diagrams import cells as drawn
from lnbook.diagrams import cubes, residuals
from tests.cases.cells import H, make, step

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


def computed(shown, values, params):
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


@pytest.mark.parametrize(
    ("shown", "cell", "places"), [(drawn.LSTM, "lstm", "h i c"), (drawn.GRU, "gru", "h i in hn")]
)
def test_drawn_cells_compute_the_same_as_the_library(shown, cell, places):
    params, x, h, c = make(cell, "paper")
    W_x, W_h = params["W_ih"], params["W_hh"]
    p = {"W_x": W_x, "W_h": W_h}
    if cell == "gru":
        p = {"W_x": W_x[: 2 * H], "W": W_x[2 * H :], "W_h": W_h[: 2 * H], "U": W_h[2 * H :]}
    for k, place in enumerate(places.split(), 1):
        p |= {f"{kind}_{k}": params[f"{kind}_{place}"] for kind in ("gain", "bias")}
    value = computed(shown, {"x": x[0], "h": h[0], "c": c[0], "b": params.get("b")}, p)
    new = [value("h_next"), value("c_next")] if cell == "lstm" else [value("h_next")]
    expected = step(cell, "paper", params, x, h, c)[0]
    np.testing.assert_allclose(np.concatenate(new), expected, atol=SAME)


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
