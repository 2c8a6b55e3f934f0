"""The norm in float16 against PyTorch and onnxruntime, and what the figure says of it."""

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
def test_in_float64_every_form_is_pytorchs_layer_norm(eps, scale):
    for std in (1e-3, 1, 1e3):
        x = half.activations(std, 50.0).astype(float)
        expected = F.layer_norm(torch.tensor(x), x.shape[-1:], eps=eps)
        np.testing.assert_allclose(half.layer_norm(x, eps, float, scale), expected, rtol=1e-9)


@pytest.mark.parametrize("std", [1e-4, 1.0, 30.0, 1000.0])
def test_in_float16_it_is_what_pytorchs_operations_return(std):
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
    """The older exporter's nodes, converted to float16, in ONNX's reference implementation.

    It sums in float16 where kernels sum in float32, so it overflows earlier, from √(65,504 / H).
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
def test_the_figure_and_its_sentence_say_where_float16_is_right(eps, outlier, scale):
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


@pytest.mark.filterwarnings("ignore")
def test_the_older_exporter_refuses_rms_norm_in_the_words_of_the_page():
    message = "Exporting the operator 'aten::rms_norm' to ONNX opset version 20 is not supported"
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=message):
        torch.onnx.export(nn.RMSNorm(8), (torch.ones(2, 8),), io.BytesIO(), dynamo=False)


def exported(model, x, dynamo=True):
    """The names of the nodes, the last node, and what onnxruntime computes."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    file = io.BytesIO()
    program = torch.onnx.export(model, (x,), None if dynamo else file, dynamo=dynamo, verbose=False)
    graph = program.model_proto if dynamo else onnx.load_from_string(file.getvalue())
    session = runtime.InferenceSession(graph.SerializeToString())
    (y,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    nodes = [node for node in graph.graph.node if node.op_type != "Constant"]
    return [node.op_type for node in nodes], nodes[-1], torch.tensor(y)


@pytest.fixture
def images():
    g = torch.Generator().manual_seed(0)
    return 1 + 2 * torch.randn(8, 4, 6, 6, generator=g), 2 + torch.randn(3, 4, 6, 6, generator=g)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_is_folded_into_the_convolution_with_its_running_statistics(
    images, train, dynamo
):
    train_images, x = images
    model = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))
    model(train_images)
    names, _, y = exported(model.train(train), x, dynamo)
    assert names == ["Conv"]
    torch.testing.assert_close(y, model.eval()(x), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [True, False])
def test_without_running_statistics_the_graph_computes_those_of_the_batch(images, dynamo):
    train_images, x = images
    norm = nn.BatchNorm2d(4, track_running_stats=False).eval()
    names, last, y = exported(norm, x, dynamo)
    assert {"ReduceMean", "BatchNormalization"} < set(names)
    torch.testing.assert_close(y, norm.train()(x), rtol=1e-4, atol=1e-4)
    assert (norm.eval()(x)[:1] - norm(x[:1])).abs().max() > 0.1
    attributes = {a.name: a.i for a in last.attribute}
    assert dynamo or attributes["training_mode"] == 1
    collected = nn.BatchNorm2d(4, momentum=None)  # the page's way to a layer for inference
    collected.load_state_dict(norm.state_dict(), strict=False)
    collected(train_images)
    _, _, y = exported(collected.eval(), x, dynamo)
    scale = (train_images.var((0, 2, 3), correction=1, keepdim=True) + 1e-5).sqrt()
    expected = (x - train_images.mean((0, 2, 3), keepdim=True)) / scale
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_instance_norm_is_exported_with_running_statistics_only_from_eval_mode(images):
    train_images, x = images
    norm = nn.InstanceNorm2d(4, track_running_stats=True)
    norm(train_images)
    batch = nn.BatchNorm2d(4, affine=False).eval()
    batch.load_state_dict(norm.state_dict())
    names, _, y = exported(norm.eval(), x)
    assert names == ["Reshape", "BatchNormalization", "Reshape"]
    torch.testing.assert_close(y, batch(x), rtol=1e-4, atol=1e-4)
    names, _, y = exported(norm.train(), x)
    assert names == ["InstanceNormalization"]
    torch.testing.assert_close(y, F.instance_norm(x), rtol=1e-4, atol=1e-4)
    names, _, _ = exported(nn.InstanceNorm2d(4).eval(), x)
    assert names == ["InstanceNormalization"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [True, False])
def test_group_norm_is_exported_as_instance_norm_of_the_groups(images, dynamo):
    _, x = images
    norm = nn.GroupNorm(2, 4)
    nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(0))
    names, _, y = exported(norm, x, dynamo)
    shape = [] if dynamo else ["Shape"]
    assert names == ["Reshape", "InstanceNormalization", *shape, "Reshape", "Mul", "Add"]
    torch.testing.assert_close(y, norm(x), rtol=1e-4, atol=1e-4)


class StandardizedConv(nn.Conv2d):
    """Weight standardization, computed as in timm's `StdConv2d`."""

    def forward(self, x):
        weight = self.weight.reshape(1, self.out_channels, -1)
        weight = F.batch_norm(weight, None, None, training=True, momentum=0.0, eps=1e-6)
        return F.conv2d(x, weight.reshape_as(self.weight), self.bias)


@pytest.mark.filterwarnings("ignore")
def test_weight_standardization_is_exported_as_batch_norm_in_training_mode(images):
    _, x = images
    model = StandardizedConv(4, 6, 3).eval()
    expected = model(x)
    names, _, y = exported(model, x)
    assert names == ["Conv"]
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)

    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    torch.onnx.export(model, (x,), file := io.BytesIO(), dynamo=False)
    graph = onnx.load_from_string(file.getvalue())
    (norm,) = (n for n in graph.graph.node if n.op_type == "BatchNormalization")
    (mode,) = (a for a in norm.attribute if a.name == "training_mode")
    assert mode.i == 1
    made = {output: node.op_type for node in graph.graph.node for output in node.output}
    assert [made[name] for name in norm.input[3:]] == ["ReduceMean", "ReduceMean"]

    def run():
        session = runtime.InferenceSession(graph.SerializeToString())
        return torch.tensor(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])

    torch.testing.assert_close(run(), expected, rtol=1e-4, atol=1e-4)
    mode.i = 0  # in inference mode it is right only with these statistics
    del norm.output[1:]
    torch.testing.assert_close(run(), expected, rtol=1e-4, atol=1e-4)
    norm.input[3:] = [norm.input[2], norm.input[1]]  # zeros and ones
    plain = F.conv2d(x, model.weight, model.bias)
    torch.testing.assert_close(run(), plain, rtol=1e-4, atol=1e-4)
    assert (plain - expected).abs().max() > 1
