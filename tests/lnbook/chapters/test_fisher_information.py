"""Distances between models: figures compared with PyTorch."""

import itertools

import numpy as np
import pytest
import torch

from lnbook.chapters.fisher_information import figures, line, matrix, models, width
from tests.cases.drawn import heights as lines
from tests.cases.readouts import check_says

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
def test_the_matrix_is_the_curvature_of_the_divergence(norm, family):
    np.testing.assert_allclose(
        figures.matrix(norm, family, "exact"), hessian(norm, family), rtol=1e-9, atol=1e-10
    )


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


def test_the_line_shows_both_sides_and_their_difference():
    args = {"norm": "layer", "family": "poisson", "along": "random"}
    both, sizes = line.draw_line(**args, step=0.4)
    at = list(both.data[0].x).index(0.4)
    pair = line.moved(**args, step=0.4)
    drawn = [lines(both)[name][at] for name in ("divergence", "quadratic form")]
    np.testing.assert_allclose(drawn, pair, atol=1e-5)
    text = line.describe_line(**args, step=0.4)
    assert f"{pair[0]:.3g} nats" in text
    assert f"gives {pair[1]:.3g}" in text
    result = lines(sizes)
    at = list(sizes.data[0].x).index(0.4)
    assert result["their difference"][at] == pytest.approx(abs(pair[0] - pair[1]), rel=0.01)


@each
def test_flat_directions_correspond_to_invariances(norm, family):
    count = {"none": 0, "batch": 3, "weight": 3, "layer": 5}[norm]
    if family == "categorical":  # one bias; without a norm also a vector added to all rows
        count += 5 if norm == "none" else {"batch": 5, "weight": 5, "layer": 1}[norm]
    assert figures.num_zero_eigenvalues(norm, family, "exact") == count
    assert count == np.sum(np.linalg.eigvalsh(hessian(norm, family)) < 1e-10)


@each
def test_eq_13_is_incomplete_only_with_layer_norm(norm, family):
    exact, paper = (figures.matrix(norm, family, kind) for kind in ("exact", "paper"))
    gap = np.sqrt(((exact - paper) ** 2).sum() / (exact**2).sum())
    assert matrix.relative_error(norm, family) == pytest.approx(gap, abs=EXACT)
    assert (gap > 0.5) == (norm == "layer")
    text = matrix.describe_matrix(norm, family, "exact")
    assert (f"misses {gap:.0%}" in text) == (norm == "layer")


@pytest.mark.parametrize("kind", figures.MATRICES.values())
def test_all_entries_of_the_matrix_are_drawn(kind):
    heat, spectrum = matrix.draw_matrix("layer", "categorical", kind)
    F = figures.matrix("layer", "categorical", kind)
    np.testing.assert_allclose(np.array(heat.data[0].z), F, rtol=0.06, atol=EXACT)
    assert heat.data[0].x[5] == "gain of unit 1"
    assert heat.data[0].x[6] == "weight 1 of unit 2"
    zero = next(t for t in spectrum.data if t.name == "exact").text.count("0")
    assert zero == figures.num_zero_eigenvalues("layer", "categorical", "exact") == 6


def test_the_error_of_eq_13_is_drawn_over_the_width():
    model, cases = figures.wide(3, "bernoulli")
    exact, paper = model.fisher(cases), model.fisher(cases, "paper")
    result = lines(width.draw_widths("bernoulli"))
    expected = np.linalg.norm(exact - paper) / np.linalg.norm(exact)
    assert result["whole matrix"][0] == pytest.approx(expected, abs=1e-4)
    ends = [f"{100 * result[name][t]:.0f}%" for name in ("whole matrix", "blocks on the diagonal")
            for t in (0, -1)]  # fmt: skip
    check_says(width.describe_widths("bernoulli"), 3, 64, "eq. 13", *ends)
