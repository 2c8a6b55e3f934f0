"""Section 6.7: axes of each norm, units at the border, arms at their best rates."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnlab.datasets import Dataset
from lnlab.experiments.convnet import NORMS, Settings
from lnlab.experiments.convnet.run import ConvnetRun, Network, norm, ring

SMALL = {"channels": (4, 8, 4), "train_examples": 48, "val_examples": 12, "batch_size": 16,
         "epochs": 2, "first_epoch_points": 2, "mapped_examples": 10}  # fmt: skip


@pytest.fixture
def data():
    return images()


def images():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 10, 90)
    x = (rng.random((90, 784)) * (0.2 + y[:, None] / 12)).astype(np.float32)
    return Dataset("fashion_small", x[:70], y[:70], x[70:], y[70:], "5" * 64)


def over(name, x):
    """The axes of one normalization set, and the array reshaped so that they are whole axes."""
    b, c, h, w = x.shape
    return {
        "batch": (x, (0, 2, 3)),
        "layer": (x, (1, 2, 3)),
        "channel": (x, (1,)),
        "instance": (x, (2, 3)),
        "group": (x.reshape(b, 4, c // 4, h, w), (2, 3, 4)),
    }[name]


@pytest.mark.parametrize("name", NORMS[1:])
def test_each_norm_uses_statistics_over_its_own_axes(name):
    x = torch.randn(5, 8, 3, 3, generator=torch.Generator().manual_seed(1)) * 3 + 2
    result = norm(Settings(norm=name, eps=0.5), 8, 3)(x).detach().numpy()
    whole, axes = over(name, x.numpy())
    mean, var = whole.mean(axes, keepdims=True), whole.var(axes, keepdims=True)
    expected = ((whole - mean) / np.sqrt(var + 0.5)).reshape(x.shape)
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-6)


def test_logits_equal_pytorchs_functions_on_the_cropped_image(data):
    settings = Settings(norm="layer", crop=5, padding="replicate", eps=0.3, channels=(4, 8, 4))
    network = Network(settings, 10, generator=torch.Generator().manual_seed(2)).double()
    x = torch.from_numpy(data.x_train[:3]).double()
    h = x.view(3, 1, 28, 28)[:, :, 5:23, 5:23]
    for layer, stride in zip(network.convolutions, (1, 2, 2), strict=True):
        h = F.conv2d(F.pad(h, (1, 1, 1, 1), mode="replicate"), layer.weight, stride=stride)
        h = F.layer_norm(h, h.shape[1:], eps=0.3).relu()
    expected = F.linear(h.flatten(1), network.logits.weight, network.logits.bias)
    torch.testing.assert_close(network(x), expected, rtol=0, atol=1e-12)


def test_border_and_interior_units_are_measured_separately(data):
    run = ConvnetRun(Settings(norm="none", maps=True, **SMALL), data)
    run.model.eval()
    with torch.no_grad():
        result = run.measure()
        a = run.model.summed_inputs(run.x_val[:10])[1].numpy()
    at = [(i, j) for i in range(14) for j in range(14) if {i, j} & {0, 13}]
    edge = np.array([a[:, :, i, j] for i, j in at])
    rest = a[:, :, 1:-1, 1:-1]
    assert int(ring(14).sum()) == len(at)
    assert result["border_on_2"] == pytest.approx((edge > 0).mean(), abs=1e-6)
    assert result["inner_on_2"] == pytest.approx((rest > 0).mean(), abs=1e-6)
    assert result["border_deviation_2"] == pytest.approx(
        edge.std(ddof=1) / rest.std(ddof=1), rel=1e-4
    )
    np.testing.assert_array_equal(result["on_2"].numpy(), (255 * (a > 0).mean(0)).round())
    assert "before_mean_2" not in result


def test_maps_contain_statistics_around_the_norm_and_ink(data):
    run = ConvnetRun(Settings(norm="layer", crop=3, maps=True, **SMALL), data)
    run.model.eval()
    with torch.no_grad():
        for layer in run.model.norms:
            layer.weight.mul_(3), layer.bias.add_(0.7)
        results = {k: np.asarray(v, float) for k, v in run.measure().items()}
        x = run.x_val[:10]
        first = F.conv2d(x.view(-1, 1, 28, 28)[..., 3:-3, 3:-3], run.model.convolutions[0].weight,
                         padding=1).numpy()  # fmt: skip
    mean, var = first.mean((1, 2, 3), keepdims=True), first.var((1, 2, 3), keepdims=True)
    after = 3 * (first - mean) / np.sqrt(var + 1e-5) + 0.7
    near = {"rtol": 1e-3, "atol": 0.51 / 128}  # rounded to 128ths, in half precision
    for lead, a in (("before_", first), ("", after)):
        np.testing.assert_allclose(results[f"{lead}mean_1"], a.mean(0), **near)
        np.testing.assert_allclose(results[f"{lead}deviation_1"], a.std(0, ddof=1), **near)
    share = (x.numpy() > 0).mean(0).reshape(28, 28)
    np.testing.assert_array_equal(results["ink"], (255 * share).round())


def test_validation_examples_are_the_last_training_examples_and_held_out(data):
    run = ConvnetRun(Settings(**SMALL), data)
    run.model.eval()
    with torch.no_grad():
        result = run.measure()
        for split, x, y in (("val", run.x_val, run.y_val), ("test", run.x_test, run.y_test)):
            logits = run.model(x)
            assert result[f"{split}_nll"] == pytest.approx(float(F.cross_entropy(logits, y)))
            assert result[f"{split}_error"] == float((logits.argmax(1) != y).float().mean())
    np.testing.assert_array_equal(run.x_val.numpy(), data.x_train[58:])
    assert run.cases == {"train": 48, "test": 20, "val": 12}
    with pytest.raises(ValueError, match=r"at most 70 together, .* got 71; choose fewer"):
        ConvnetRun(dataclasses.replace(Settings(**SMALL), train_examples=59), data)
    with pytest.raises(ValueError, match=r"images of 28 x 28 pixels, tiny has 64 features"):
        ConvnetRun(
            Settings(**SMALL), dataclasses.replace(data, name="tiny", x_train=np.zeros((90, 64)))
        )
