"""Running statistics, equal numbers, NaN and infinity."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import lnlib
from tests.cases.norms import FORWARD, NORMS, assert_close, each_shift_invariant


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2, 6)], ids=str)
def test_running_statistics_follow_torch_batch_norm(shape):
    rng = np.random.default_rng(0)
    module = {2: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[len(shape)](3, dtype=torch.float64)
    running_mean, running_var = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = rng.normal(4, 3, shape)
        module(torch.from_numpy(x))
        mean, var = lnlib.batch_statistics(x, ddof=1)
        running_mean = lnlib.update_running(running_mean, mean)
        running_var = lnlib.update_running(running_var, var)
    x = rng.normal(4, 3, shape)
    expected = module.eval()(torch.from_numpy(x)).detach().numpy()
    assert_close(lnlib.batch_norm(x, mean=running_mean, var=running_var), expected, FORWARD)


@each_shift_invariant
@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.float16, 0.1), (float, 0.1)]
    + [(np.float32, v) for v in (0.1, 1 / 3, 1e4, -1e-20, 1e-42, 3e38, -3e38)]
    + [(np.float64, v) for v in (1e-310, 1.5e308, -1.5e308)],  # the sum would be infinite
)
@pytest.mark.parametrize("n", [1, 7, 4099])
def test_equal_numbers_give_exactly_0_and_finite_gradients(norm, dtype, value, n):
    x = np.full((n, 2, 3) if norm.axis == 1 else (2, n), value, dtype)
    if norm in (NORMS["group"], NORMS["instance"]):
        x = np.ascontiguousarray(x.swapaxes(0, 2))
    dy = np.random.default_rng(0).standard_normal(x.shape).astype(dtype)
    assert not norm.forward(x, None, None).any()
    assert all(np.isfinite(gradient).all() for gradient in norm.backward(dy, x, None))


SHARED = {"layer": np.s_[1, 1], "rms": np.s_[1, 1], "batch": np.s_[:, 1]}
SHARED |= {"instance": np.s_[1, 1], "group": np.s_[1, :2]}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", SHARED)
def test_nan_and_infinity_only_affect_their_normalization_set(name, bad):
    good, dy = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    x, others = good.copy(), np.ones(good.shape, bool)
    x[1, 1, 2], others[SHARED[name]] = bad, False
    norm = NORMS[name]
    bias = np.zeros(good.shape[norm.axis])
    for f in (lambda x: norm.forward(x, None, bias), lambda x: norm.backward(dy, x, None)[0]):
        with np.errstate(invalid="ignore"):
            y = f(x)
        assert np.isnan(y[1, 1, 2])
        assert np.isnan(y[~others]).all() or name == "rms"  # which subtracts nothing
        assert_array_equal(y[others], f(good)[others])
