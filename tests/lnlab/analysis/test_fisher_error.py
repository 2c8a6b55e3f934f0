"""The error of eq. 13, compared with loops over entries and with second derivatives."""

import numpy as np
import pytest

from lnlab.analysis import fisher_error
from lnlib.fisher import FAMILIES

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


@pytest.mark.parametrize("family", FAMILIES)
def test_eq_13_is_exact_except_with_layer_norm(family):
    for norm in ("none", "batch", "weight"):
        assert fisher_error.eq13_errors(norm, family, models=5).max() < EXACT
    result = fisher_error.eq13_errors("layer", family, models=30)
    assert len(set(result)) == 30
    assert 0.15 < result.min() < np.median(result) < result.max() < 1
