"""The left side of eq. 8 where the cumulants' difference loses digits, and where one overflows."""

import numpy as np
import pytest

from lnlib.fisher import FAMILIES, GLM, NORMS


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1e-5, 1e-7, 1e-9])
def test_kl_of_a_small_step_is_the_quadratic_form(norm, family, size):
    rng = np.random.default_rng(0)
    W, b, X = rng.normal(size=(3, 4)) / 3, rng.normal(size=3), rng.normal(size=(40, 4))
    model = GLM(W, b, norm=norm, family=family)
    delta = size * rng.normal(size=model.size)
    # The third order; and a step of 1e-9 beside parameters of size 1 has seven digits.
    off = 10 * size + 1e-15 / size
    assert model.kl(X, delta) == pytest.approx(model.quadratic(X, delta), rel=off, abs=0)


@pytest.mark.parametrize("scale", [1e-3, 0.02, 0.3, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_kl_of_any_step_is_that_of_longdouble(family, scale):
    rng = np.random.default_rng(0)
    s, d = rng.normal(size=3), scale * rng.normal(size=3)
    model = GLM(np.zeros((3, 1)), s, norm="none", family=family)
    d = model.moved(np.stack([0 * d, d], 1).ravel()).b - s  # as it is rounded
    s, d = s.astype(np.longdouble), d.astype(np.longdouble)
    eta = {
        "gaussian": lambda s: (s**2 / 2).sum(),
        "bernoulli": lambda s: np.logaddexp(0, s).sum(),
        "poisson": lambda s: np.exp(s).sum(),
        "categorical": lambda s: np.log(np.exp(s).sum()),
    }[family]
    p = {"gaussian": s, "bernoulli": 1 / (1 + np.exp(-s)), "poisson": np.exp(s)}
    p = p.get(family, np.exp(s) / np.exp(s).sum())
    kl = model.kl(np.ones((1, 1)), np.stack([0 * d, d], 1).ravel().astype(float))
    assert kl == pytest.approx(float(eta(s + d) - eta(s) - p @ d), rel=1e-11, abs=0)


@pytest.mark.parametrize(
    ("family", "to", "kl"),
    [
        ("bernoulli", [800, -2000], 400 - np.log(2) + 1000 - np.log(2)),
        ("poisson", [-2000, -1000], 2 * -1 + 2000 + 1000),
        ("categorical", [800, -2000], 1400 - np.log(2)),
    ],
)
def test_kl_of_a_large_step_is_finite(family, to, kl):
    model = GLM(np.zeros((2, 1)), np.zeros(2), norm="none", family=family)
    step = np.array([0, to[0], 0, to[1]], float)
    assert model.kl(np.ones((1, 1)), step) == pytest.approx(kl, rel=1e-14)
