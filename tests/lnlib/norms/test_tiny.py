"""Numbers whose squares vanish, and weights whose squares do or overflow: as in longdouble."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lnlib
from lnlib.invariance import TABLE_1, measure

# Forward, backward, the shape in which the statistics run over the axes, these, minus the mean?
NORMS = {
    "layer": (lnlib.layer_norm, lnlib.layer_norm_backward, (5, 4, 4), 2, True),
    "rms": (lnlib.rms_norm, lnlib.rms_norm_backward, (5, 4, 4), 2, False),
    "batch": (lnlib.batch_norm, lnlib.batch_norm_backward, (5, 4, 4), (0, 2), True),
    "instance": (lnlib.instance_norm, lnlib.instance_norm_backward, (5, 4, 4), 2, True),
    "group": (
        partial(lnlib.group_norm, groups=2),
        partial(lnlib.group_norm_backward, groups=2),
        (5, 2, 8),
        2,
        True,
    ),
}
SCALES = [(np.float32, s) for s in (1e-15, 1e-19, 1e-22, 1e-24, 1e-35, 1e-43)]
SCALES += [(float, s) for s in (1e-146, 1e-152, 1e-160, 1e-162, 1e-170, 1e-300, 1e-321)]
each_scale = pytest.mark.parametrize(("dtype", "scale"), SCALES)


def close(actual, exact):
    """Within 40 units in the last place of the largest."""
    exact = exact.reshape(actual.shape).astype(float)
    tolerance = 40 * np.finfo(actual.dtype).eps
    assert_allclose(actual, exact, rtol=0, atol=tolerance * np.abs(exact).max())


@each_scale
@pytest.mark.parametrize("ratio", [0.0, 0.5])
@pytest.mark.parametrize("name", NORMS)
def test_equations_2_to_4_hold_for_numbers_whose_squares_vanish(name, dtype, scale, ratio):
    forward, backward, shape, axes, centered = NORMS[name]
    dy, x = np.random.default_rng(0).normal(size=(2, 5, 4, 4)).astype(dtype)
    x = (x * scale).astype(dtype)
    x[:, 1] *= dtype(1e15)  # beside numbers of another size
    eps = (ratio * scale) ** 2  # in squared units of x
    a, d = (v.reshape(shape).astype(np.longdouble) for v in (x, dy))
    mean = partial(np.mean, axis=axes, keepdims=True)
    a = a - centered * mean(a)
    std = np.sqrt(mean(a**2) + eps)
    x_hat = a / std
    close(forward(x, eps=eps), x_hat)
    dx = (d - centered * mean(d) - x_hat * mean(d * x_hat)) / std
    if std.min() > 1 / np.finfo(dtype).max:  # so that dx is finite
        actual = backward(dy, x, eps=eps)[0].astype(float)
        close((actual.reshape(shape) * std.astype(float)).astype(dtype), dx * std)


@pytest.mark.parametrize(("dtype", "scale"), [*SCALES, (np.float32, 1e20), (float, 1e200)])
def test_weight_norm_is_scale_invariant_for_extreme_weights(dtype, scale):
    rng = np.random.default_rng(0)
    dy, x, W = (rng.normal(size=n).astype(dtype) for n in ((6, 3), (6, 5), (3, 5)))
    W[1:] *= dtype(scale)
    exact = [a.astype(np.longdouble) for a in (dy, x, W)]
    norm = np.sqrt(np.square(exact[2]).sum(1, keepdims=True))
    v = exact[2] / norm
    x_hat = exact[1] @ v.T
    close(lnlib.weight_norm(x, W), x_hat)
    if scale < 1:  # nor do huge data overflow
        close(lnlib.weight_norm(x * dtype(1e30), W), x_hat * dtype(1e30))
    if norm.min() > 1 / np.finfo(dtype).max:
        dx, dW, _, _ = lnlib.weight_norm_backward(dy, x, W)
        close(dx, exact[0] @ v)
        along = (exact[0] * x_hat).sum(0)[:, None]
        close((dW * norm).astype(dtype), exact[0].T @ exact[1] - along * v)


@pytest.mark.parametrize(
    ("name", "transformation"),
    [(name, t) for name, row in TABLE_1.items() for t in row if row[t] and "rescaling" in t],
)
@pytest.mark.parametrize("strength", [1e-160, 1e-170, 1e170])
def test_table_1_holds_at_any_strength(name, transformation, strength):
    assert measure(name, transformation, strength=strength) < 1e-12


def test_equal_and_empty_sets_stay_undefined_with_eps_0():
    x = np.array([[1e-24, 3e-24], [1e30, 1e30], [0, 0], [1e30, -1e30]], np.float32)
    with np.errstate(invalid="ignore"):
        y = lnlib.layer_norm(x, eps=0.0)
    assert_array_equal(y, [[-1, 1], [np.nan] * 2, [np.nan] * 2, [1, -1]])
