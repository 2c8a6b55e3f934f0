"""Layer norm and RMS norm as modules, with PyTorch's modules and the same parameters."""

import pytest
import torch
from torch import nn

from lnlib.nn import LayerNorm, RMSNorm

IMPLEMENTATIONS = ["plain", "function", "fused", "compiled"]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
KINDS = {"layer": (LayerNorm, nn.LayerNorm), "rms": (RMSNorm, nn.RMSNorm)}
each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
each_kind = pytest.mark.parametrize("kind", KINDS)
each_dtype = pytest.mark.parametrize("dtype", FLOATS, ids=str)
ALONE_OR_ADDED = pytest.mark.parametrize("added", [False, True], ids=["alone", "added"])

# Measured against torch in float64: forward 5e-16, backward 3e-14, for stds near 1.
FLOAT64 = {"rtol": 1e-12, "atol": 1e-12}


def draw(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def make_pair(kind, shape, implementation="fused", **options):
    """Return our module and PyTorch's, with the same gain (not 1) and bias (not 0)."""
    ours = KINDS[kind][0](shape, implementation=implementation, **options)
    with torch.no_grad():
        for i, parameter in enumerate(ours.parameters()):
            parameter.copy_(draw(*parameter.shape, seed=10 + i))
    theirs = KINDS[kind][1](shape, **options)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def run(module, added, shape, dtype=torch.float64, scale=1.0, shift=0.0):
    """Return outputs, and the gradients of the input, the residual and the parameters."""
    tensors = [draw(*shape, seed=k, dtype=dtype) for k in range(4)]
    x, residual = (shift + scale * t for t in tensors[:2])
    leaves = [x.requires_grad_()] + ([residual.requires_grad_()] if added else [])
    if not added:
        outputs = (module(x),)
    elif type(module) in (nn.LayerNorm, nn.RMSNorm):
        total = x + residual
        outputs = module(total), total
    else:
        outputs = module(x, residual)
    leaves += module.parameters()
    return [*outputs, *torch.autograd.grad(outputs, leaves, tensors[2 : 2 + len(outputs)])]
