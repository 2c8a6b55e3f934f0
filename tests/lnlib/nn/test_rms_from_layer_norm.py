"""Layer norm replaced by RMS norm: centered weights before it, its bias moved after it."""

import copy
import re

import pytest
import torch
from torch import nn

from lnlib.nn import RMSNorm, rms_from_layer_norm
from lnlib.nn.transformer import Transformer


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-11), (torch.float32, 1e-4)])
def test_a_pre_norm_network_computes_the_same_with_rms_norms(dtype, close):
    torch.manual_seed(0)
    model = Transformer(11, depth=3, width=24, heads=2, length=7).to(dtype)
    with torch.no_grad():
        for p in model.parameters():  # a large mean, gains and biases
            p += 0.3 * torch.randn_like(p) + 0.2
    tokens = torch.randint(11, (2, 7))
    expected = model(tokens)
    before = [model.token, model.position]
    for block in model.blocks:
        before += [block.merge, block.contract]
    for block in model.blocks:
        block.norm_a = rms_from_layer_norm(block.norm_a, before, [block.qkv])
        block.norm_f = rms_from_layer_norm(block.norm_f, before, [block.expand])
    model.last_norm = rms_from_layer_norm(model.last_norm, before, [model.output])
    assert not any(isinstance(m, nn.LayerNorm) for m in model.modules())
    torch.testing.assert_close(model(tokens), expected, rtol=close, atol=close)


def test_each_layer_is_changed_as_documented():
    torch.manual_seed(1)
    write, table, rows = nn.Linear(3, 4), nn.Embedding(5, 4), torch.randn(2, 4)
    read, bare = nn.Linear(4, 2), nn.Linear(4, 6, bias=False)
    norm = nn.LayerNorm(4, eps=0.5)
    with torch.no_grad():
        norm.weight.normal_()
        norm.bias.normal_()
    W, b, E, R, c = (t.detach().clone() for t in (write.weight, write.bias, table.weight, rows,
                                                  read.bias))  # fmt: skip
    result = rms_from_layer_norm(norm, [write, table, rows], [read, bare, read])
    close = {"rtol": 0, "atol": 1e-6}
    for j in range(3):
        torch.testing.assert_close(write.weight[:, j], W[:, j] - W[:, j].sum() / 4, **close)
    torch.testing.assert_close(write.bias, b - b.sum() / 4, **close)
    for i in range(5):
        torch.testing.assert_close(table.weight[i], E[i] - E[i].sum() / 4, **close)
    torch.testing.assert_close(rows, R - R.mean(1, keepdim=True), **close)
    moved = [sum(read.weight[i, j] * norm.bias[j] for j in range(4)) for i in range(2)]
    torch.testing.assert_close(read.bias, c + torch.stack(moved), **close)  # once, not twice
    torch.testing.assert_close(bare.bias, bare.weight @ norm.bias, **close)
    assert type(result) is RMSNorm
    assert (result.eps, result.normalized_shape) == (0.5, (4,))
    assert torch.equal(result.weight, norm.weight)
    assert result.weight is not norm.weight
    assert all(p.requires_grad for layer in (write, table, bare) for p in layer.parameters())


@pytest.mark.parametrize("options", [{"bias": False}, {"elementwise_affine": False}, {}])
def test_a_norm_whose_bias_is_missing_or_zero_needs_no_layer_after_it(options):
    norm, write = nn.LayerNorm(4, **options).bfloat16().eval(), nn.Linear(3, 4)
    result = rms_from_layer_norm(norm, [write])
    assert (result.weight is None) == (norm.weight is None)
    assert result.weight is None or result.weight.dtype == torch.bfloat16
    assert not result.training


TIED = nn.Embedding(4, 4), nn.Linear(4, 4, bias=False)
TIED[1].weight = TIED[0].weight
BIASED = nn.LayerNorm(4)
nn.init.ones_(BIASED.bias)
MISTAKES = {
    "not a layer norm": (nn.RMSNorm(4), [], [], TypeError, "nn.LayerNorm, got RMSNorm"),
    "two axes": (nn.LayerNorm((2, 4)), [], [], ValueError, "over one axis"),
    "post-norm": (nn.LayerNorm(4), [nn.LayerNorm(4)], [], TypeError, "post-norm"),
    "a convolution": (nn.LayerNorm(4), [nn.Conv1d(4, 4, 1)], [], TypeError, "got Conv1d"),
    "whole numbers": (nn.LayerNorm(4), [torch.ones(2, 4).long()], [], TypeError, "of floats"),
    "another width": (nn.LayerNorm(4), [nn.Linear(4, 5)], [], ValueError, "got 5 from Linear"),
    "rows of another width": (nn.LayerNorm(4), [torch.ones(4, 3)], [], ValueError, "got 3"),
    "rescaled rows": (
        nn.LayerNorm(4), [nn.Embedding(3, 4, max_norm=1.0)], [], ValueError, "max_norm=None",
    ),
    "a nonlinear reader": (nn.LayerNorm(4), [], [nn.GELU()], TypeError, "got GELU"),
    "a reader of another width": (
        nn.LayerNorm(4), [], [nn.Linear(5, 4)], ValueError, "got 5; did you mean before",
    ),
    "a tied embedding": (nn.LayerNorm(4), [TIED[0]], [TIED[1]], ValueError, "untie"),
    "a tied tensor": (nn.LayerNorm(4), [TIED[0].weight], [TIED[1]], ValueError, "untie"),
    "a bias that is lost": (BIASED, [nn.Linear(4, 4)], [], ValueError, "bias must have"),
}  # fmt: skip


@pytest.mark.parametrize(("norm", "before", "after", "error", "match"), MISTAKES.values(),
                         ids=MISTAKES)  # fmt: skip
def test_invalid_calls_raise_an_error_before_any_change(norm, before, after, error, match):
    first = nn.Linear(3, 4)
    original = copy.deepcopy(first)
    with pytest.raises(error, match=re.escape(match)):
        rms_from_layer_norm(norm, [first, *before], after)
    assert torch.equal(first.weight, original.weight)
    assert torch.equal(first.bias, original.bias)
