"""Curves and sentences of the page on invariances, compared with a second computation."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.invariances import eps, one_layer
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
