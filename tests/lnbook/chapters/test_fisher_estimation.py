"""Estimates of the Fisher information: figures show the computed estimates."""

import numpy as np
import pytest

from lnbook.chapters.fisher_estimation import figures, labels, networks
from lnlib.fisher import trace_estimates
from tests.cases.drawn import heights as lines


def test_labels_of_the_data_have_the_stated_distribution():
    model = figures.model()
    y = figures.labels("itself", 1000).reshape(1000, 40, 3)
    expected = model.mean(figures.cases())
    error = np.sqrt(expected * (1 - expected) / 1000)
    assert (np.abs(y.mean(0) - expected) < 5 * error).all()
    assert (
        np.abs(figures.labels("other", 1000).reshape(1000, 40, 3).mean(0) - expected)
    ).max() > 0.3
    assert figures.labels("ones", 2).all()


def test_labels_are_drawn_and_described():
    errors, numbers = labels.draw_labels("other", 100)
    at = figures.SAMPLES.index(100)
    gap = figures.error(figures.empirical("other", 100))
    assert lines(errors)["empirical"][at] == pytest.approx(gap, rel=0.01)
    assert f"{gap:.1%} for the empirical matrix" in labels.describe_labels("other", 100)
    F = figures.sampled(100)[0]
    np.testing.assert_allclose(lines(numbers)["sampled"], F[np.triu_indices(18)], atol=6e-4)


def test_traces_are_drawn_with_their_errors():
    A = np.diag([1.0, 2.0, 4.0]) + 0.5
    results = list(trace_estimates(lambda v: A @ v, 3, 50))
    mean, errors = networks.running(results)
    assert mean[-1] == pytest.approx(np.mean(results))
    assert errors[-1] == pytest.approx(np.std(results, ddof=1) / np.sqrt(50))
    assert abs(mean[-1] - np.trace(A)) < 4 * errors[-1]
    drawn = lines(networks.draw_trace({"layer": A}, results, "layer"))
    assert drawn["estimate"][-1] == pytest.approx(mean[-1], rel=1e-3)
    np.testing.assert_allclose(
        drawn["two standard errors"],
        [*(mean - 2 * errors)[1:], *(mean + 2 * errors)[:0:-1]],
        rtol=1e-3,
    )
    text = networks.describe_trace({"layer": A}, results, "layer")
    assert f"give {mean[-1]:.1f} with a standard error of {errors[-1]:.1f}" in text
    assert "One vector" in networks.describe_trace({"layer": A}, results[:1], "layer")
    assert networks.draw_trace({"layer": A}, results[:1], "layer").data[1].y == (
        float(f"{results[0]:.4g}"),
    )
