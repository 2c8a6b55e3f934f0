"""The Triton kernels of the norms on a GPU."""

import warnings

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from lnlib.nn import LayerNorm, RMSNorm
from lnlib.nn.kernels.triton import layer_norm
from tests.cases.recurrences import needs_gpu

pytestmark = needs_gpu

each_module = pytest.mark.parametrize("module", [LayerNorm, RMSNorm], ids=["layer", "rms"])
each_dtype = pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)


def draw(*shape, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to("cuda", dtype)


def results(module, *inputs, dy):
    """Return the outputs and the gradients of the inputs and of the parameters."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    outputs = module(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    leaves = [*inputs, *module.parameters()]
    return [*outputs, *torch.autograd.grad(outputs, leaves, [dy] * len(outputs))]


@each_module
@each_dtype
@pytest.mark.parametrize("added", [False, True], ids=["alone", "added"])
@pytest.mark.parametrize(("n", "H"), [(1, 33), (7, 1), (1030, 768), (5, 4096), (3, 16384)])
def test_gpu_agrees_with_float64_and_without_a_warning(module, dtype, added, n, H):
    inputs = [draw(n, H, seed=k, dtype=dtype) for k in range(1 + added)]
    dy = draw(n, H, seed=2, dtype=dtype)
    norm = module(H, eps=1e-3, device="cuda", dtype=dtype)
    for k, p in enumerate(norm.parameters()):
        nn.init.normal_(p, 1.0, 0.3, generator=torch.Generator("cuda").manual_seed(k))
    exact = module(H, eps=1e-3, device="cuda", dtype=torch.float64)
    exact.load_state_dict(norm.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = results(norm, *inputs, dy=dy)
    expected = results(exact, *(x.double() for x in inputs), dy=dy.double())
    assert layer_norm.kernel(inputs[0], H, dtype) is layer_norm  # no fallback was used
    # Sums over rows are of n terms, and the sum with the residual is rounded to the dtype.
    scale = torch.finfo(dtype).eps * (4 if dtype.itemsize < 4 else 32)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == dtype
        assert_close(a.double(), e, rtol=scale, atol=scale * (1 + e.abs().max().item()))


@each_module
def test_gpu_takes_rows_too_wide_for_one_program(module):
    H = layer_norm.WIDEST + 1
    x, dy = draw(2, H, seed=0, dtype=torch.float32), draw(2, H, seed=1, dtype=torch.float32)
    norm = module(H, device="cuda")
    exact = module(H, device="cuda", dtype=torch.float64)
    actual = results(norm, x, dy=dy)
    expected = results(exact, x.double(), dy=dy.double())
    assert_close([t.double() for t in actual], expected, rtol=1e-4, atol=1e-5)


@each_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # from nn.RMSNorm of PyTorch
def test_gpu_autocast_gives_the_dtype_that_torch_gives(module, dtype):
    twin = {LayerNorm: nn.LayerNorm, RMSNorm: nn.RMSNorm}[module]
    for given in (dtype, torch.float32):
        x = draw(4, 64, seed=0, dtype=given)
        with torch.autocast("cuda", dtype):
            actual, expected = module(64, device="cuda")(x), twin(64, device="cuda")(x)
        assert actual.dtype == expected.dtype
        assert_close(actual, expected, rtol=1e-2, atol=1e-2)
