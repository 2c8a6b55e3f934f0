"""Norms as modules, alone or of a sum: what their constructors take, and what they refuse."""

import pytest
import torch
from torch import nn

from lnlib.nn import LayerNorm, RMSNorm

KINDS = {"layer": LayerNorm, "rms": RMSNorm}
each_implementation = pytest.mark.parametrize(
    "implementation", ["plain", "function", "fused", "compiled"]
)
each_kind = pytest.mark.parametrize("kind", KINDS)


def test_it_is_a_torch_rms_norm():
    arguments = ((3, 4), 1e-3, True, "cpu", torch.float64)
    ours, theirs = RMSNorm(*arguments), nn.RMSNorm(*arguments)
    assert isinstance(ours, nn.RMSNorm)
    assert repr(ours) == repr(theirs)
    assert (ours.weight.dtype, ours.weight.shape) == (torch.float64, (3, 4))
    assert ours.state_dict().keys() == theirs.state_dict().keys() == {"weight"}
    assert RMSNorm(4, elementwise_affine=False).weight is None
    assert repr(RMSNorm(4, implementation="plain")).endswith("implementation='plain')")


@each_implementation
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_an_eps_of_none_is_torchs_in_every_dtype(implementation, affine, dtype):
    """Of inputs so small that an eps of another dtype gives another output and gradient."""
    size = torch.finfo(torch.float32 if dtype == torch.bfloat16 else dtype).eps ** 0.5
    values = torch.randn(5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    results = []
    for module in (RMSNorm(8, None, affine, dtype=dtype, implementation=implementation),
                   nn.RMSNorm(8, None, affine, dtype=dtype)):  # fmt: skip
        x = (size * values).to(dtype).requires_grad_()
        y = module(x)
        (y * y).sum().backward()
        results.append((y.double(), size * x.grad.double()))
    (y, dx), expected = results
    assert 0.3 < y.square().mean() < 0.7  # eps is as large as the squares
    close = {torch.bfloat16: 0.02, torch.float32: 1e-5}.get(dtype, 1e-12)
    torch.testing.assert_close((y, dx), expected, rtol=close, atol=close)


@each_implementation
def test_rms_norm_alone_takes_an_eps_of_none(implementation):
    assert RMSNorm(4, eps=None, implementation=implementation)(torch.ones(4)).isfinite().all()
    with pytest.raises(ValueError, match="LayerNorm: eps must be finite and >= 0, got None"):
        LayerNorm(4, eps=None, implementation=implementation)


@each_kind
@each_implementation
@pytest.mark.parametrize(
    ("residual", "error", "match"),
    [
        (torch.ones(3, 1), RuntimeError, r"residual must be .* \[3, 4\], got \[3, 1\]; try"),
        ([[1.0] * 4] * 3, TypeError, "residual must be a Tensor, got list; try"),
    ],
    ids=["shape", "list"],
)
def test_a_wrong_residual_is_refused(kind, implementation, residual, error, match):
    with pytest.raises(error, match=match):
        KINDS[kind](4, implementation=implementation)(torch.ones(3, 4), residual)


def test_a_wrong_constructor_argument_is_refused():
    with pytest.raises(ValueError, match=r"RMSNorm: .*at least one feature .* the width of the la"):
        RMSNorm((3, 0))
    with pytest.raises(
        ValueError, match=r"RMSNorm: .* plain, function, fused, compiled, got 'f'; "
    ):
        RMSNorm(4, implementation="f")
