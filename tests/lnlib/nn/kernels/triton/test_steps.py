"""The Triton kernels without a GPU: interpreted, and compiled for four GPUs."""

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

from lnlib.nn.kernels.spec import Spec
from lnlib.nn.kernels.triton import recurrent, steps
from tests.cases.interpreter import (
    WIDE,
    compile_kernel,
    each_chip,
    in_the_interpreter,
    in_this_process,
)
from tests.cases.recurrences import each_kind


@in_the_interpreter
def test_tanh_keeps_its_digits_near_zero_and_is_1_far_from_it():
    x = torch.tensor([[0.0, 1e-30, -1e-6, 1e-3, -0.1, 0.299, 0.301, -1.0, 9.0, -50.0, 1e4, 0.5]])
    spec = Spec("rnn", "parts", "tanh", 1e-5)
    one, zero = torch.ones(x.shape[1]), torch.zeros(x.shape[1])
    w = steps.Weights(torch.zeros(x.shape[1], x.shape[1]), one, zero, None, None)
    h = torch.empty_like(x)
    product, rstd = torch.zeros_like(x), torch.empty(1, 1)
    tensors = {"x": x, "product": product, "h_prev": h, "h": h, "rstd": rstd}
    steps.take("forward", spec, w, None, tensors)
    assert_close(h, x.double().tanh().float(), rtol=4e-7, atol=0)


# Whether the compiler accepts the kernels, which the interpreter cannot test.

IN_THE_WIDE_DTYPE = {
    *("gain", "bias", "gain_c", "bias_c", "rstd", "c", "c_prev", "cell_hat", "dc", "d_cell")
}


@pytest.mark.one_in(3)
@in_this_process
@each_kind
@pytest.mark.parametrize("direction", ["forward", "backward"])
@each_chip
def test_kernels_compile(monkeypatch, tmp_path, kind, options, direction, chip):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    shapes = [(256, "bf16", True), (recurrent.MAX_HIDDEN, "fp16", True)]
    if chip == 80 and not options:  # seconds each: seen on one chip, and in the default form
        shapes += [(1, "fp32", True), (400, "fp32", False), (64, "fp64", False)]
    for H, dtype, masked in shapes:

        def type_of(name, dtype=dtype):
            dtype = WIDE[dtype] if name in IN_THE_WIDE_DTYPE else dtype
            return "*i32" if name == "running" else f"*{dtype}"

        constants = {"FORM": options.get("form", "paper"), "EPS": 1e-5, "MASKED": masked}
        constants["RELU"] = options.get("nonlinearity") == "relu"
        kernel = steps.KERNELS[kind, direction]
        compile_kernel(kernel, H, chip, steps.PER_WARP, type_of, constants)
