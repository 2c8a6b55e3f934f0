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
