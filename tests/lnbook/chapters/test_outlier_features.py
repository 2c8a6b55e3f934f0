"""The residual stream of the trained model, its rounding errors and its attention."""

import re

import numpy as np
import pytest
import torch

from lnbook.chapters.outlier_features import trained
from lnlab import records
from lnlab.experiments.transformer import weights


@pytest.fixture(scope="module")
def model():
    """The model of seed 0 and its characters."""
    (record,) = (r for r in records.read_all("transformer", ablate=True) if r["seed"] == 0)
    model, characters = weights.restore(record)
    return model.requires_grad_(False), characters


@pytest.fixture(scope="module")
def outliers(model):
    return trained.TrainedTransformers([model])


def test_the_stream_is_the_input_of_the_second_block(model, outliers):
    model, characters = model
    read = []
    model.blocks[1].register_forward_pre_hook(lambda module, args: read.append(args[0]))
    model(torch.tensor([[characters.index(c) for c in trained.LINE]]))
    np.testing.assert_allclose(outliers.stream(), read[0][0].numpy(), atol=1e-5)


def test_attention_weights_reproduce_the_output_of_the_block(model, outliers):
    block, (weight, lengths) = model[0].blocks[1], outliers.attention()
    x = block.norm_a(torch.from_numpy(outliers.stream()).float()[None])
    v = block.qkv(x)[0, :, 128:].view(len(x[0]), block.heads, 16)
    read = torch.einsum("hqk,khd->qhd", torch.from_numpy(weight).float(), v).flatten(1)
    np.testing.assert_allclose(block.merge(read), block.attention(x)[0], atol=1e-4)
    np.testing.assert_allclose(lengths, v.norm(dim=-1).mean(-1), rtol=1e-5)


def test_rounding_errors_equal_those_of_pytorchs_quantization():
    x = np.random.default_rng(0).normal(size=(5, 16))
    for row, error in zip(x, trained.error(x, bits=4), strict=True):
        scale = np.abs(row).max() / 7
        rounded = torch.fake_quantize_per_tensor_affine(torch.from_numpy(row), scale, 0, -7, 7)
        expected = np.linalg.norm(rounded.numpy() - row) / np.linalg.norm(row)
        assert error == pytest.approx(expected, rel=1e-6)
    assert trained.ratio(np.array([[1.0, -2, 3, -40, 2]])) == pytest.approx(20)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("position", [0, 6])
def test_bars_lines_and_sentence_state_the_same_numbers(outliers, position, rotated):
    x = outliers.stream() @ (trained.rotation(64) if rotated else np.eye(64))
    features, errors = outliers.picture.draw(position, rotated)
    np.testing.assert_allclose(features.data[0].y, x[position], atol=0.006)
    line = errors.data[int(rotated)]
    np.testing.assert_allclose(line.y, 100 * trained.error(x), atol=0.006)
    text = outliers.picture.describe(position, rotated)
    size = np.abs(x[position])
    times, percent = re.search(r"is (\d+\.\d) times .* by (\d+)%", text).groups()
    assert float(times) == pytest.approx(size.max() / np.median(size), abs=0.051)
    assert float(percent) == pytest.approx(line.y[position], abs=0.51)
