"""The conditioned network compared with PyTorch, and the sentences of its figure."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.conditional_normalization import first_updates
from lnbook.chapters.conditional_normalization.network import Network, initial


def of_pytorch(network, p, x, condition):
    """The same network, written with PyTorch's functions."""
    hidden = F.silu(F.linear(condition, p["embed"], p["embed_bias"]))
    for k in range(network.depth):
        rows = F.linear(hidden, p[f"modulation{k}"], p[f"modulation_bias{k}"])
        parts = rows.chunk(3 if network.gate else 2, dim=-1)
        y = (network.offset + parts[0]) * F.layer_norm(x, x.shape[-1:]) + parts[1]
        f = F.linear(F.silu(F.linear(y, p[f"w{k}"], p[f"w_bias{k}"])), p[f"v{k}"], p[f"v_bias{k}"])
        x = x + (parts[2] * f if network.gate else f)
    return x


@pytest.mark.parametrize(("gate", "offset"), list(itertools.product((True, False), (1, 0))))
def test_outputs_and_gradients_equal_those_of_autograd(gate, offset):
    network, rng = Network(gate, offset, depth=3), np.random.default_rng(0)
    params = initial(network, 6, 5, "none", rng)
    params = {name: a + 0.1 * rng.normal(size=a.shape) for name, a in params.items()}
    x, condition, target = rng.normal(size=(4, 6)), rng.normal(size=(4, 5)), rng.normal(size=(4, 6))
    tensors = {name: torch.tensor(a, requires_grad=True) for name, a in params.items()}
    output = of_pytorch(network, tensors, torch.tensor(x), torch.tensor(condition))
    loss = F.mse_loss(output, torch.tensor(target))
    loss.backward()
    np.testing.assert_allclose(network.forward(params, x, condition)[0], output.detach())
    assert network.loss(params, x, condition, target) == pytest.approx(loss.item())
    gradients = network.gradients(params, x, condition, target)
    assert set(gradients) == set(params)
    for name, g in gradients.items():
        np.testing.assert_allclose(g, tensors[name].grad, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("offset", first_updates.OFFSETS.values())
@pytest.mark.parametrize("gate", first_updates.GATES.values())
@pytest.mark.parametrize("zero", first_updates.ZEROS.values())
def test_the_condition_is_used_unless_two_factors_are_zero(zero, gate, offset):
    training = first_updates.train(zero, gate, offset)
    used = training.loss_with_other_condition > training.loss * 1.01
    assert used == (zero != "both" and (zero == "none" or not gate or bool(offset)))
    assert used == ("of another class" in first_updates.describe(zero, gate, offset))
