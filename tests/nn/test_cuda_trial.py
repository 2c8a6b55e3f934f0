"""Who takes the steps of the CUDA path: the kernels, once they were seen to be right."""

import functools
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import cuda, cuda_graphs, cuda_steps, cuda_trial, plain, triton_kernels
from lnlib.nn.kernels.spec import Spec
from tests.cases.recurrences import (
    EQUAL,
    EXACT,
    PARTS,
    UNEQUAL,
    Case,
    each_kind,
    each_length,
    everything,
)


class Planted:
    """Stands in for the Triton kernels: the steps in PyTorch operations, with a fault."""

    def __init__(self, monkeypatch, fault=None):
        self.calls = []
        monkeypatch.setattr(triton_kernels, "triton", object())
        for kind in PARTS:
            for direction in ("forward", "backward"):
                name = f"{kind}_{direction}"
                step = functools.partial(self.step, name, fault)
                monkeypatch.setattr(triton_kernels, name, step)

    def step(self, name, fault, spec, w, **tensors):
        self.calls.append(name)
        if fault:
            spec, w = fault(name, spec, w, tensors) or (spec, w)
        getattr(cuda_steps, name)(spec, w, **tensors)


@pytest.fixture
def gpu(monkeypatch):
    """Nothing known about any device, nobody recording, and no graphs."""
    monkeypatch.setattr(cuda_trial, "_checked", {})
    monkeypatch.setattr(cuda_trial, "_refused", set())
    monkeypatch.setattr(cuda_trial, "_warned", set())
    monkeypatch.setattr(cuda_graphs, "_recall", lambda key, make: None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)


@each_kind
@each_length
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_kernels_that_are_right_are_compared_once_and_used(
    gpu, monkeypatch, kind, options, sizes, dtype
):
    planted = Planted(monkeypatch)
    case = Case(kind, options, sizes[:9], dtype=dtype)
    everything(case, cuda)
    once = [f"{kind}_forward", f"{kind}_backward"]
    steps = [once[0]] * len(case.sizes) + [once[1]] * len(case.sizes)
    assert planted.calls == once + steps
    everything(case, cuda)
    assert planted.calls == once + 2 * steps


def raises(name, spec, w, tensors):
    raise ValueError("no such chip")


def another_eps(name, spec, w, tensors):
    return replace(spec, eps=2 * spec.eps), w


def no_bias(name, spec, w, tensors):
    return spec, w._replace(bias=torch.zeros_like(w.bias))


def not_a_number(name, spec, w, tensors):
    tensors["product" if "forward" in name else "dh"].fill_(torch.nan)


def ended_rows_go_on(name, spec, w, tensors):
    tensors["running"] = None


def a_thousandth_too_much_comes_back(name, spec, w, tensors):
    if "backward" in name:
        tensors["dh"].mul_(1.001)


def backward_forgets_what_came(name, spec, w, tensors):
    if "backward" in name:
        tensors["dh"].zero_()


FAULTS = [
    raises,
    another_eps,
    no_bias,
    not_a_number,
    ended_rows_go_on,
    backward_forgets_what_came,
    a_thousandth_too_much_comes_back,
]


@each_kind
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_a_kernel_that_is_wrong_warns_once_and_is_not_used(gpu, monkeypatch, kind, options, fault):
    if fault is no_bias and options.get("form") == "draw":
        pytest.skip("has no such bias")
    planted = Planted(monkeypatch, fault)
    case = Case(kind, options, UNEQUAL)
    reason = "ValueError: no such chip" if fault is raises else rf"{kind}_\w+ of Spec.* differs"
    with pytest.warns(
        RuntimeWarning, match=f"Triton kernels do not work on cpu, and PyTorch op.*{reason}"
    ):
        actual = everything(case, cuda, eps=0.3)
    assert_close(actual, everything(case, plain, eps=0.3), **EXACT)
    del planted.calls[:]
    # Silent from here on: a warning would be an error.
    assert_close(everything(case, cuda), everything(case, plain), **EXACT)
    assert_close(
        everything(Case("gru", {}, EQUAL), cuda), everything(Case("gru", {}, EQUAL), plain), **EXACT
    )
    assert planted.calls == []


def test_without_triton_it_warns_and_is_right(gpu, monkeypatch):
    monkeypatch.setattr(triton_kernels, "triton", None)
    case = Case("lstm", {"form": "paper"}, UNEQUAL)
    with pytest.warns(RuntimeWarning, match="ImportError: triton is not installed"):
        actual = everything(case, cuda)
    assert_close(actual, everything(case, plain), **EXACT)


def test_one_device_without_working_kernels_leaves_them_to_another(gpu, monkeypatch):
    Planted(monkeypatch)
    case = Case("gru", {}, EQUAL)
    cuda_trial._refused.add(torch.device("cuda", 1))
    spec, H = Spec("gru", "paper", "tanh", 1e-5), 5
    w = cuda_steps.Weights(case.weight, torch.ones(3 * H), torch.zeros(3 * H), None, None)
    x = case.inputs.detach().unflatten(0, (-1, 3))
    assert cuda_trial._steps(spec, x, None, w) is triton_kernels
    there = SimpleNamespace(device=torch.device("cuda", 1), dtype=x.dtype)
    assert cuda_trial._steps(spec, there, None, w) is cuda_steps


def test_a_kernel_that_fails_to_start_in_a_sequence_is_replaced_there(gpu, monkeypatch):
    def fault(name, spec, w, tensors):
        if planted.calls.count(name) > 4:  # compiled anew for memory that lies otherwise, say
            raise ValueError("out of registers")

    planted = Planted(monkeypatch, fault)
    case = Case("lstm", {"form": "paper"}, EQUAL)
    with pytest.warns(RuntimeWarning, match="ValueError: out of registers") as warned:
        actual = everything(case, cuda)
    assert len(warned) == 1
    assert_close(actual, everything(case, plain), **EXACT)
    assert cuda_trial._refused == {torch.device("cpu")}


def test_a_full_gpu_says_nothing_about_the_kernels(gpu, monkeypatch):
    def fault(name, spec, w, tensors):
        raise torch.cuda.OutOfMemoryError("full")

    Planted(monkeypatch, fault)
    with pytest.raises(torch.cuda.OutOfMemoryError, match="full"):
        everything(Case("gru", {}, EQUAL), cuda)
    assert not cuda_trial._refused
    planted = Planted(monkeypatch)
    everything(Case("gru", {}, EQUAL), cuda)
    assert planted.calls


def test_while_the_caller_records_no_kernel_is_tried_out(gpu, monkeypatch):
    planted = Planted(monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    case = Case("gru", {}, [3] * 3)
    assert_close(everything(case, cuda), everything(case, plain), **EXACT)
    assert planted.calls == []
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    everything(case, cuda)
    assert planted.calls


def test_too_wide_a_row_is_not_for_the_kernels(gpu, monkeypatch):
    planted = Planted(monkeypatch)
    monkeypatch.setattr(cuda_trial, "WIDEST", 4)
    everything(Case("gru", {}, [3] * 3, H=5), cuda)
    assert planted.calls == []


def test_warnings_that_are_errors_do_not_make_the_next_result_wrong(gpu, monkeypatch):
    Planted(monkeypatch, raises)
    case = Case("gru", {}, EQUAL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="no such chip"):
            everything(case, cuda)
        assert_close(everything(case, cuda), everything(case, plain), **EXACT)
