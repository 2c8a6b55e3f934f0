"""A normalization layer on two devices without communication, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.distributed_training import splits


def of_pytorch(x, norm):
    """The same norm in PyTorch, for (batch, tokens, groups, features)."""
    shape, wide = x.shape, x.shape[2] * x.shape[3]
    if norm == "LayerNorm":
        y = F.layer_norm(x.flatten(2), (wide,))
    elif norm == "RMSNorm":
        y = F.rms_norm(x.flatten(2), (wide,), eps=1e-5)
    elif norm == "GroupNorm":
        y = F.group_norm(x.flatten(2).mT, shape[2]).mT
    else:
        y = F.batch_norm(x.flatten(2).mT, None, None, training=True).mT
    return y.reshape(shape)


@pytest.mark.parametrize("norm", splits.AXES)
def test_the_gradient_of_the_input_equals_that_of_autograd(norm):
    x, dy = (torch.from_numpy(array) for array in splits.data())
    (of_pytorch(x.requires_grad_(), norm) * dy).sum().backward()
    dx = splits.backward(dy.numpy(), *splits.forward(x.detach().numpy(), norm), norm)
    np.testing.assert_allclose(dx, x.grad, atol=1e-10)


@pytest.mark.parametrize("split", splits.SPLITS)
@pytest.mark.parametrize("norm", splits.AXES)
def test_errors_equal_those_of_split_pytorch_norms(norm, split):
    x, dy = (torch.from_numpy(array) for array in splits.data())
    x.requires_grad_()
    whole, axis = of_pytorch(x, norm), splits.SPLITS[split]
    halves = torch.cat([of_pytorch(half, norm) for half in x.chunk(2, axis)], axis)
    gain = (dy * whole).mean((0, 1))
    of_half = (dy.chunk(2, axis)[0] * whole.chunk(2, axis)[0]).mean((0, 1))
    if axis == 2:
        of_half = torch.cat([of_half, gain[2:]])
    expected = [((a - b).norm() / b.norm()).item() for a, b in ((halves, whole), (of_half, gain))]
    result = splits.errors(norm, split)
    assert result[::2] == pytest.approx(expected, abs=1e-9)
    (bars,) = splits.draw(norm, split).data
    assert list(bars.x) == pytest.approx([100 * v for v in result], abs=0.051)
