"""What the norms leave unchanged, and what they do to equal numbers, NaN and infinity."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lnlib
from tests.cases.norms import FORWARD, IDENTITY, NORMS, assert_close, draw, each_shift_invariant

# What the paper proves, at eps = 0.

batches = st.builds(
    lambda seed, n, H: np.random.default_rng(seed).standard_normal((n, H)),
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(8, 40),  # from 8 on no variance comes near 0
)
few = settings(max_examples=50, deadline=None)


@few
@given(batches, st.floats(1e-3, 1e3), st.floats(-1e2, 1e2))
def test_layer_norm_ignores_scale_and_shift_of_an_example(x, scale, shift):
    y, moved = (lnlib.layer_norm(a, eps=0) for a in (x, scale * (x + shift)))
    assert_close(moved, y, IDENTITY)


@few
@given(batches)
def test_layer_norm_flips_sign_under_negative_scale(x):
    # Exactly: eq. 7 needs a scale above 0.
    assert_array_equal(lnlib.layer_norm(-x, eps=0), -lnlib.layer_norm(x, eps=0))


@few
@given(batches, st.randoms())
def test_layer_norm_does_not_see_the_batch(x, random):
    order = random.sample(range(len(x)), len(x))
    assert_array_equal(lnlib.layer_norm(x[order]), lnlib.layer_norm(x)[order])
    assert_array_equal(lnlib.layer_norm(x[0]), lnlib.layer_norm(x)[0])


@few
@given(batches)
def test_layer_norm_output_has_mean_0_and_variance_1(x):
    y = lnlib.layer_norm(x, eps=0)
    assert_close(y.mean(-1), np.zeros(len(x)), IDENTITY)
    assert_close(y.var(-1), np.ones(len(x)), IDENTITY)


@few
@given(batches, st.floats(1e-3, 1e3))
def test_layer_norm_gradient_is_orthogonal_to_shift_and_scaling(x, scale):
    dy = np.random.default_rng(0).standard_normal(x.shape)
    dx, _, _ = lnlib.layer_norm_backward(dy, scale * x, eps=0)
    assert_close(dx.sum(-1) * scale, np.zeros(len(x)), IDENTITY)
    assert_close((dx * x).sum(-1) * scale, np.zeros(len(x)), IDENTITY)


@few
@given(batches, st.floats(1e-3, 1e3))
def test_rms_norm_ignores_scale(x, scale):
    assert_close(lnlib.rms_norm(scale * x, eps=0), lnlib.rms_norm(x, eps=0), IDENTITY)


def test_rms_norm_sees_a_shift():
    x = np.array([[1.0, 2.0, 3.0]])
    assert np.abs(lnlib.rms_norm(x + 1) - lnlib.rms_norm(x)).max() > 0.1


@few
@given(batches, st.floats(1e-3, 1e3), st.floats(-1e2, 1e2))
def test_batch_norm_ignores_scale_and_shift_of_a_feature(x, scale, shift):
    x = x.T
    y, moved = (lnlib.batch_norm(a, eps=0) for a in (x, scale * (x + shift)))
    assert_close(moved, y, IDENTITY)


def test_eps_breaks_the_invariance_to_scale():
    x = np.random.default_rng(0).standard_normal((64, 100))
    y, scaled = (lnlib.layer_norm(a) for a in (x, 0.01 * x))
    assert 0.05 < np.abs(scaled - y).max() < 0.5


# Variances and groups.


@pytest.mark.parametrize(("n", "ratio"), [(4, 1.1547), (512, 1.00098)])
def test_unbiased_variance_shrinks_the_output(n, ratio):
    x = np.random.default_rng(0).standard_normal((n, 3))
    biased, unbiased = (lnlib.batch_norm(x, eps=0, ddof=ddof) for ddof in (0, 1))
    assert_allclose(biased / unbiased, ratio, atol=5e-6)


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


def test_layer_norm_of_two_features_is_plus_and_minus_one():
    x = np.array([[1.0, 2.0], [5.0, -1e3]])
    assert_array_equal(lnlib.layer_norm(x, eps=0), [[-1, 1], [1, -1]])


# Equal numbers, NaN and infinity.


@each_shift_invariant
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_equal_numbers_give_the_bias(norm, dtype):
    # The sum of a thousand 0.1s is not 100, so x - mean(x) alone would not be 0.
    x = np.full((1000, 2, 3) if norm.axis == 1 else (3, 1000), 0.1, dtype)
    bias = np.arange(x.shape[norm.axis]).astype(dtype)
    y = norm.forward(x, None, bias)
    moved = np.moveaxis(y, norm.axis, -1)
    assert_array_equal(moved, np.broadcast_to(bias, moved.shape))


@each_shift_invariant
@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.float32, v) for v in (0.1, 1 / 3, 1e4, -1e-20, 1e-42, 3e38, -3e38)]
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


def test_e_x2_minus_e_x_squared_would_fail_here():
    x = (1e4 + np.random.default_rng(0).standard_normal((1, 512))).astype(np.float32)
    assert_allclose(lnlib.layer_norm(x).std(), 1, atol=1e-4)
