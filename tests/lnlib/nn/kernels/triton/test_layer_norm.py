"""The Triton kernels of the norms without a GPU: interpreted, and compiled for several GPUs."""

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

from lnlib.nn import functional
from lnlib.nn.kernels import layer_norm_function
from lnlib.nn.kernels.triton import layer_norm
from tests.cases.interpreter import (
    WIDE,
    compile_kernel,
    each_chip,
    in_the_interpreter,
    in_this_process,
)

each_kind = pytest.mark.parametrize("centered", [True, False], ids=["layer", "rms"])


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def both(x, residual, weight, bias, centered):
    """Return the results of the kernels and of the plain formula, each with its sum."""
    settings = (x.shape[-1], 1, 0.3, centered, layer_norm)
    ours = layer_norm_function.Rows.apply(settings, x, residual, weight, bias)
    total = x if residual is None else x + residual
    shape = x.shape[-1:]
    if centered:
        y = functional.layer_norm_plain(total, shape, weight, bias, 0.3)
    else:
        y = functional.rms_norm_plain(total, shape, weight, 0.3)
    return ((ours,), (y,)) if residual is None else (ours, (y, total))


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("added", [False, True], ids=["alone", "added"])
@pytest.mark.parametrize("affine", [False, True], ids=["bare", "affine"])
@pytest.mark.parametrize(("n", "H"), [(1, 33), (7, 1), (7, 33)])
def test_outputs_and_gradients_are_those_of_the_plain_formula(
    monkeypatch, centered, added, affine, n, H
):
    monkeypatch.setattr(layer_norm, "PROGRAMS", 3)  # so that one takes several rows
    x, residual = draw(n, H), draw(n, H, seed=1) if added else None
    weight = draw(H, seed=2) if affine else None
    bias = draw(H, seed=3) if affine and centered else None
    leaves = [t for t in (x, residual, weight, bias) if t is not None]
    results = []
    for outputs in both(x, residual, weight, bias, centered):
        d = [draw(n, H, seed=4 + k).detach() for k in range(len(outputs))]
        results.append([*outputs, *torch.autograd.grad(outputs, leaves, d)])
    assert_close(*results, rtol=1e-11, atol=1e-12)  # measured 2e-14


@in_the_interpreter
@each_kind
def test_what_is_frozen_gets_no_gradient(centered):
    x, residual, weight = draw(4, 5), draw(4, 5, seed=1).detach(), draw(5, seed=2)
    for frozen, other in ((x, weight), (weight, x)):
        frozen.requires_grad_(False)
        other.requires_grad_()
        gradients = [
            torch.autograd.grad(y, other, draw(4, 5, seed=3))
            for y, _ in both(x, residual, weight, None, centered)
        ]
        assert_close(*gradients, rtol=1e-11, atol=1e-12)


@in_the_interpreter
@pytest.mark.parametrize("weight_dtype", [None, torch.float32], ids=str)
@pytest.mark.parametrize(
    "dtype", list(layer_norm_function.FLOATS)[:1] + list(layer_norm_function.FLOATS)[2:], ids=str
)
@pytest.mark.parametrize("H", [1, 19])
def test_the_check_before_their_first_use_finds_them_right(dtype, weight_dtype, H):
    if dtype == torch.float64 and weight_dtype:
        pytest.skip("refused before")
    layer_norm_function.compare(layer_norm, torch.device("cpu"), dtype, H, weight_dtype)


@in_this_process
def test_a_failure_is_said_once_and_leaves_the_norm_to_torch(monkeypatch):
    monkeypatch.setattr(layer_norm, "_refused", set())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)

    def fail(*args):
        raise RuntimeError("no such chip")

    monkeypatch.setattr(layer_norm, "compare", fail)
    with pytest.warns(RuntimeWarning, match=r"do not work on cpu, and .*: RuntimeError: no such"):
        assert layer_norm.kernel(torch.ones(3, 4), 4, None) is None
    assert layer_norm.kernel(torch.ones(3, 4), 4, None) is None  # warnings are errors


@in_this_process
@each_kind
@pytest.mark.parametrize("name", ["_forward", "_backward"])
@each_chip
def test_kernels_compile(monkeypatch, tmp_path, centered, name, chip):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    shapes = [(768, "bf16", True)]
    if chip == 80:  # seconds each: what does not depend on the chip is seen on one
        shapes += [(1, "fp32", False), (400, "fp64", False), (layer_norm.WIDEST, "fp16", True)]
    for H, dtype, added in shapes:
        types = {"stats": "*fp64", "rows": "i32", "sums": f"*{WIDE[dtype]}"}
        constants = {"CENTERED": centered, "ADDED": added, "EPS": 1e-5}
        constants |= {"GAIN": True, "BIAS": centered, "DX": True}
        compile_kernel(
            getattr(layer_norm, name), H, chip, layer_norm.PER_WARP,
            lambda n, types=types, dtype=dtype: types.get(n, f"*{dtype}"), constants,
        )  # fmt: skip
