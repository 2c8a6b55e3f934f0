"""Digits of the compiled norms, where PyTorch's own kernels lose them."""

import pytest
import torch
import torch.nn.functional as F

from lnlib.nn import LayerNorm, RMSNorm

KINDS = {"layer": LayerNorm, "rms": RMSNorm}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
each_kind = pytest.mark.parametrize("kind", KINDS)


def draw(*shape, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


@each_kind
@pytest.mark.parametrize("count", [1, 2])
def test_gradients_of_parameters_are_summed_over_rows_in_double(built, kind, count):
    # 64 rows whose sum is 2^24, beside which 1 is lost in float32, and 200 times 64 rows of sum 1.
    torch.set_num_threads(count)
    dy = torch.full((201 * 64, 64), 2.0**-6)
    dy[:64] = 2.0**18
    module = KINDS[kind](64, eps=0, implementation="compiled")
    x = torch.tensor([1.0, -1.0]).repeat(32).expand(len(dy), 64)
    module(x).backward(dy)
    expected = torch.full((64,), 2.0**24 + 200)
    assert torch.equal(module.weight.grad, expected * x[0])
    if kind == "layer":
        assert torch.equal(module.bias.grad, expected)


@pytest.mark.parametrize("added", [False, True], ids=["alone", "added"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("H", "mean"), [(1, 3.0), (1, 1e4), (2, 1e4), (3, -1e4), (768, 1e4), (768, 1e6)]
)
def test_the_default_layer_norm_keeps_its_digits_whatever_the_mean(built, H, mean, dtype, added):
    # A weight of 2 and a bias of 3: of one feature, or of equal ones, 3 is the output.
    norm = LayerNorm(H, dtype=dtype)
    with torch.no_grad():
        norm.weight.fill_(2)
        norm.bias.fill_(3)
    if dtype == torch.float16:
        mean = min(mean, 1e4)
    x = (mean + draw(500, H)).to(dtype)
    y = norm(x, torch.zeros_like(x))[0] if added else norm(x)
    # Shifted, which changes nothing, so that PyTorch's keeps its digits.
    exact = F.layer_norm(x.double() - mean, (H,), norm.weight.double(), norm.bias.double())
    # Measured: 1.5 eps of the largest output in each dtype; PyTorch's 0.28 in float32.
    allowed = {torch.float16: 1.0, torch.bfloat16: 1.0}.get(dtype, 4.0)
    assert (y.double() - exact).abs().max() <= allowed * torch.finfo(dtype).eps * exact.abs().max()
