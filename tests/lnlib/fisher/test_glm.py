import numpy as np
import pytest
import torch

from lnlib.fisher import FAMILIES, GLM, NORMS

# float64 with eps = 0, compared with automatic differentiation; measured: 4e-15.
EXACT = 1e-12
H, D, N = 3, 4, 40

CASES = [(norm, family, {}) for norm in NORMS for family in FAMILIES]
CASES += [(norm, "gaussian", {"phi": phi}) for norm in NORMS for phi in (0.3, 4.0)]
WITH_EPS = [(norm, family, {"eps": 0.3}) for norm in ("batch", "layer") for family in FAMILIES]
each_case = pytest.mark.parametrize(("norm", "family", "options"), CASES + WITH_EPS, ids=str)


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
    std = (a.var(axis, correction=0, keepdim=True) + model.eps).sqrt()
    return g * (a - a.mean(axis, keepdim=True)) / std + b


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


@each_case
def test_matrices_and_divergences_equal_autodiff(norm, family, options):
    """Eqs. 8, 9 and 11; and 12 and 13, which are exact without layer norm."""
    model, X = make_glm(norm, family, **options), cases()
    assert (model.eps, model.phi) == (options.get("eps", 0), options.get("phi", 1))
    theta = torch.from_numpy(model.theta)
    X_torch = torch.from_numpy(X)
    s = torch_natural(model, theta, X_torch)
    np.testing.assert_allclose(model.natural(X), s, rtol=EXACT)
    J = jacobian(model, X)
    exact = np.einsum("nip,nij,njq->pq", J, covariance(model, X), J) / N / model.phi**2
    np.testing.assert_allclose(model.fisher(X), exact, rtol=1e-10, atol=EXACT)
    if norm != "layer":
        np.testing.assert_allclose(model.fisher(X, "paper"), exact, rtol=1e-10, atol=EXACT)
    v = np.random.default_rng(2).normal(size=model.size)
    np.testing.assert_allclose(model.fisher_product(X, v), exact @ v, rtol=1e-10, atol=EXACT)
    y = np.eye(H)[np.arange(N) % H]  # labels of any family
    scores = np.einsum("nip,ni->np", J, (y - model.mean(X)) / model.phi)
    result = model.fisher(X, "empirical", y=y)
    np.testing.assert_allclose(result, scores.T @ scores / N, rtol=1e-10, atol=EXACT)
    delta = 0.1 * v
    assert model.quadratic(X, delta) == pytest.approx(delta @ exact @ delta / 2, rel=1e-10)
    end = distribution(model, torch_natural(model, theta + torch.from_numpy(delta), X_torch))
    kl = torch.distributions.kl_divergence(distribution(model, s), end)
    assert model.kl(X, delta) == pytest.approx(kl.sum().item() / N, rel=1e-9)
    if norm != "none":
        step = np.zeros((H, D + 2))
        step[:, D + 1] = [0.3, -0.2, 0.5]
        metric = model.gain_metric(X, step[:, D + 1])
        assert metric == pytest.approx(step.ravel() @ exact @ step.ravel() / 2, rel=1e-10)


@pytest.mark.parametrize(("norm", "family", "options"), CASES, ids=str)
def test_sampled_matrices_are_within_five_standard_errors(norm, family, options):
    model, X = make_glm(norm, family, **options), cases()
    F, error = model.sampled_fisher(X, samples=400, rng=np.random.default_rng(3))
    off = np.abs(F - model.fisher(X)) / np.maximum(error, 1e-12)
    assert off.max() < 5  # of 324 numbers or fewer
    assert np.median(off) > 0.2  # the standard error is not too large either


def test_standard_errors_equal_those_of_the_samples():
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


@each_case
def test_the_metric_of_the_gains_equals_the_printed_one_except_for_eq_32(norm, family, options):
    model, X = make_glm(norm, family, **options), cases()
    step = np.array([0.3, -0.2, 0.5])
    exact, paper = (model.gain_metric(X, step, kind) for kind in ("exact", "paper"))
    if norm == "batch" and (family != "gaussian" or model.eps):
        assert abs(paper - exact) > 1e-3 * exact
    else:
        assert paper == pytest.approx(exact, rel=1e-10)


W, b = np.ones((H, D)), np.zeros(H)


def build(W=W, b=b, g=None, norm="none", family="gaussian", phi=1.0):
    return GLM(W, b, g, norm=norm, family=family, phi=phi)


MISTAKES = {
    "norm": (lambda: build(norm="rms"), "norm must be one of none"),
    "family": (lambda: build(family="gamma"), "family must be one of gauss"),
    "W": (lambda: build(W[0]), r"W must be of shape \(H, D\)"),
    "b": (lambda: build(b=b[:2]), r"b must be of shape \(3,\)"),
    "g": (lambda: build(g=b), "g must be None without a norm"),
    "phi": (lambda: build(family="poisson", phi=2.0), "unless the family is gaussian, got 2.0"),
    **{f"phi {v}": (lambda v=v: build(phi=v), "phi must be above 0") for v in (0.0, -1.0, np.nan)},
    "masked X": (lambda: make_glm().natural(np.ma.array(cases())), "X must have no mask"),
    "X": (lambda: make_glm().natural(np.ones((5, 3))), r"X must be of shape \(N, 4\)"),
    "v": (lambda: make_glm().fisher_product(cases(), np.ones(5)), r"of shape \(18,\), got \(5,\)"),
    "kind": (lambda: make_glm().fisher(cases(), kind="true"), "kind must be one of exact"),
    "labels": (lambda: make_glm().fisher(cases(), kind="empirical"), "needs the labels y"),
    "y": (lambda: make_glm().fisher(cases(), "empirical", y=np.ones(N)), "y must be of shape"),
    "samples": (lambda: make_glm().fisher(cases(), "sampled", samples=-3), "number from 1, got -3"),
    "delta_g": (lambda: make_glm().gain_metric(cases(), np.ones(2)), r"delta_g must be of shape"),
    "kind of metric": (lambda: make_glm().gain_metric(cases(), b, "sampled"), "exact or paper"),
}


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_invalid_values_are_named_in_the_error(wrong, match):
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
def test_impossible_labels_raise_an_error(family, row, message):
    y = np.eye(H)[np.arange(N) % H]
    make_glm(family=family).fisher(cases(), "empirical", y=y)
    y[7] = row
    with pytest.raises(
        ValueError, match=f"y of the {family} family must be {message}, got .* case 7"
    ):
        make_glm(family=family).fisher(cases(), "empirical", y=y)
