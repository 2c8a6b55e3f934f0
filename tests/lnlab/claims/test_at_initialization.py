"""Small networks before training: what is measured on them, against PyTorch and by hand."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab.analysis import costs
from lnlab.claims import at_initialization

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
