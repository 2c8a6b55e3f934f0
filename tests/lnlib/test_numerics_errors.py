"""The error of a deviation, beside a loop over vectors in Python's own floats."""

import math
import statistics

import numpy as np
import pytest

from lnlib import numerics
from lnlib.numerics import errors_of_std


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 300), (np.float16, 10)])
def test_the_error_is_the_worst_of_the_vectors(dtype, offset):
    x = (offset + np.random.default_rng(2).normal(size=(7, 24))).astype(dtype)
    result = errors_of_std(x)
    assert list(result) == list(numerics.METHODS)
    for name, method in numerics.METHODS.items():
        worst = max(
            abs(math.sqrt(float(method(row)[1])) / statistics.pstdev(map(float, row)) - 1)
            for row in x
        )
        assert result[name] == pytest.approx(worst, rel=1e-9)
    assert result["naive"] > 10 * result["shifted"]


def test_a_failure_of_one_vector_is_infinite():
    x = np.array([[40000, 40001, 40002, 40003], [0, 1, 2, 4]], np.float32)  # naive: below 0
    assert errors_of_std(x)["naive"] == np.inf
    assert errors_of_std(x)["shifted"] < 1e-6


@pytest.mark.parametrize("row", [[3, 3, 3, 3], [1, 2, 3, np.inf], [1, 2, np.nan, 4]])
def test_where_there_is_nothing_to_measure_the_error_is_nan(row):
    x = np.array([[1, 2, 3, 4], row], np.float32)
    assert all(np.isnan(error) for error in errors_of_std(x).values())
