"""Estimates of the Fisher information: figures show the computed estimates."""

import numpy as np
import pytest

from lnbook.chapters.fisher_estimation import figures
from lnlib.fisher import trace_estimates
from tests.cases.drawn import heights as lines


def test_labels_of_the_data_have_the_stated_distribution():
    y, other = (figures.labels(kind, 1000).reshape(1000, 40, 3) for kind in ("itself", "other"))
    expected = figures.model().mean(figures.cases())
    error = np.sqrt(expected * (1 - expected) / 1000)
    assert (np.abs(y.mean(0) - expected) < 5 * error).all()
    assert np.abs(other.mean(0) - expected).max() > 0.3


def test_traces_are_drawn_with_their_errors():
    A = np.diag([1.0, 2.0, 4.0]) + 0.5
    results = list(trace_estimates(lambda v: A @ v, 3, 50))
    mean, errors = figures.running(results)
    assert mean[-1] == pytest.approx(np.mean(results))
    assert errors[-1] == pytest.approx(np.std(results, ddof=1) / np.sqrt(50))
    drawn = lines(figures.draw_trace({"layer": A}, results, "layer"))
    band = [*(mean - 2 * errors)[1:], *(mean + 2 * errors)[:0:-1]]
    np.testing.assert_allclose(drawn["two standard errors"], band, rtol=1e-3)
    text = figures.describe_trace({"layer": A}, results, "layer")
    assert f"give {mean[-1]:.1f} with a standard error of {errors[-1]:.1f}" in text
    assert "One vector" in figures.describe_trace({"layer": A}, results[:1], "layer")
