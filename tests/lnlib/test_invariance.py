from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlib.invariance import (
    NORMS,
    ROUNDING,
    TABLE_1,
    TRANSFORMS,
    change,
    changes,
    measure,
    network,
    output,
    transform,
)

# eps = 0, float64: invariant cells changed by at most 1.3e-13, the others by at least 0.06.
SAME, CHANGED = 1e-12, 1e-2

CELLS = [(norm, name) for norm in TABLE_1 for name in TABLE_1[norm]]
each_cell = pytest.mark.parametrize(("norm", "name"), CELLS, ids=lambda v: v)


def random_data(rng):
    return rng.normal(size=(16, 8))


def adversarial_data(rng):
    """Features of scales from 0.01 to 100, each far from 0 and tied to the next; a case near 0."""
    X = rng.normal(size=(16, 8))
    X[:, 1:] += 0.9 * X[:, :-1]
    X = (X + 5) * np.logspace(-2, 2, 8)
    X[-1] *= 1e-3
    return X


DATA = {"random": random_data, "adversarial": adversarial_data}
each_data = pytest.mark.parametrize("data", DATA.values(), ids=DATA)


@each_cell
@each_data
@pytest.mark.parametrize("strength", [0.1, 3.0, 10.0])
def test_every_cell_of_table_1_holds(norm, name, data, strength):
    rng = np.random.default_rng(0)
    X = data(rng)
    layers = network([X.shape[1], 12], rng)
    largest = measure(norm, name, X=X, layers=layers, strength=strength, rng=rng)
    assert (largest < SAME) if TABLE_1[norm][name] else (largest > CHANGED)


RESCALING = {"weight_matrix_rescaling", "dataset_rescaling", "single_case_rescaling"}
BEYOND = {"none": set(), "rms": RESCALING}
BEYOND |= dict.fromkeys(("group", "instance"), RESCALING | {"weight_matrix_recentering"})


@pytest.mark.parametrize("norm", BEYOND)
@pytest.mark.parametrize("name", TRANSFORMS[:6])
def test_norms_that_are_not_in_the_paper_have_a_row(norm, name):
    largest = measure(norm, name)
    assert (largest < SAME) if name in BEYOND[norm] else (largest > CHANGED)


X, LAYERS = (
    np.random.default_rng(11).normal(size=(5, 8)) + 0.5,
    network([8, 12], np.random.default_rng(0)),
)


@pytest.mark.parametrize("units", [[12], [12, 8]])
@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_all_eighteen_cells_agree_with_the_paper(units, strength):
    result = changes(X, units, strength=strength)
    assert result.shape == (10, 7)
    for norm, name in CELLS:
        cell = result[TRANSFORMS.index(name), NORMS.index(norm)]
        assert (cell < ROUNDING) == TABLE_1[norm][name]


def test_eps_only_breaks_invariances_to_scale():
    with_eps, without = (changes(X, [12], eps=eps)[:6, :3] for eps in (1e-2, 0))
    broken = np.argwhere((with_eps >= ROUNDING) & (without < ROUNDING))
    assert {(NORMS[j], TRANSFORMS[i]) for i, j in broken} == {
        (norm, name)
        for norm, name in CELLS
        if TABLE_1[norm][name] and name.endswith("rescaling") and norm != "weight"
    }


@pytest.mark.parametrize("activation", ["identity", "tanh", "relu"])
@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_and_activation_equals_pytorchs(norm, activation):
    rng = np.random.default_rng(0)
    layers = network([8, 12, 4], rng, norm=norm)
    layers = (replace(layers[0], input_bias=rng.normal(size=12)), layers[1])
    X = rng.normal(size=(5, 8))
    h, eps = torch.from_numpy(X), 0.3
    for layer in layers:
        W, gain, bias = map(torch.from_numpy, (layer.W, layer.gain, layer.bias))
        a = h @ W.T + (0 if layer.input_bias is None else torch.from_numpy(layer.input_bias))
        if norm == "batch":
            a = F.batch_norm(a, None, None, gain, bias, training=True, eps=eps)
        elif norm == "layer":
            a = F.layer_norm(a, a.shape[1:], gain, bias, eps)
        elif norm == "rms":
            a = F.rms_norm(a, a.shape[1:], gain, eps) + bias
        elif norm == "group":
            a = F.group_norm(a, 2, gain, bias, eps)
        elif norm == "instance":
            a = F.instance_norm(a.view(5, -1, 4), None, None, gain, bias, eps=eps).view(5, -1)
        else:
            a = gain * a / (W.norm(dim=1) if norm == "weight" else 1) + bias
        h = {"identity": lambda a: a, "tanh": torch.tanh, "relu": torch.relu}[activation](a)
    actual = output(norm, X, layers, eps=eps, activation=activation)
    np.testing.assert_allclose(actual, h.numpy(), rtol=1e-11, atol=1e-13)


CHANGES = {  # what each does to data X, weights W and the bias before the norm, at strength s
    "weight_matrix_rescaling": lambda X, W, s: (X, s * W),
    "weight_matrix_recentering": lambda X, W, s: (X, W + s),
    "weight_vector_rescaling": lambda X, W, s: (X, np.r_[s * W[:1], W[1:]]),
    "dataset_rescaling": lambda X, W, s: (s * X, W),
    "dataset_recentering": lambda X, W, s: (X + s, W),
    "single_case_rescaling": lambda X, W, s: (np.r_[s * X[:1], X[1:]], W),
    "negative_rescaling": lambda X, W, s: (X, -s * W),
    "input_bias": lambda X, W, s: (X, W),
    "feature_shift": lambda X, W, s: (np.c_[X[:, 0] + s, X[:, 1:]], W),
    "unit_permutation": lambda X, W, s: (X, W[np.random.default_rng(5).permutation(12)]),
}


@pytest.mark.parametrize("strength", [0.7, None])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformations_follow_their_formula(name, strength):
    rng = np.random.default_rng(0)
    X, layers = rng.normal(size=(5, 8)), network([8, 12, 4], rng)
    for a in (X, *(a for layer in layers for a in (layer.W, layer.gain, layer.bias))):
        a.flags.writeable = False
    s = 3.0 if strength is None else strength
    actual_X, (first, second), order = transform(
        name, X, layers, strength=strength, rng=np.random.default_rng(5)
    )
    expected_X, expected_W = CHANGES[name](X, layers[0].W, s)
    np.testing.assert_allclose(actual_X, expected_X, rtol=1e-15)
    np.testing.assert_allclose(first.W, expected_W, rtol=1e-15)
    if name == "input_bias":
        expected = s * np.random.default_rng(5).normal(size=12)
        np.testing.assert_allclose(first.input_bias, expected, rtol=1e-15)
    else:
        assert first.input_bias is None
    permuted = np.random.default_rng(5).permutation(12)
    np.testing.assert_array_equal(order, permuted if name == "unit_permutation" else np.arange(12))
    np.testing.assert_array_equal(first.gain, layers[0].gain[order])
    np.testing.assert_array_equal(first.bias, layers[0].bias[order])
    np.testing.assert_array_equal(second.W, layers[1].W[:, order])


@pytest.mark.parametrize("name", TRANSFORMS)
def test_changes_contain_their_parts_and_the_maximum(name):
    result = change("rms", name, X, LAYERS[0], strength=1.7, eps=0.3)
    new_X, new, order = transform(name, X, LAYERS, strength=1.7)
    b = new[0].input_bias
    expected = [X @ LAYERS[0].W.T, new_X @ new[0].W.T + (0 if b is None else b)]
    expected += [output("rms", *given, eps=0.3) for given in ((X, LAYERS), (new_X, new))]
    for k in (0, 2):  # units stand beside themselves
        expected[k] = expected[k][:, order]
    for actual, wanted in zip(result, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=SAME)
    largest = measure("rms", name, X=X, layers=LAYERS, strength=1.7, eps=0.3)
    assert np.abs(result.new_output - result.output).max() == pytest.approx(largest, abs=SAME)


def rescaled(**given):
    return lambda: measure("layer", "dataset_rescaling", **given)


MISTAKES = {
    "norm": (lambda: measure("spectral", "dataset_rescaling"), "^measure: norm must be one of b"),
    "name": (lambda: measure("layer", "scaling"), "name must be one of weight_matrix"),
    "factor": (rescaled(strength=-1), "must be above 0, got -1; .*negative_rescaling"),
    "no layers": (rescaled(layers=[]), "^measure: layers must be at least one, got none; network"),
    "X of one axis": (rescaled(X=np.ones(8)), r"^measure: X must be .*\(N, D\), got \(8,\)"),
    "X of another D": (rescaled(X=X[:, :7], layers=LAYERS), r"\(N, 8\), got \(5, 7\)"),
    "groups": (lambda: network([8, 6], 0, norm="group"), "a multiple of 4 units, got 6"),
}


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_invalid_values_are_named_in_the_error(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()


@pytest.mark.parametrize(("X", "got"), [([[1.0, 2.0]], "list"), (np.ones((5, 8), int), "int64")])
def test_data_of_other_types_raise_an_error(X, got):
    for call in (rescaled(X=X), lambda: transform("dataset_rescaling", X, LAYERS)):
        with pytest.raises(TypeError, match=f": X must be a NumPy array of floats, got {got}; try"):
            call()
