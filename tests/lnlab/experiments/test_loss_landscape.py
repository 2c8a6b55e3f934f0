"""The loss landscape: the loss as a function, its layers, and the measures of a run."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab.datasets import Dataset
from lnlab.experiments.loss_landscape import NORMS, Settings
from lnlab.experiments.loss_landscape.run import FACTORS, LandscapeRun, LossLandscape

SMALL = {"hidden": (6, 5, 4), "batch_size": 8, "epochs": 2, "measured_examples": 20, "eps": 0.1,
         "learning_rate": 0.2, "first_epoch_points": 1}  # fmt: skip


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 60)
    x = (rng.random((60, 7)) + 0.4 * y[:, None]).astype(np.float32)
    return Dataset("digits", x[:40], y[:40], x[40:], y[40:], "5" * 64)


def logits(norm, parameters, x, eps):
    """The network computed with PyTorch's functions from a list of its parameters."""
    h, left = x, list(parameters)
    while len(left) > 2:
        W, b, *left = left
        h = h @ W.T + b
        if norm != "none":
            count = 1 if norm == "rms" else 2
            affine, left = left[:count], left[count:]
            if norm == "batch":
                h = F.batch_norm(h, None, None, *affine, True, eps=eps)
            else:
                of = {"layer": F.layer_norm, "rms": F.rms_norm}[norm]
                h = of(h, h.shape[1:], *affine, eps=eps)
        h = h.relu()
    return h @ left[0].T + left[1]


@pytest.mark.parametrize("norm", NORMS)
def test_loss_and_gradient_at_other_weights_equal_pytorchs(norm, data):
    run = LandscapeRun(Settings(norm=norm, **SMALL), data, seed=1)
    x, y = run.x[:20], run.y[:20]
    landscape = LossLandscape(run.model, x, y)
    weights = landscape.weights + 0.1 * np.random.default_rng(0).normal(size=landscape.weights.size)
    result, gradient = landscape(weights)
    shapes = [p.shape for p in run.model.parameters()]
    parts = torch.from_numpy(weights).split([s.numel() for s in shapes])
    leaves = [part.view(s).clone().requires_grad_() for part, s in zip(parts, shapes, strict=True)]
    loss = F.cross_entropy(logits(norm, leaves, x.double(), 0.1), y)
    loss.backward()
    assert result == pytest.approx(loss.item(), rel=1e-10)
    np.testing.assert_allclose(
        gradient, np.concatenate([p.grad.flatten() for p in leaves]), atol=1e-12
    )


@pytest.mark.parametrize("norm", NORMS)
def test_each_layer_has_its_weights_and_those_of_its_norm(norm, data):
    run = LandscapeRun(Settings(norm=norm, **SMALL), data)
    layers = LossLandscape(run.model, run.x, run.y).layers
    of_norm = {"none": 0, "rms": 1}.get(norm, 2)
    sizes = [(a + 1) * b + of_norm * b for a, b in ((7, 6), (6, 5), (5, 4))] + [5 * 3]
    assert [part.stop - part.start for part in layers] == sizes
    assert (layers[0].start, layers[-1].stop) == (0, sum(p.numel() for p in run.model.parameters()))


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_measurements_do_not_change_the_model(norm, data):
    run = LandscapeRun(Settings(norm=norm, **SMALL), data, seed=2)
    before = {k: v.clone() for k, v in run.model.state_dict().items()}
    run.model.eval()
    with torch.inference_mode():
        result = run.measure()
    assert all(torch.equal(v, before[k]) for k, v in run.model.state_dict().items())
    # The gradient of the output layer before and after the update of all layers below.
    landscape = LossLandscape(run.model, run.x[:20], run.y[:20])
    here, last = landscape.weights, landscape.layers[-1]
    g = landscape(here)[1]
    ahead = here - 0.2 * g
    ahead[last] = here[last]
    change = np.linalg.norm(landscape(ahead)[1][last] - g[last])
    assert result["shift_3"] == pytest.approx(change / np.linalg.norm(g[last]))
    steps = [0.2 * factor for factor in FACTORS]
    ratios = [np.linalg.norm(landscape(here - s * g)[1] - g) / np.linalg.norm(s * g) for s in steps]
    assert result["smoothness"] == pytest.approx(max(ratios))


def test_moments_are_those_of_layer_inputs(data):
    run = LandscapeRun(Settings(norm="none", **SMALL), data, seed=3)
    result = run._landscape()
    landscape = LossLandscape(run.model, run.x[:20], run.y[:20])
    here = landscape.weights
    after = here - 0.2 * landscape(here)[1]
    x, layer = run.x[:20].double().numpy(), landscape.layers[0]

    def hidden(weights):
        W, b = np.split(weights[layer], [42])
        return np.maximum(x @ W.reshape(6, 7).T + b, 0)

    a, b = hidden(here), hidden(after)
    on = a.std(0) > 0
    moved = np.stack([b.mean(0) - a.mean(0), b.std(0) - a.std(0)])[:, on] / a.std(0)[on]
    assert result["moments_1"] == pytest.approx(np.sqrt((moved**2).mean()))
