"""Running statistics and normalized values, compared with PyTorch."""

import numpy as np
import pytest
import torch

from lnlab.analysis.running_statistics import follow

BATCHES = np.random.default_rng(4).normal(20, 3, size=(15, 5)) * np.arange(1, 16)[:, None]


@pytest.mark.parametrize("momentum", [0.1, 0.5])
@pytest.mark.parametrize("eps", [1e-5, 2.0])
def test_running_statistics_and_outputs_equal_pytorchs(momentum, eps):
    run = follow(-7.0, BATCHES, momentum, eps=eps)
    layer = torch.nn.BatchNorm1d(1, affine=False, momentum=momentum, eps=eps, dtype=torch.float64)
    value = torch.full((1, 1), -7.0, dtype=torch.float64)
    for t in range(16):
        assert layer.running_mean.item() == pytest.approx(run.running_mean[t], rel=1e-12)
        assert layer.running_var.item() == pytest.approx(run.running_var[t], rel=1e-12)
        assert layer.eval()(value).item() == pytest.approx(run.test[t], rel=1e-12)
        if t < 15:
            layer.train()(torch.from_numpy(BATCHES[t])[:, None])


def test_in_training_the_value_is_the_first_in_its_batch():
    run, before = follow(-7.0, BATCHES, eps=2.0), BATCHES.copy()
    for t, batch in enumerate(BATCHES):
        x = np.r_[-7.0, batch[1:]]
        assert run.train[t] == pytest.approx((-7 - x.mean()) / np.sqrt(x.var() + 2), rel=1e-12)
    np.testing.assert_allclose(run.batch_mean, BATCHES.mean(1), rtol=1e-12)
    np.testing.assert_array_equal(BATCHES, before)
