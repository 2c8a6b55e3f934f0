"""The table into which a reader types, without a browser: what it refuses and how it reads."""

import numpy as np
import pytest

from lnbook.show import NormTable
from lnlib import norms
from tests.cases.page import Page

TABLE = np.random.default_rng(0).normal(9, 9, (4, 6)).round(2)


@pytest.mark.parametrize(
    ("values", "running", "match"),
    [
        (np.zeros((17, 2)), None, r"1 to 16 by 1 to 8, got \(17, 2\)"),
        ([[1.0, 2.0], [3.0]], None, "values must be numbers in rows of equal length"),
        ([[1.0, np.nan]], None, "values must not contain NaN or infinity"),
        ([[1.0, 2.0]], ([0.0], [1.0]), r"each of shape \(2,\), got shapes \(1,\) and \(1,\)"),
        ([[1.0, 2.0]], ([0.0, 0.0], [1.0, 0.0]), "a positive variance"),
    ],
)
def test_a_table_that_cannot_be_shown_is_refused(values, running, match):
    with pytest.raises(ValueError, match=match):
        NormTable(values, title="", running=running)


def test_html_has_the_initial_numbers_and_the_output_of_layer_norm_as_plain_tables():
    inputs, outputs = Page(NormTable(TABLE, title="Type here").to_html()).tables
    numbers = [[float(text.replace("−", "-")) for text in row[1:]] for row in inputs[1:]]
    np.testing.assert_array_equal([row[:6] for row in numbers], TABLE)
    statistics = np.stack([TABLE.mean(1), TABLE.std(1)], 1)
    np.testing.assert_allclose([row[6:] for row in numbers], statistics, rtol=5.1e-4)
    result = [[float(text.replace("−", "-")) for text in row[1:]] for row in outputs[1:]]
    np.testing.assert_allclose(result, norms.layer_norm(TABLE), atol=5.1e-4)
