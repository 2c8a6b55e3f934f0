"""The norm in float16 compared with PyTorch and onnxruntime, and the sentences of the figure."""

import itertools
import re

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.export import half_precision as half

STATES = list(itertools.product(half.EPS.values(), half.OUTLIERS.values(), half.SCALES.values()))


@pytest.mark.parametrize("scale", half.SCALES.values())
@pytest.mark.parametrize("eps", half.EPS.values())
def test_in_float64_every_form_equals_pytorchs_layer_norm(eps, scale):
    for std in (1e-3, 1, 1e3):
        x = half.activations(std, 50.0).astype(float)
        expected = F.layer_norm(torch.tensor(x), x.shape[-1:], eps=eps)
        np.testing.assert_allclose(half.layer_norm(x, eps, float, scale), expected, rtol=1e-9)


@pytest.mark.parametrize("std", [1e-4, 1.0, 30.0, 1000.0])
def test_in_float16_it_equals_pytorchs_operations(std):
    x = torch.tensor(half.activations(std))
    centered = x - x.float().mean(-1, keepdim=True).half()
    mean_square = (centered * centered).float().mean(-1, keepdim=True).half()
    expected = centered / (mean_square + torch.tensor(1e-5).half()).sqrt()
    result = half.layer_norm(x.numpy(), 1e-5, np.float16)
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=1e-7)


@pytest.mark.parametrize(("eps", "outlier", "scale"), STATES)
def test_figure_and_sentence_show_where_float16_is_accurate(eps, outlier, scale):
    result, text = half.sweep(eps, outlier, scale), half.describe(eps, outlier, scale)
    low, high = half.working(result)
    np.testing.assert_allclose(result.single, result.exact, rtol=0.01)
    inside = (low <= half.STDS) & (high >= half.STDS)
    np.testing.assert_allclose(result.half[inside], result.exact[inside], rtol=0.05)
    assert ("NaN" in text) == (not np.isfinite(result.half).all())
    named = [float(n.replace(",", "")) for n in re.findall(r"(?:from|to|least) ([\d.,]*\d)", text)]
    edges = [s for s in (low, high) if half.STDS[0] < s < half.STDS[-1]]
    np.testing.assert_allclose(named, edges, rtol=0.05)
    single, everywhere = half.draw(eps, outlier, scale).data[-2:]
    finite = np.isfinite(result.half)
    np.testing.assert_allclose(single.y, result.single, rtol=0.01)
    np.testing.assert_allclose(np.array(everywhere.y)[finite], result.half[finite], rtol=0.01)
