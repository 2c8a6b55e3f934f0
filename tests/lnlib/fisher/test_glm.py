import numpy as np
import pytest
import torch

from lnlib.fisher import FAMILIES, GLM, NORMS

# float64 at eps = 0. Against automatic differentiation, measured 4e-15.
EXACT = 1e-12
H, D, N = 3, 4, 40

each_norm = pytest.mark.parametrize("norm", NORMS)
each_family = pytest.mark.parametrize("family", list(FAMILIES))


def make_glm(norm="layer", family="bernoulli", seed=0, **options):
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(H, D)), 0.5 * rng.normal(size=H)
    g = None if norm == "none" else rng.uniform(0.5, 1.5, size=H)
    if norm == "none":
        W = W / 3  # a Poisson mean that stays in bounds
    return GLM(W, b, g, norm=norm, family=family, **options)


def cases(seed=1):
    return np.random.default_rng(seed).normal(size=(N, D)) + 0.5


def torch_natural(model, theta, X):
    """Return the natural parameters by PyTorch, for automatic differentiation, shape ``(N, H)``."""
    parts = theta.reshape(H, -1)
    W, b = parts[:, :D], parts[:, D]
    a = X @ W.T
    if model.norm == "none":
        return a + b
    g = parts[:, D + 1]
    if model.norm == "weight":
        return g * a / W.norm(dim=1) + b
    axis = 0 if model.norm == "batch" else 1
    x_hat = (a - a.mean(axis, keepdim=True)) / a.std(axis, correction=0, keepdim=True)
    return g * x_hat + b


def distribution(model, s):
    s = torch.as_tensor(s)
    if model.family == "gaussian":
        return torch.distributions.Normal(s, model.phi**0.5)
    if model.family == "bernoulli":
        return torch.distributions.Bernoulli(logits=s)
    if model.family == "poisson":
        return torch.distributions.Poisson(s.exp())
    return torch.distributions.Categorical(logits=s)


def jacobian(model, X):
    theta = torch.from_numpy(model.theta)
    return torch.autograd.functional.jacobian(
        lambda theta: torch_natural(model, theta, torch.from_numpy(X)), theta
    ).numpy()  # (N, H, P)


def covariance(model, X):
    """``Cov[y | x]`` from the distributions of PyTorch, ``(N, H, H)``."""
    law = distribution(model, model.natural(X))
    if model.family == "categorical":
        p = law.probs.numpy()
        return np.stack([np.diag(row) - np.outer(row, row) for row in p])
    return np.stack([np.diag(row) for row in law.variance.numpy()])


# Eq. 9.


@each_norm
@each_family
def test_the_exact_matrix_equals_that_of_automatic_differentiation(norm, family):
    model, X = make_glm(norm, family), cases()
    J = jacobian(model, X)
    expected = np.einsum("nip,nij,njq->pq", J, covariance(model, X), J) / N / model.phi**2
    np.testing.assert_allclose(model.fisher(X), expected, rtol=EXACT, atol=EXACT)
    v = np.random.default_rng(2).normal(size=model.size)
    np.testing.assert_allclose(model.fisher_product(X, v), expected @ v, rtol=1e-11, atol=1e-13)


@each_norm
@each_family
def test_drawn_labels_give_the_matrix_within_five_standard_errors(norm, family):
    model, X = make_glm(norm, family), cases()
    F, error = model.sampled_fisher(X, samples=400, rng=np.random.default_rng(3))
    off = np.abs(F - model.fisher(X)) / np.maximum(error, 1e-12)
    assert off.max() < 5  # of 324 numbers or fewer
    assert np.median(off) > 0.2  # the standard error is not too large either


@each_norm
@pytest.mark.parametrize("phi", [0.3, 4.0])
def test_every_kind_of_matrix_is_correct_for_a_dispersion_other_than_1(norm, phi):
    model, X = make_glm(norm, "gaussian", phi=phi), cases()
    J = jacobian(model, X)
    exact = np.einsum("nip,niq->pq", J, J) / N / phi  # Cov[y | x] = phi, divided by phi²
    np.testing.assert_allclose(model.fisher(X), exact, rtol=EXACT, atol=EXACT)
    F, error = model.sampled_fisher(X, samples=400, rng=np.random.default_rng(3))
    off = np.abs(F - exact) / np.maximum(error, 1e-12)
    assert off.max() < 5
    assert np.median(off) > 0.2
    y = np.random.default_rng(4).normal(size=(N, H))
    scores = np.einsum("nip,ni->np", J, (y - model.natural(X)) / phi)
    np.testing.assert_allclose(
        model.fisher(X, "empirical", y=y), scores.T @ scores / N, rtol=1e-10, atol=EXACT
    )
    delta = 0.1 * np.random.default_rng(2).normal(size=model.size)
    assert model.quadratic(X, delta) == pytest.approx(delta @ exact @ delta / 2, rel=1e-10)
    moved = model.moved(delta)
    kl = np.square(model.natural(X) - moved.natural(X)).sum(1).mean() / 2 / phi
    assert model.kl(X, delta) == pytest.approx(kl, rel=1e-9)
    assert moved.phi == phi
    step = np.array([0.3, -0.2, 0.5])
    for kind in ("exact", "paper"):
        one = make_glm(norm, "gaussian").gain_metric(X, step, kind) / phi
        assert model.gain_metric(X, step, kind) == pytest.approx(one, rel=1e-10)


def test_the_standard_error_is_that_of_the_samples():
    model, X = make_glm("none", "bernoulli"), cases()
    one = [
        model.fisher(X, "sampled", rng=rng) for rng in [np.random.default_rng(3)] for _ in "1234"
    ]
    F, error = model.sampled_fisher(X, samples=4, rng=np.random.default_rng(3))
    np.testing.assert_allclose(F, np.mean(one, 0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(error, np.std(one, 0, ddof=1) / 2, rtol=1e-6, atol=1e-8)
    same = model.fisher(X, "sampled", samples=4, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(same, F)
    assert np.isnan(model.sampled_fisher(X)[1]).all()
    np.testing.assert_array_equal(
        model.sampled_fisher(X)[0], model.sampled_fisher(X, rng=np.random.default_rng(0))[0]
    )


@pytest.mark.parametrize("norm", ["batch", "layer"])
@each_family
def test_eps_is_in_every_kind_of_matrix(norm, family):
    model, X = make_glm(norm, family, eps=0.3), cases()
    theta = torch.from_numpy(model.theta)
    axis = 0 if norm == "batch" else 1

    def natural(theta):
        parts = theta.reshape(H, -1)
        a = torch.from_numpy(X) @ parts[:, :D].T
        std = (a.var(axis, correction=0, keepdim=True) + 0.3).sqrt()
        return parts[:, D + 1] * (a - a.mean(axis, keepdim=True)) / std + parts[:, D]

    J = torch.autograd.functional.jacobian(natural, theta).numpy()
    np.testing.assert_allclose(model.natural(X), natural(theta).numpy(), rtol=EXACT)
    expected = np.einsum("nip,nij,njq->pq", J, covariance(model, X), J) / N
    np.testing.assert_allclose(model.fisher(X), expected, rtol=1e-10, atol=EXACT)
    if norm == "batch":
        np.testing.assert_allclose(model.fisher(X, "paper"), expected, rtol=1e-10, atol=EXACT)
    y = np.eye(H)[np.arange(N) % H]  # labels of any family
    scores = np.einsum("nip,ni->np", J, y - model.mean(X))
    result = model.fisher(X, "empirical", y=y)
    np.testing.assert_allclose(result, scores.T @ scores / N, rtol=1e-10, atol=EXACT)
    assert model.moved(np.zeros(model.size)).eps == 0.3


# Eqs. 12-14.


@each_family
@pytest.mark.parametrize("norm", ["none", "batch", "weight"])
def test_eqs_12_and_13_are_exact_without_layer_norm(norm, family):
    model, X = make_glm(norm, family), cases()
    np.testing.assert_allclose(
        model.fisher(X, kind="paper"), model.fisher(X), rtol=1e-10, atol=1e-13
    )


# Eq. 8.


@each_norm
@each_family
def test_kl_is_that_of_the_distributions(norm, family):
    model, X = make_glm(norm, family), cases()
    delta = 0.1 * np.random.default_rng(2).normal(size=model.size)
    distribution_before, distribution_after = (
        distribution(m, m.natural(X)) for m in (model, model.moved(delta))
    )
    kl = torch.distributions.kl_divergence(distribution_before, distribution_after)
    expected = (kl.sum(1) if kl.ndim == 2 else kl).mean().item()
    assert model.kl(X, delta) == pytest.approx(expected, rel=1e-9)


@each_norm
@each_family
def test_the_remainder_of_eq_8_is_of_third_order(norm, family):
    model, X = make_glm(norm, family), cases()
    delta = np.random.default_rng(2).normal(size=model.size)
    off = [
        abs(model.kl(X, step * delta) - model.quadratic(X, step * delta)) for step in (2e-2, 1e-2)
    ]
    if (norm, family) == ("none", "gaussian"):
        assert max(off) < 1e-14  # the KL divergence is quadratic
    else:
        assert off[0] / off[1] == pytest.approx(8, rel=0.3)


# Eqs. 32-35.


@each_norm
@each_family
def test_the_metric_along_the_gains_is_the_printed_one_but_for_eq_32(norm, family):
    model, X = make_glm(norm, family), cases()
    step = np.array([0.3, -0.2, 0.5])
    exact, paper = (model.gain_metric(X, step, kind) for kind in ("exact", "paper"))
    if norm == "batch" and family != "gaussian":
        assert abs(paper - exact) > 1e-3 * exact
    else:
        assert paper == pytest.approx(exact, rel=1e-10)


# The vector of parameters.


@each_norm
def test_theta_lists_the_parameters_unit_by_unit(norm):
    model = make_glm(norm)
    rows = model.theta.reshape(H, -1)
    np.testing.assert_array_equal(rows[:, :D], model.W)
    np.testing.assert_array_equal(rows[:, D], model.b)
    if norm != "none":
        np.testing.assert_array_equal(rows[:, D + 1], model.g)
    delta = np.arange(model.size) * 0.01
    np.testing.assert_allclose(model.moved(delta).theta, model.theta + delta)


W, b = np.ones((H, D)), np.zeros(H)
MISTAKES = {
    "norm": (lambda: GLM(W, b, norm="rms", family="gaussian"), "norm must be one of none"),
    "family": (lambda: GLM(W, b, norm="none", family="gamma"), "family must be one of gauss"),
    "W": (lambda: GLM(W[0], b, norm="none", family="gaussian"), r"W must be of shape \(H, D\)"),
    "b": (lambda: GLM(W, b[:2], norm="none", family="gaussian"), r"b must be of shape \(3,\)"),
    "g": (lambda: GLM(W, b, b, norm="none", family="gaussian"), "g must be None without a norm"),
    "phi": (
        lambda: GLM(W, b, norm="none", family="poisson", phi=2.0),
        "1 unless the family is gaussian, got 2.0",
    ),
    "masked X": (
        lambda: make_glm().natural(np.ma.array(cases())),
        "X must have no mask, got Masked",
    ),
    "X": (lambda: make_glm().natural(np.ones((5, 3))), r"X must be of shape \(N, 4\)"),
    "v": (lambda: make_glm().fisher_product(cases(), np.ones(5)), r"of shape \(18,\), got \(5,\)"),
    "kind": (lambda: make_glm().fisher(cases(), kind="true"), "kind must be one of exact"),
    "labels": (lambda: make_glm().fisher(cases(), kind="empirical"), "needs the labels y"),
    "shape of y": (
        lambda: make_glm().fisher(cases(), kind="empirical", y=np.ones(N)),
        r"y must be of shape \(40, 3\), got \(40,\)",
    ),
    "samples": (lambda: make_glm().fisher(cases(), "sampled", samples=-3), "number from 1, got -3"),
    "delta_g": (lambda: make_glm().gain_metric(cases(), np.ones(2)), r"delta_g must be of shape"),
    "kind of metric": (lambda: make_glm().gain_metric(cases(), b, "sampled"), "exact or paper"),
}


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_value_is_named(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()


@pytest.mark.parametrize(
    ("family", "row", "message"),
    [
        ("gaussian", [0, np.inf, 1], "finite numbers"),
        ("bernoulli", [0, 0.5, 1], "0 or 1"),
        ("poisson", [0, 2, -1], "whole numbers from 0"),
        ("poisson", [0, 2.5, 1], "whole numbers from 0"),
        ("poisson", [0, np.nan, 1], "whole numbers from 0"),
        ("categorical", [0, 1, 1], "rows of 0 and 1 with sum 1"),
        ("categorical", [0, 0.5, 0.5], "rows of 0 and 1 with sum 1"),
    ],
)
def test_labels_that_the_family_never_gives_are_refused(family, row, message):
    y = np.eye(H)[np.arange(N) % H]
    make_glm(family=family).fisher(cases(), "empirical", y=y)
    y[7] = row
    with pytest.raises(
        ValueError, match=f"y of the {family} family must be {message}, got .* case 7"
    ):
        make_glm(family=family).fisher(cases(), "empirical", y=y)


@pytest.mark.parametrize("phi", [0.0, -1.0, np.nan])
def test_a_dispersion_that_is_not_above_0_is_refused(phi):
    with pytest.raises(ValueError, match="phi must be above 0"):
        GLM(np.eye(2), np.zeros(2), norm="layer", family="gaussian", phi=phi)
