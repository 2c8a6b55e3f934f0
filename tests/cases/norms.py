"""The norms, each with PyTorch's as the oracle, and the inputs of their tests."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose

import lnlib

EPS = 1e-5
# Measured over all the cases here: forward 2e-14, backward 2e-13.
FORWARD, BACKWARD = 1e-12, 1e-11


class Norm(NamedTuple):
    forward: Callable
    backward: Callable
    oracle: Callable  # the same in PyTorch: (x, gain, bias) -> y
    axis: int  # axis of the features with a gain and a bias
    shapes: list[tuple[int, ...]]


# (300, 1024) and (40, 4, 1024) need several blocks of the implementation.
FEATURES = [(5, 7), (3,), (2, 3, 4, 6), (300, 1024)]
CHANNELS = [(7, 4), (3, 4, 5), (2, 6, 3, 5), (40, 4, 1024)]
RUNNING = {"mean": np.linspace(-2, 3, 4), "var": np.linspace(0.1, 4, 4)}


def torch_batch_norm_ddof_1(x, gain, bias):
    axes = [0, *range(2, x.ndim)]
    mean, var = x.mean(axes, keepdim=True), x.var(axes, correction=1, keepdim=True)
    column = (-1,) + (1,) * (x.ndim - 2)
    return gain.view(column) * (x - mean) / (var + EPS).sqrt() + bias.view(column)


NORMS = {
    "layer": Norm(
        lnlib.layer_norm,
        lnlib.layer_norm_backward,
        lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias, EPS),
        -1,
        FEATURES,
    ),
    "group": Norm(
        lambda x, gain, bias: lnlib.group_norm(x, 2, gain, bias),
        lambda dy, x, gain: lnlib.group_norm_backward(dy, x, 2, gain),
        lambda x, gain, bias: F.group_norm(x, 2, gain, bias, EPS),
        1,
        [*CHANNELS, (1, 4, 70_000)],  # a group is larger than a block
    ),
    "instance": Norm(
        lnlib.instance_norm,
        lnlib.instance_norm_backward,
        lambda x, gain, bias: F.instance_norm(x, None, None, gain, bias, eps=EPS),
        1,
        CHANNELS[1:],
    ),
    "batch": Norm(
        lnlib.batch_norm,
        lnlib.batch_norm_backward,
        lambda x, gain, bias: F.batch_norm(x, None, None, gain, bias, training=True, eps=EPS),
        1,
        CHANNELS,
    ),
    "batch-ddof-1": Norm(
        lambda x, gain, bias: lnlib.batch_norm(x, gain, bias, ddof=1),
        lambda dy, x, gain: lnlib.batch_norm_backward(dy, x, gain, ddof=1),
        torch_batch_norm_ddof_1,
        1,
        CHANNELS,
    ),
    "batch-given": Norm(
        lambda x, gain, bias: lnlib.batch_norm(x, gain, bias, **RUNNING),
        lambda dy, x, gain: lnlib.batch_norm_backward(dy, x, gain, **RUNNING),
        lambda x, gain, bias: F.batch_norm(
            x, *map(torch.from_numpy, RUNNING.values()), gain, bias, eps=EPS
        ),
        1,
        CHANNELS[:2],
    ),
    # RMS norm has no bias; these functions add one, so that the same tests can be used.
    "rms": Norm(
        lambda x, gain, bias: lnlib.rms_norm(x, gain) + bias,
        lambda dy, x, gain: (
            *lnlib.rms_norm_backward(dy, x, gain),
            dy.sum(tuple(range(dy.ndim - 1))),
        ),
        lambda x, gain, bias: F.rms_norm(x, x.shape[-1:], gain, EPS) + bias,
        -1,
        FEATURES,
    ),
}
CASES = [
    pytest.param(norm, shape, id=f"{name}-{'x'.join(map(str, shape))}")
    for name, norm in NORMS.items()
    for shape in norm.shapes
]
# A negative scale, and a variance near eps.
DATA = {"unit": (0.0, 1.0), "negative": (3.0, -2.0), "near-eps": (0.0, 3e-3)}
each_case = pytest.mark.parametrize(("norm", "shape"), CASES)
each_data = pytest.mark.parametrize(("mean", "scale"), DATA.values(), ids=DATA)


def draw(norm: Norm, shape, mean=0.0, scale=1.0, seed=0):
    """Return dy, x, gain and bias; gain is not 1 and bias not 0."""
    rng = np.random.default_rng(seed)
    x = mean + scale * rng.standard_normal(shape)
    gain, bias = rng.standard_normal((2, shape[norm.axis]))
    return rng.standard_normal(shape), x, gain, bias


def run_oracle(norm: Norm, dy, *inputs):
    """Return y and the gradients of the inputs, computed by PyTorch."""
    inputs = [torch.tensor(a, requires_grad=True) for a in inputs]
    y = norm.oracle(*inputs)
    y.backward(torch.tensor(dy))
    return y.detach().numpy(), [a.grad.numpy() for a in inputs]


def assert_equals_autograd(ours, backward, theirs, *arrays):
    """Compare a function, and the gradients of its arguments, with the same in PyTorch."""
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    y = theirs(*tensors)
    dy = np.random.default_rng(1).normal(1, 2, size=y.shape)
    y.backward(torch.tensor(dy))
    assert_close(ours(*arrays), y.detach().numpy(), FORWARD)
    for d, t in zip(backward(dy, *arrays), tensors, strict=True):
        assert_close(d, t.grad.numpy(), BACKWARD)


def assert_close(actual, expected, tolerance):
    assert actual.shape == expected.shape
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


SHIFT_INVARIANT = ["layer", "group", "instance", "batch", "batch-ddof-1"]
each_shift_invariant = pytest.mark.parametrize(
    "norm", [NORMS[name] for name in SHIFT_INVARIANT], ids=SHIFT_INVARIANT
)
