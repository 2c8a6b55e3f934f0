"""Gradient noise: every measure compared with a loop, and the records."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from lnlab.experiments.gradient_noise import Settings
from lnlab.experiments.gradient_noise.run import CLOUD, GradientNoiseRun
from lnlib.nn.baselines import BatchNorm

SMALL = {"data": "digits", "hidden": (24, 12), "epochs": 1, "first_epoch_points": 2,
         "gradient_batches": 40}  # fmt: skip


def trained(digits, norm, updates=60, **settings):
    """A run after some updates, with gains, biases and running averages that have changed."""
    replay = GradientNoiseRun(Settings(norm=norm, **(SMALL | settings)), digits)
    replay.model.train()
    for _, batch in zip(range(updates), replay.batches(0), strict=False):
        replay.update(batch)
    replay.model.eval()
    return replay


def measured(replay):
    with torch.inference_mode():
        return replay.measure()


@pytest.mark.parametrize("variance", ["biased", "unbiased"])
def test_batch_norm_statistics_equal_a_loop(digits, variance):
    replay = trained(digits, "batch", variance=variance, statistics_examples=402)
    result = measured(replay)
    first = replay.model[0].weight.detach().double().numpy()
    cases = replay._order()[:400].numpy()  # whole batches of 4
    a = (digits.x_train[cases].astype(float) @ first.T).reshape(-1, 4, 24)
    mean, std = a.mean((0, 1)), a.std((0, 1))
    miss = (a.mean(1) - mean) / std
    # float32 compared with float64; the cloud has three decimals.
    running = replay.model[1].running_mean.double().numpy()
    expected = (running - mean) / std
    assert result["kept_miss_1"] == pytest.approx(np.sqrt((expected**2).mean()), rel=1e-4)
    assert result["kept_mean_1"] == pytest.approx(expected[0], rel=1e-3)
    deviations = a.std(1, ddof=int(variance == "unbiased"))[:, 0] / std[0]
    for k in (0, CLOUD - 1):
        assert result["mean_1"][k] == pytest.approx(miss[k, 0], abs=6e-4)
        assert result["std_1"][k] == pytest.approx(deviations[k], abs=6e-4)
    kept_std = np.sqrt(replay.model[1].running_var[0].item()) / std[0]
    assert result["kept_std_1"] == pytest.approx(kept_std, rel=1e-4)


def with_statistics(replay, kind):
    """Test NLL and error with batch norm's statistics set by PyTorch's own module."""
    model = copy.deepcopy(replay.model).double()
    norms = [m for m in model if isinstance(m, BatchNorm)]
    x, y = replay.x_test.double(), replay.y_test
    train = replay.x[replay._order()[:1436]].double()
    if kind == "batches":
        n = len(x) // 4 * 4
        x, y = x[:n], y[:n]
        logits = torch.cat([model.train()(part) for part in x.split(4)])
    else:
        for m in norms:  # a cumulative average: batch k gets the weight 1/k
            m.running_mean.zero_(), m.running_var.zero_()
        parts = train.split(4) if kind == "averages" else [train]
        for k, part in enumerate(parts, start=1):
            for m in norms:
                m.momentum = 1 / k
                m.unbiased = m.unbiased and kind == "averages"
            model.train()(part)
        logits = model.eval()(x)
    nll = nn.functional.cross_entropy(logits, y).item()
    return nll, (logits.argmax(1) != y).double().mean().item()


@pytest.mark.parametrize("kind", ["batches", "averages", "true"])
def test_errors_with_other_statistics_equal_modules_with_them(digits, kind):
    replay = trained(digits, "batch")
    result = measured(replay)
    nll, error = with_statistics(replay, kind)
    # Over all cases at once the biased and the unbiased variance differ by 1/1436.
    assert result[f"{kind}_nll"] == pytest.approx(nll, rel=1e-3)
    assert result[f"{kind}_error"] == pytest.approx(error, abs=0.003)


def test_layer_norm_statistics_are_per_example(digits):
    replay = trained(digits, "layer")
    result = measured(replay)
    first = replay.model[0].weight.detach().double().numpy()
    a = digits.x_train[replay._order().numpy()].astype(float) @ first.T
    mean, std = a.mean(1), a.std(1)
    for k in (0, CLOUD - 1):
        expected = (mean[k] - mean.mean()) / std.mean()
        assert result["mean_1"][k] == pytest.approx(expected, abs=6e-4)
        assert result["std_1"][k] == pytest.approx(std[k] / std.mean(), abs=6e-4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 361}, "at most 360 .the test cases., .* got 361"),
        (
            {"batch_size": 50, "statistics_examples": 40},
            "at most 40 .statistics_examples., .* got 50",
        ),
        ({"batch_size": 401, "norm": "layer"}, "at most 400 .the cases that come in other batches"),
        ({"batch_size": 800, "norm": "none"}, "at most 718 .half of the training cases., .* 800"),
    ],
)
def test_too_large_batches_raise_an_error(digits, wrong, message):
    with pytest.raises(ValueError, match=message):
        GradientNoiseRun(Settings(**SMALL | {"hidden": (8, 8)} | wrong), digits)
