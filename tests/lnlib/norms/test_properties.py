"""What the norms leave unchanged, and what they do to equal numbers, NaN and infinity."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import lnlib
from tests.cases.norms import FORWARD, NORMS, assert_close, draw, each_shift_invariant

# Variances and groups.


@pytest.mark.parametrize("ddof", [0, 1])
def test_batch_statistics_are_the_mean_and_variance_numpy_computes(ddof):
    x = np.random.default_rng(0).normal(5, 2, (7, 3, 4))
    mean, var = lnlib.batch_statistics(x, ddof=ddof)
    assert_close(mean, x.mean((0, 2)), FORWARD)
    assert_close(var, x.var((0, 2), ddof=ddof), FORWARD)


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


def test_group_norm_with_one_group_is_layer_norm_for_two_axes_only():
    _, x, gain, bias = draw(NORMS["layer"], (5, 6))
    grouped = lnlib.group_norm(x, 1, gain, bias)
    assert_close(grouped, lnlib.layer_norm(x, gain, bias), FORWARD)
    images = x[:, :, None] * np.linspace(1, 2, 4)
    assert np.abs(lnlib.group_norm(images, 1) - lnlib.layer_norm(images)).max() > 0.1


def test_layer_norm_of_one_feature_is_the_bias():
    x = np.random.default_rng(0).standard_normal((5, 1))
    assert_array_equal(lnlib.layer_norm(x, np.array([3.0]), np.array([0.5])), np.full((5, 1), 0.5))


# Equal numbers, NaN and infinity.


@each_shift_invariant
@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.float16, 0.1), (float, 0.1)]
    + [(np.float32, v) for v in (0.1, 1 / 3, 1e4, -1e-20, 1e-42, 3e38, -3e38)]
    + [(np.float64, v) for v in (1e-310, 1.5e308, -1.5e308)],  # the sum would be infinite
)
@pytest.mark.parametrize("n", [7, 4099])
def test_equal_numbers_of_any_size_are_exactly_0(norm, dtype, value, n):
    x = np.full((n, 2, 3) if norm.axis == 1 else (2, n), value, dtype)
    if norm in (NORMS["group"], NORMS["instance"]):
        x = np.ascontiguousarray(x.swapaxes(0, 2))
    assert not norm.forward(x, None, None).any()


@each_shift_invariant
def test_equal_numbers_give_a_finite_gradient(norm):
    x = np.full((6, 2, 3), 0.1)
    dy = np.random.default_rng(0).standard_normal(x.shape)
    assert all(np.isfinite(gradient).all() for gradient in norm.backward(dy, x, None))


def test_equal_numbers_give_nan_and_a_warning_at_eps_0():
    x = np.full((2, 1000), 0.1)
    x[1, 0] = 0.2
    with pytest.warns(RuntimeWarning, match="invalid value"):
        y = lnlib.layer_norm(x, eps=0)
    assert np.isnan(y[0]).all()
    assert np.isfinite(y[1]).all()


each_bad_number = pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])


@each_bad_number
@pytest.mark.parametrize("position", [0, 3])
@pytest.mark.parametrize("norm", [lnlib.layer_norm, lnlib.rms_norm])
def test_a_bad_number_stays_in_its_own_example(norm, bad, position):
    good = np.random.default_rng(0).standard_normal((3, 5))
    x = good.copy()
    x[1, position] = bad
    with np.errstate(invalid="ignore"):
        y = norm(x)
    assert np.isnan(y[1, position])
    assert_array_equal(y[[0, 2]], norm(good)[[0, 2]])


@each_bad_number
def test_a_bad_number_stays_in_its_own_example_of_the_gradient(bad):
    good = np.random.default_rng(0).standard_normal((3, 5))
    x = good.copy()
    x[1, 2] = bad
    with np.errstate(invalid="ignore"):
        dx, _, _ = lnlib.layer_norm_backward(good, x)
    assert np.isnan(dx[1]).all()
    assert_array_equal(dx[[0, 2]], lnlib.layer_norm_backward(good, good)[0][[0, 2]])


@each_bad_number
def test_a_bad_number_stays_in_its_own_feature_under_batch_norm(bad):
    good = np.random.default_rng(0).standard_normal((5, 3))
    x = good.copy()
    x[2, 1] = bad
    with np.errstate(invalid="ignore"):
        y = lnlib.batch_norm(x)
    assert np.isnan(y[:, 1]).all()
    assert_array_equal(y[:, [0, 2]], lnlib.batch_norm(good)[:, [0, 2]])


@each_bad_number
def test_a_bad_number_stays_in_its_own_group(bad):
    good = np.random.default_rng(0).standard_normal((2, 4, 3))
    x = good.copy()
    x[0, 1, 1] = bad
    with np.errstate(invalid="ignore"):
        y = lnlib.group_norm(x, 2)
    assert np.isnan(y[0, :2]).all()
    assert_array_equal(y[0, 2:], lnlib.group_norm(good, 2)[0, 2:])
    assert_array_equal(y[1], lnlib.group_norm(good, 2)[1])
