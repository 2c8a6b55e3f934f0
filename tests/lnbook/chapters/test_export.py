"""The norm in float16 compared with PyTorch and onnxruntime, and the sentences of the figure."""

import io
import itertools
import re

import numpy as np
import pytest
import torch
from torch import nn
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("eps", [1e-5, 1e-6])
def test_an_exported_graph_does_the_same_operation_by_operation(eps):
    """The nodes of the older exporter, converted to float16, in ONNX's reference implementation.

    It sums in float16 where kernels sum in float32, so it overflows earlier, at √(65,504 / H).
    """
    onnx = pytest.importorskip("onnx")
    float16 = pytest.importorskip("onnxruntime.transformers.float16")
    reference = pytest.importorskip("onnx.reference")
    x, file = half.activations(1.0), io.BytesIO()
    norm = nn.LayerNorm(x.shape[1], eps=eps).eval()
    torch.onnx.export(norm, (torch.ones(x.shape),), file, dynamo=False, opset_version=16)
    graph = float16.convert_float_to_float16(onnx.load_from_string(file.getvalue()))
    run = reference.ReferenceEvaluator(graph).run
    for std in (1e-5, 1e-3, 1, 10, 300, 1000):
        x = half.activations(std)
        with np.errstate(all="ignore"):
            (y,) = run(None, {graph.graph.input[0].name: x})
        np.testing.assert_allclose(y, half.layer_norm(x, eps, np.float16), rtol=0.01, atol=1e-5)


@pytest.mark.parametrize(("eps", "outlier", "scale"), STATES)
def test_figure_and_sentence_show_where_float16_is_accurate(eps, outlier, scale):
    result, text = half.sweep(eps, outlier, scale), half.describe(eps, outlier, scale)
    low, high = half.working(result)
    np.testing.assert_allclose(result.single, result.exact, rtol=0.01)
    inside = (low <= half.STDS) & (high >= half.STDS)
    np.testing.assert_allclose(result.half[inside], result.exact[inside], rtol=0.05)
    assert ("it is zero" in text) == (scale != "largest")
    above = result.half[high < half.STDS]
    assert (np.diff(above) <= 1e-3).all()
    assert scale == "largest" or above[-1] == 0
    assert ("NaN" in text) == (not np.isfinite(result.half).all())
    named = [float(n.replace(",", "")) for n in re.findall(r"(?:from|to) ([\d.,]*\d)", text)]
    edges = [s for s in (low, high) if half.STDS[0] < s < half.STDS[-1]]
    np.testing.assert_allclose(named, edges, rtol=0.05)
    figure = half.draw(eps, outlier, scale)
    single, everywhere = figure.data[-2:]
    np.testing.assert_allclose(single.y, result.single, rtol=0.01)
    finite = np.isfinite(result.half)
    np.testing.assert_allclose(np.array(everywhere.y)[finite], result.half[finite], rtol=0.01)
    assert all(y > half.TOP for y in np.array(everywhere.y)[~finite])
