"""The error of eq. 13, compared with loops over entries and with second derivatives."""

import numpy as np
import pytest
import torch

from lnlab.analysis import fisher_error
from lnlib.fisher import FAMILIES, GLM

# Identities in float64; measured: 2e-15.
EXACT = 1e-12


@pytest.mark.parametrize("units", [None, 3])
def test_relative_errors_are_over_all_entries_or_diagonal_blocks(units):
    F, exact = np.random.default_rng(2).normal(size=(2, 6, 6))
    error = norm = 0.0
    for i in range(6):
        for j in range(6):
            if units is None or i // 2 == j // 2:
                error += (F[i, j] - exact[i, j]) ** 2
                norm += exact[i, j] ** 2
    result = fisher_error.relative_error(F, exact, units=units)
    assert result == pytest.approx((error / norm) ** 0.5)


def test_the_exact_matrix_is_the_hessian_of_the_kl_divergence():
    """Bernoulli labels, layer norm, two units, and seed 1 (the second model)."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) + 0.5
    W, b = rng.normal(size=(3, 4)) / 2, 0.5 * rng.normal(size=3)
    g = rng.uniform(0.5, 1.5, size=3)
    x, theta = torch.tensor(X), torch.tensor(np.c_[W, b, g].ravel())

    def logits(theta):
        rows = theta.reshape(3, 6)
        a = torch.nn.functional.layer_norm(x @ rows[:, :4].T, (3,), eps=0)
        return torch.distributions.Bernoulli(logits=a * rows[:, 5] + rows[:, 4])

    def divergence(other):
        pair = logits(theta), logits(other)
        return torch.distributions.kl_divergence(*pair).sum(1).mean()

    exact = torch.autograd.functional.hessian(divergence, theta).numpy()
    printed = GLM(W, b, g, norm="layer", family="bernoulli").fisher(X, "paper")
    result = fisher_error.eq13_errors("layer", "bernoulli", models=2)
    assert result[1] == pytest.approx(np.linalg.norm(exact - printed) / np.linalg.norm(exact))


@pytest.mark.parametrize("family", FAMILIES)
def test_eq_13_is_exact_except_with_layer_norm(family):
    for norm in ("none", "batch", "weight"):
        assert fisher_error.eq13_errors(norm, family, models=5).max() < EXACT
    result = fisher_error.eq13_errors("layer", family, models=30)
    assert len(set(result)) == 30
    assert 0.15 < result.min() < np.median(result) < result.max() < 1
