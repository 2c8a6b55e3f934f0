"""Small networks before training: what is measured on them, against PyTorch and by hand."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab.analysis import costs
from lnlab.claims import at_initialization, ten_seeds

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


@pytest.mark.parametrize("inputs", ["signed", "positive"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_changes_are_those_of_a_gradient_step_in_pytorch(name, inputs):
    f, rng = ACTIVATIONS[name], np.random.default_rng(3)
    variance = 2 if name == "relu" else 1
    weights = [
        torch.tensor(rng.normal(size=(H, D)) * np.sqrt(variance / D))
        for D, H in ((32, 64), (64, 64), (64, 10))
    ]
    x, labels = torch.tensor(rng.normal(size=(256, 32))), torch.tensor(rng.integers(10, size=256))
    x = x.abs() if inputs == "positive" else x
    first = weights[0].requires_grad_()
    before = f(x @ first.T) @ weights[1].T
    F.cross_entropy(f(before) @ weights[2].T, labels).backward()
    step = first.grad * 0.01 * first.detach().norm() / first.grad.norm()
    with torch.no_grad():
        expected = f(x @ (first - step).T) @ weights[1].T - before
    result = at_initialization.summed_input_changes(name, inputs, np.random.default_rng(3))
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-8, atol=1e-12)


def test_opposite_changes_are_correlated_and_independent_ones_are_not():
    x = np.random.default_rng(0).normal(size=(10_000, 3))
    assert at_initialization.mean_correlation(x) < 0.02
    x[:, 1], x[:, 2] = -x[:, 0], 5 + 2 * x[:, 0]
    assert at_initialization.mean_correlation(x) == pytest.approx(1)


def test_layer_norm_keeps_what_pytorch_saves_for_the_gradient():
    x, parameters = torch.randn(6, 5, requires_grad=True), (torch.ones(5), torch.zeros(5))
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.numel()), lambda nothing: nothing
    ):
        F.layer_norm(x, (5,), *parameters)
    of_data = sum(numbers for numbers in saved if numbers != 5)  # gain and bias are 5 each
    assert of_data == costs.num_saved("layer", 6, 5) == 6 * 5 + 2 * 6
    assert costs.num_saved("batch", 6, 5) == 6 * 5 + 2 * 5
    assert costs.num_saved("rms", 6, 5) == 6 * 5 + 6


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_block_gradients_are_those_of_pytorch(placement, monkeypatch):
    monkeypatch.setattr(at_initialization, "SEEDS", range(1))
    at_initialization._block_gradients.cache_clear()
    result = at_initialization._block_gradients(placement, 3, "Xavier")
    at_initialization._block_gradients.cache_clear()
    rng = np.random.default_rng(0)
    shapes = {"W_q": (32, 32), "W_k": (32, 32), "W_v": (32, 32), "W_o": (32, 32),
              "W_1": (128, 32), "W_2": (32, 128)}  # fmt: skip
    blocks = [
        {name: torch.tensor(rng.normal(size=shape) * np.sqrt(2 / sum(shape))).requires_grad_()
         for name, shape in shapes.items()}
        for _ in range(3)
    ]  # fmt: skip
    x, d = (torch.tensor(rng.normal(size=(2, 8, 32))) for _ in range(2))

    def norm(z):
        return F.layer_norm(z, (32,))

    def attention(z, p):
        q, k, v = (z @ p[name].T for name in ("W_q", "W_k", "W_v"))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True) @ p["W_o"].T

    def feed(z, p):
        return torch.relu(z @ p["W_1"].T) @ p["W_2"].T

    for p in blocks:
        for step in (attention, feed):
            x = x + step(norm(x), p) if placement == "pre" else norm(x + step(x, p))
    (d * (norm(x) if placement == "pre" else x)).sum().backward()
    first, last = (sum(w.grad.square().sum() for w in p.values()).sqrt() for p in
                   (blocks[0], blocks[-1]))  # fmt: skip
    np.testing.assert_allclose(result, [float(first / last)], rtol=1e-6)


def test_a_curve_that_falls_by_one_factor_is_even_and_one_that_jumps_is_not():
    def run(nll):
        return {"curves": {"epoch": [0.0, 0.5, 1.0, 2.0, 3.0, 4.0], "train_nll": nll}}

    even = [9.0, 1.0, 8.0, 4.0, 2.0, 1.0]
    assert ten_seeds.roughness(run(even)) == pytest.approx(0)
    # From 4 to 2 to 2: the last fall of log 2 is missing. Early points do not count.
    assert ten_seeds.roughness(run([*even[:5], 2.0])) == pytest.approx(np.log(2))
