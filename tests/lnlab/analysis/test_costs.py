"""Costs of a norm: operations compared with PyTorch and with counting, minimum times, messages."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnlab.analysis import costs
from lnlab.analysis.costs import Machine

EXACT = 1e-12

# Arithmetic.


def theirs(norm, x, gain, bias):
    if norm == "rms":
        return F.rms_norm(x, x.shape[-1:], gain, eps=1.0)
    if norm == "layer":
        return F.layer_norm(x, x.shape[-1:], gain, bias, eps=1.0)
    return F.batch_norm(x, None, None, gain, bias, training=True, eps=1.0)


@pytest.mark.parametrize("norm", costs.NORMS)
def test_counted_formulas_equal_pytorch(norm):
    rng = np.random.default_rng(0)
    x, dy = rng.normal(3, 2, size=(2, 7, 5))
    gain, bias = rng.normal(size=(2, 5))
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, gain, bias)]
    y = theirs(norm, *leaves)
    np.testing.assert_allclose(costs.forward(norm, x, gain, bias), y.detach(), atol=EXACT)
    y.backward(torch.tensor(dy))
    axis = 0 if norm == "batch" else 1
    mean = x.mean(axis, keepdims=True)
    square = (x**2 if norm == "rms" else (x - mean) ** 2).mean(axis, keepdims=True)
    result = costs.backward(norm, dy, x, mean, 1 / np.sqrt(square + 1), gain)
    for ours, leaf in zip(result, leaves, strict=True):
        if ours is not None:
            np.testing.assert_allclose(ours, leaf.grad, atol=EXACT)
    assert (result[2] is None) == (norm == "rms")


@pytest.mark.parametrize("norm", costs.NORMS)
@pytest.mark.parametrize("direction", costs.PASSES)
@pytest.mark.parametrize(("N", "H"), [(1, 1), (3, 5), (6, 2), (1, 8)])
def test_formulas_for_operations_equal_the_counts(norm, direction, N, H):
    assert costs.flops(norm, direction, N, H) == costs.count(norm, direction, N, H)


def test_bytes_are_dominated_by_the_arrays():
    N, H = 1000, 1000
    for norm, direction in itertools.product(costs.NORMS, costs.PASSES):
        large = 4 * costs.arrays(norm, direction) * N * H
        assert large < costs.bytes_moved(norm, direction, N, H) < 1.003 * large
        halved = costs.bytes_moved(norm, direction, N, H, 2)
        assert 2 * halved == costs.bytes_moved(norm, direction, N, H)
    # x, y; mean, 1/std; gain, bias.
    assert costs.bytes_moved("layer", "forward", 3, 5) == 4 * (2 * 15 + 2 * 3 + 2 * 5)
    # dy, x, dx; mean, 1/std; gain, dgain, dbias.
    assert costs.bytes_moved("layer", "backward", 3, 5) == 4 * (3 * 15 + 2 * 3 + 3 * 5)


LARGE, SMALL = (8 * 4096 * 1024, 8e9), (8 * 128 * 1000, 1e11)  # bytes moved, bytes per second


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((128, 1000), SMALL),
        ((4096, 1023), SMALL),  # between the two sizes, so that times are lower bounds
        ((4096, 1024), LARGE),
        ((32768, 4096), LARGE),
    ],
)
def test_arrays_that_fit_into_a_cache_have_its_measured_bandwidth(shape, expected):
    machine = Machine(1e12, 1e12, LARGE[1], copies=(SMALL, LARGE))
    assert machine.at_size(*shape).bandwidth == expected[1]
    assert Machine(1e12, 1e12, 3.35e12).at_size(*shape).bandwidth == 3.35e12
