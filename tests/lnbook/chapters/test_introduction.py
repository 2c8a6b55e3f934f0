"""The table of the introduction under both norms."""

import numpy as np
import pytest

from lnbook.chapters.introduction import figures


def by_formula(x, axis):
    mean = x.mean(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axis, keepdims=True) + 1e-5)


@pytest.mark.parametrize("batch_size", range(1, 9))
def test_the_drawn_numbers_follow_the_formula(batch_size):
    x = figures.TABLE[:batch_size] * np.r_[10.0, np.ones(7)][:batch_size, None]
    drawn = [figure.data[0].z for figure in figures.draw(batch_size, 10.0)]
    for result, expected in zip(drawn, (x, by_formula(x, 0), by_formula(x, 1)), strict=True):
        np.testing.assert_allclose(np.array(result, dtype=float), expected, rtol=0, atol=1e-12)
