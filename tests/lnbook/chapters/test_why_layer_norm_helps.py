"""The NumPy networks compared with PyTorch; the sweep; the model with a bug."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.why_layer_norm_helps import exercises, learning_rates
from lnbook.chapters.why_layer_norm_helps.networks import Network, he_weights

NOTEBOOK = Path(__file__).parents[3] / "book" / "why_layer_norm_helps.ipynb"


def by_torch(weights, x, y, norm):
    """Loss, hidden activations and gradients of one network, by autograd."""
    weights = [torch.tensor(W, requires_grad=True) for W in weights]
    h, hidden = torch.tensor(x), []
    for W in weights[:-1]:
        a = h @ W
        h = F.relu(F.layer_norm(a, a.shape[-1:]) if norm == "layer" else a)
        hidden.append(h)
    loss = F.cross_entropy(h @ weights[-1], torch.tensor(y))
    return loss.item(), hidden, torch.autograd.grad(loss, weights)


def stacked(sizes, copies=3):
    rng = np.random.default_rng(0)
    drawn = [he_weights(sizes, 1.3, rng) for _ in range(copies)]
    x = 2 + rng.normal(size=(copies, 5, sizes[0]))  # not centered
    return drawn, x, rng.integers(sizes[-1], size=(copies, 5))


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_every_copy_has_the_loss_and_the_gradients_of_autograd(norm):
    drawn, x, y = stacked([7, 6, 5, 4])
    network = Network([np.stack(layer) for layer in zip(*drawn, strict=True)], norm)
    losses, gradients = network.loss(x, y), network.gradients(x, y)
    for k, weights in enumerate(drawn):
        loss, _, expected = by_torch(weights, x[k], y[k], norm)
        np.testing.assert_allclose(losses[k], loss, rtol=1e-12)
        for result, right in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(result[k], right, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 12)).astype(np.float32)
    return x, (x @ rng.normal(size=(12, 10))).argmax(1)


@pytest.fixture(scope="module")
def sweep(task):
    patch = pytest.MonkeyPatch()
    patch.setattr(learning_rates, "UPDATES", 4)
    yield learning_rates.Sweep(*task)
    patch.undo()


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_copies_of_the_sweep_are_trained_as_in_pytorch(task, sweep, norm):
    x, y = task
    seed, k = 1, 4
    rng = np.random.default_rng(seed)
    drawn = he_weights([12, learning_rates.WIDTH, learning_rates.WIDTH, 10], 1.0, rng)
    weights = [W.astype(np.float32) for W in drawn]
    for _ in range(4):
        batch = rng.integers(len(x), size=learning_rates.BATCH)
        _, _, gradients = by_torch(weights, x[batch], y[batch], norm)
        steps = zip(weights, gradients, strict=True)
        weights = [W - np.float32(learning_rates.RATES[k]) * dW.numpy() for W, dW in steps]
    loss, *_ = by_torch(weights, x, y, norm)
    assert sweep.loss[norm, 2][k, seed] == pytest.approx(loss, rel=1e-4)
    assert sweep.first_norm[norm, 2][k, seed] == pytest.approx(np.linalg.norm(weights[0]), rel=1e-4)


def test_the_model_of_the_exercise_leaks_until_its_norm_is_fixed():
    text = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells)
    model = {}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], model)
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 2, 6, 4))
    W, V = rng.normal(size=(4, 8)), rng.normal(size=(8, 4))
    assert exercises.leak(lambda x: model["block"](x, W, V), x, other, 3) > 0.01
    model["normalize"] = exercises.normalize
    assert exercises.leak(lambda x: model["block"](x, W, V), x, other, 3) == 0
