"""Gain and bias of a norm folded into the linear layers that read it."""

import copy
import re

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from lnlib.nn import LayerNorm, RMSNorm, fold_norm
from lnlib.nn.transformer import Transformer


def randomized(module):
    with torch.no_grad():
        for p in module.parameters():
            p.normal_()
    return module


@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm, LayerNorm, RMSNorm])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_folded_layers_give_the_same_outputs(kind, dtype, close):
    torch.manual_seed(0)
    norm = randomized(kind(8, eps=0.1, dtype=dtype))
    q, k, v = (nn.Linear(8, n, bias, dtype=dtype) for n, bias in ((3, True), (8, False), (5, True)))
    x = torch.randn(6, 8, dtype=dtype)
    expected = [f(norm(x)) for f in (q, k, v)]
    W, gain = k.weight.detach().clone(), norm.weight.detach().clone()
    assert fold_norm(norm, q, k, v, k) is None  # k once
    for f, y in zip((q, k, v), expected, strict=True):
        torch.testing.assert_close(f(norm(x)), y, rtol=close, atol=close)
        assert (f.weight.dtype, f.weight.requires_grad) == (dtype, True)
    assert not list(norm.parameters())
    assert "elementwise_affine=False" in repr(norm)
    assert (k.bias is None) == (kind in (nn.RMSNorm, RMSNorm))
    assert torch.equal(k.weight[:, 2], W[:, 2] * gain[2])
    x_hat = kind(8, eps=0.1, elementwise_affine=False)(x)
    torch.testing.assert_close(norm(x), x_hat)


def test_networks_give_the_same_outputs_with_folded_norms():
    torch.manual_seed(0)
    model = randomized(Transformer(11, depth=2, width=16, heads=2, length=8)).double()
    tokens = torch.randint(11, (3, 8))
    expected = model(tokens)
    for block in model.blocks:
        fold_norm(block.norm_a, block.qkv, model=model)
        fold_norm(block.norm_f, block.expand, model=model)
    fold_norm(model.last_norm, model.output, model=model)
    torch.testing.assert_close(model(tokens), expected)
    assert not [name for name in model.state_dict() if "norm" in name]


@pytest.mark.parametrize("options", [{"bias": False}, {"elementwise_affine": False}, {}])
def test_missing_parameters_are_not_added_to_the_layer(options):
    norm, layer = nn.LayerNorm(4, **options), nn.Linear(4, 3, bias=False).requires_grad_(False)
    W = layer.weight.clone()
    fold_norm(norm, layer)
    assert layer.bias is None  # a bias of 0 needs none
    assert torch.equal(layer.weight, W)


def test_requires_grad_and_dtypes_are_preserved():
    norm, layer = randomized(nn.LayerNorm(4)), nn.Linear(4, 3, bias=False).requires_grad_(False)
    fold_norm(norm, layer.bfloat16())
    assert (layer.bias.requires_grad, layer.bias.dtype) == (False, torch.bfloat16)


class PlusOne(nn.LayerNorm):
    """Its gain is 1 + weight."""

    def forward(self, x):
        return nn.functional.layer_norm(x, self.normalized_shape, 1 + self.weight, self.bias)


class Scaled(nn.Linear):
    """Its output is not linear in its weight alone."""

    def forward(self, x):
        return super().forward(x) + x.sum()


TIED = nn.Embedding(4, 4), nn.Linear(4, 4, bias=False)
TIED[1].weight = TIED[0].weight
TWINS = nn.Linear(4, 4), nn.Linear(4, 4)
TWINS[1].weight = TWINS[0].weight
MISTAKES = {
    "batch norm": (nn.BatchNorm1d(4), [], None, TypeError, "got BatchNorm1d; fold batch norm by"),
    "a gain of 1 + w": (PlusOne(4), [], None, TypeError, "got PlusOne"),
    "two axes": (nn.LayerNorm((2, 4)), [], None, ValueError, "over one axis"),
    "a convolution": (nn.LayerNorm(4), [nn.Conv1d(4, 4, 1)], None, TypeError, "got Conv1d"),
    "another forward": (nn.LayerNorm(4), [Scaled(4, 4)], None, TypeError, "got Scaled"),
    "another width": (nn.LayerNorm(4), [nn.Linear(5, 4)], None, ValueError, "that reads 5; is it"),
    "a computed weight": (
        nn.LayerNorm(4), [weight_norm(nn.Linear(4, 4))], None, ValueError, "parametrization",
    ),
    "two layers with one weight": (nn.LayerNorm(4), TWINS, None, ValueError, "not be shared"),
    "a tied embedding": (
        nn.RMSNorm(4), [TIED[1]], nn.ModuleList(TIED), ValueError, "that Embedding has, too; untie",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("norm", "layers", "model", "error", "match"), MISTAKES.values(),
                         ids=MISTAKES)  # fmt: skip
def test_invalid_calls_raise_an_error_before_any_change(norm, layers, model, error, match):
    first = nn.Linear(4, 4)
    original = copy.deepcopy(first)
    with pytest.raises(error, match=re.escape(match)):
        fold_norm(norm, first, *layers, model=model)
    assert torch.equal(first.weight, original.weight)
    assert torch.equal(first.bias, original.bias)
    assert norm.weight is not None
