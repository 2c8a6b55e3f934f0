"""Smoothness along a gradient and covariate shift, for losses with known answers."""

import numpy as np
import pytest

from lnlab.analysis.smoothness import along_gradient, covariate_shift


def quadratic(A, b):
    return lambda x: (float(x @ A @ x / 2 - b @ x), A @ x - b)


@pytest.fixture
def bowl():
    rng = np.random.default_rng(3)
    Q = rng.normal(size=(5, 5))
    return Q @ Q.T, rng.normal(size=5), rng.normal(size=5)


def test_the_smoothness_of_a_quadratic_is_that_of_its_matrix(bowl):
    A, b, x = bowl
    g = A @ x - b
    met = along_gradient(quadratic(A, b), x, [0.05, 0.2, 0.01])
    np.testing.assert_allclose(met.smoothness, np.linalg.norm(A @ g) / np.linalg.norm(g))
    np.testing.assert_allclose(met.gradient_change, 0.2 * np.linalg.norm(A @ g))
    np.testing.assert_allclose(met.gradient_length, np.linalg.norm(g))
    # Along the line the loss is a parabola of the rate.
    losses = [
        x @ A @ x / 2 - b @ x - r * g @ g + r**2 * g @ A @ g / 2 for r in (0, 0.05, 0.2, 0.01)
    ]
    np.testing.assert_allclose(met.loss_range, max(losses) - min(losses))


def test_the_smoothness_is_the_largest_ratio():
    met = along_gradient(lambda x: (float(np.sum(x**4)), 4 * x**3), np.array([2.0]), [0.01, 0.03])
    at = [2 - rate * 32 for rate in (0.01, 0.03)]
    ratios = [abs(4 * y**3 - 32) / (2 - y) for y in at]
    np.testing.assert_allclose(met.smoothness, max(ratios))
    assert max(ratios) == ratios[0]  # the closer point, although the gradient changes less there


def test_covariate_shift_of_a_quadratic_is_known(bowl):
    A, b, x = bowl
    step = np.array([0.3, -0.1, 0.2, 5.0, 7.0])
    g = A @ x - b
    layers = [slice(0, 2), slice(2, 3), slice(3, 5)]
    result = covariate_shift(quadratic(A, b), x, step, layers)
    expected = [
        np.linalg.norm(A[2:3, :2] @ step[:2]) / np.linalg.norm(g[2:3]),
        np.linalg.norm(A[3:, :3] @ step[:3]) / np.linalg.norm(g[3:]),
    ]
    np.testing.assert_allclose(result, expected)
    assert x.tolist() == bowl[2].tolist()  # unchanged
