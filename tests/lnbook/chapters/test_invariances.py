"""Invariances of norms and of classifiers of digits, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.invariances import contrast, eps, one_layer
from lnlib.invariance import TABLE_1

A, B = np.random.default_rng(8).normal(size=(2, 12))
EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3}


def largest(scale, value, bias):
    """Return the largest change of an output when the input is scaled before the norm."""
    before, after = (
        F.layer_norm(torch.tensor(s * A + bias), (12,), eps=value) for s in (1.0, scale)
    )
    return (after - before).abs().max().item()


@pytest.mark.parametrize("before", [False, True])
def test_the_curve_shows_the_largest_change_at_every_factor(before):
    bias = B if before else 0.0
    curve, outputs = eps.draw_scale(A, B, 10.0, before)
    for trace, after, (label, value) in zip(curve.data, outputs.data, EPS.items(), strict=True):
        assert trace.name == f"eps {label}"
        wanted = [largest(scale, value, bias) for scale in trace.x]
        np.testing.assert_allclose(trace.y, wanted, atol=1e-9)
        expected = F.layer_norm(torch.tensor(10.0 * A + bias), (12,), eps=value)
        np.testing.assert_allclose(after.y, expected, atol=1e-9)


CELLS = [(norm, name) for norm in TABLE_1 for name in TABLE_1[norm]]


@pytest.mark.parametrize(("norm", "name"), CELLS)
@pytest.mark.parametrize("strength", one_layer.STRENGTHS)
def test_points_are_on_the_dotted_line_if_the_table_says_invariant(norm, name, strength):
    outputs = one_layer.draw_change(norm, name, strength)[2]
    off = max(np.abs(np.subtract(t.y, t.x, dtype=float)).max() for t in outputs.data[1:])
    assert (off < 1e-9) == TABLE_1[norm][name]
    text = one_layer.describe_change(norm, name, strength)
    assert ("no output changes" in text) == TABLE_1[norm][name]


@pytest.mark.parametrize("kind", contrast.KINDS)
def test_features_of_digits_equal_those_of_pytorch(kind):
    rng = np.random.default_rng(3)
    training, x, W = (torch.tensor(rng.normal(size=(n, 9))) for n in (50, 8, 20))
    centered = W - W.mean(1, keepdim=True) if kind == "equal" else W
    a, b = x @ centered.T, training @ W.T
    normed = {
        "none": lambda: a,
        "batch": lambda: (a - a.mean(0)) / a.std(0, correction=0),
        "running": lambda: F.batch_norm(a, b.mean(0), b.var(0, correction=0), eps=0),
        "layer": lambda: F.layer_norm(a, (20,), eps=0),
        "equal": lambda: F.layer_norm(a, (20,), eps=0),
    }[kind]()
    result = contrast.features(kind, *(part.numpy() for part in (x, W, training)))
    np.testing.assert_allclose(result[:, :-1], normed.relu(), atol=1e-10)
    assert np.all(result[:, -1] == 1)
