"""Distances between models: figures compared with PyTorch."""

import itertools

import numpy as np
import pytest
import torch

from lnbook.chapters.fisher_information import figures, line, models, width
from tests.cases.drawn import heights as lines

# Identities in float64; measured: 2e-15.
EXACT = 1e-12
NORMS = list(figures.CHOICES.values())
FAMILIES = list(figures.FAMILIES.values())
X = torch.from_numpy(figures.cases())


def natural(norm, theta):
    """The model in PyTorch, as a function of its parameter vector."""
    parts = theta.reshape(models.UNITS, -1)
    a = X @ parts[:, :4].T
    if norm == "none":
        return a + parts[:, 4]
    if norm == "weight":
        a = a / parts[:, :4].norm(dim=1)
    else:
        axis = 0 if norm == "batch" else 1
        a = a - a.mean(axis, keepdim=True)
        a = a / a.square().mean(axis, keepdim=True).sqrt()
    return a * parts[:, 5] + parts[:, 4]


LAWS = {
    "gaussian": lambda s: torch.distributions.Normal(s, 1.0),
    "bernoulli": lambda s: torch.distributions.Bernoulli(logits=s),
    "poisson": lambda s: torch.distributions.Poisson(s.exp()),
    "categorical": lambda s: torch.distributions.Categorical(logits=s),
}


def divergence(norm, family, theta, other):
    laws = (LAWS[family](natural(norm, t)) for t in (theta, other))
    kl = torch.distributions.kl_divergence(*laws)
    return (kl if family == "categorical" else kl.sum(1)).mean()


def hessian(norm, family):
    """The Fisher matrix as the second derivative of the KL divergence."""
    theta = torch.from_numpy(figures.glm(norm, family).theta)
    return torch.autograd.functional.hessian(
        lambda other: divergence(norm, family, theta, other), theta
    ).numpy()


each = pytest.mark.parametrize(("norm", "family"), list(itertools.product(NORMS, FAMILIES)))


@each
def test_both_sides_of_eq_8_equal_those_of_pytorch(norm, family):
    theta = torch.from_numpy(figures.glm(norm, family).theta)
    F = hessian(norm, family)
    for along, step in itertools.product(figures.DIRECTIONS.values(), (-0.4, 0.2)):
        delta = step * figures.direction(norm, family, along)
        assert np.linalg.norm(delta) == pytest.approx(abs(step))
        kl, quadratic = line.moved(norm, family, along, step)
        expected = divergence(norm, family, theta, theta + torch.from_numpy(delta)).item()
        assert kl == pytest.approx(expected, rel=1e-9, abs=EXACT)
        assert quadratic == pytest.approx(delta @ F @ delta / 2, rel=1e-9, abs=EXACT)


@each
def test_flat_directions_correspond_to_invariances(norm, family):
    count = {"none": 0, "batch": 3, "weight": 3, "layer": 5}[norm]
    if family == "categorical":  # one bias; without a norm also a vector added to all rows
        count += 5 if norm == "none" else {"batch": 5, "weight": 5, "layer": 1}[norm]
    assert figures.num_zero_eigenvalues(norm, family, "exact") == count
    assert count == np.sum(np.linalg.eigvalsh(hessian(norm, family)) < 1e-10)


def test_the_error_of_eq_13_is_drawn_over_the_width():
    model, cases = figures.wide(3, "bernoulli")
    exact, paper = model.fisher(cases), model.fisher(cases, "paper")
    result = lines(width.draw_widths("bernoulli"))
    expected = np.linalg.norm(exact - paper) / np.linalg.norm(exact)
    assert result["whole matrix"][0] == pytest.approx(expected, abs=1e-4)
