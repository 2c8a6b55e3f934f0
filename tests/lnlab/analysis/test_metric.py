"""The printed matrix beside the exact one: loops over numbers, and the second derivative."""

import numpy as np
import pytest
import torch

from lnlab.analysis import metric
from lnlib.fisher import FAMILIES, GLM

# float64, identities. Measured 2e-15.
EXACT = 1e-12


@pytest.mark.parametrize("units", [None, 3])
def test_a_distance_is_the_root_of_a_sum_over_numbers_or_over_those_of_one_unit_alone(units):
    F, exact = np.random.default_rng(2).normal(size=(2, 6, 6))
    apart = size = 0.0
    for i in range(6):
        for j in range(6):
            if units is None or i // 2 == j // 2:
                apart += (F[i, j] - exact[i, j]) ** 2
                size += exact[i, j] ** 2
    assert metric.distance(F, exact, units=units) == pytest.approx((apart / size) ** 0.5)


def test_a_draw_is_the_distance_from_the_curvature_of_the_divergence():
    """Bernoulli labels under layer norm, two units, the seed of the second draw: 1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(7, 5)) + 0.5
    W, b = rng.normal(size=(2, 5)) / 2, 0.5 * rng.normal(size=2)
    g = rng.uniform(0.5, 1.5, size=2)
    x, theta = torch.tensor(X), torch.tensor(np.c_[W, b, g].ravel())

    def logits(theta):
        rows = theta.reshape(2, 7)
        a = torch.nn.functional.layer_norm(x @ rows[:, :5].T, (2,), eps=0)
        return torch.distributions.Bernoulli(logits=a * rows[:, 6] + rows[:, 5])

    def divergence(other):
        pair = logits(theta), logits(other)
        return torch.distributions.kl_divergence(*pair).sum(1).mean()

    exact = torch.autograd.functional.hessian(divergence, theta).numpy()
    printed = GLM(W, b, g, norm="layer", family="bernoulli").fisher(X, "paper")
    of = {"draws": 2, "units": 2, "inputs": 5, "cases": 7}
    result = metric.missed("layer", "bernoulli", **of)
    assert result[1] == pytest.approx(np.linalg.norm(exact - printed) / np.linalg.norm(exact))
    pair = [[F[:7, :7], F[7:, 7:]] for F in (exact, printed)]
    own = metric.missed("layer", "bernoulli", **of, own=True)
    expected = np.linalg.norm(np.subtract(*pair)) / np.linalg.norm(pair[0])
    assert own[1] == pytest.approx(expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_eq_13_is_exact_but_under_layer_norm(family):
    for norm in ("none", "batch", "weight"):
        assert metric.missed(norm, family, draws=5).max() < EXACT
    result = metric.missed("layer", family, draws=30)
    assert len(set(result)) == 30
    assert 0.15 < result.min() < np.median(result) < result.max() < 1
    assert (metric.missed("layer", family, draws=30, own=True) < result).mean() > 0.9
