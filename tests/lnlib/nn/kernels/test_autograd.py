"""Handwritten gradients in Python and C++, compared with autograd for the reference."""

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import autograd, autograd_norms, reference
from lnlib.nn.kernels.cpu import recurrent
from lnlib.nn.kernels.triton import recurrent as triton_recurrent
from tests.cases.interpreter import in_the_interpreter, interpreted
from tests.cases.recurrences import EXACT, SIZES, Case, each_kind, randn

# Triton's interpreter takes milliseconds for every row of every step.
SEVENTEEN, ENDING = SIZES["seventeen"], SIZES["ending"]
if interpreted:
    SEVENTEEN, ENDING = [4] * 3, [3, 2, 2, 1]
LONG = [2] * 20  # enough steps to lay the weights out anew


@pytest.fixture(params=["by hand", "compiled", pytest.param("triton", marks=in_the_interpreter)])
def path(request):
    if request.param == "compiled" and not recurrent.available():
        pytest.skip(f"no compiled library here: {recurrent.reason()}")
    return {"by hand": autograd, "compiled": recurrent, "triton": triton_recurrent}[request.param]


@each_kind
@pytest.mark.parametrize(
    ("H", "sizes", "reverse", "missing"),
    [
        *((1, SIZES["one"], False, ()), (33, SIZES["three"], True, ())),
        *((33, SEVENTEEN, False, (0,)), (5, LONG, True, (0, 1))),
        *((5, ENDING, False, (1,)), (33, ENDING, True, ())),
    ],
    ids=["one", "three", "seventeen", "long", "ending", "ending, reverse"],
)
def test_results_and_gradients_equal_those_of_the_reference(
    path, monkeypatch, kind, options, H, sizes, reverse, missing
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)  # several chunks in every case but one
    case = Case(kind, options, sizes, H)
    case.norms = [[None if k in missing else p for k, p in enumerate(n)] for n in case.norms]
    ours, theirs = (
        case.results_and_grads(module, reverse=reverse, eps=1e-3) for module in (path, reference)
    )
    assert_close(ours, theirs, **EXACT)


@each_kind
@pytest.mark.parametrize("sizes", [SIZES["three"], ENDING], ids=["equal", "ending"])
def test_results_without_gradients_are_the_same(path, kind, options, sizes):
    case = Case(kind, options, sizes, 33)
    recorded = case.run(path)
    with torch.no_grad():
        bare = case.run(path)
    assert_close(bare, recorded, rtol=0, atol=0)
    assert not any(y.requires_grad for y in bare)


@each_kind
def test_each_gradient_can_be_requested_separately(path, kind, options):
    case = Case(kind, options, ENDING, 5)
    both = (case.run(module) for module in (path, reference))
    ours, theirs = (sum(y.square().sum() for y in outputs) for outputs in both)
    wanted = torch.autograd.grad(theirs, case.leaves)
    for leaf, gradient in zip(case.leaves, wanted, strict=True):
        (alone,) = torch.autograd.grad(ours, leaf, retain_graph=True)
        assert_close(alone, gradient, **EXACT)
    for leaf in case.leaves[1:]:
        leaf.requires_grad_(False)
    sum(y.square().sum() for y in case.run(path)).backward()
    assert_close(case.inputs.grad, wanted[0], **EXACT)
    assert case.state[0].grad is None


def one_number(y):
    return torch.full((), 1.7, dtype=y.dtype).expand_as(y)


def a_transpose(y):
    return randn(*y.shape[::-1], seed=9).t()


@each_kind
@pytest.mark.parametrize("dy", [one_number, a_transpose])
def test_incoming_gradients_can_have_any_layout_and_are_not_modified(
    path, monkeypatch, kind, options, dy
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)
    case = Case(kind, options, ENDING, 6)
    both = []
    for module in (path, reference):
        outputs = case.run(module)
        dys = [dy(y) for y in outputs]
        both.append(torch.autograd.grad(outputs, case.leaves, dys))
        assert_close(dys, [dy(y) for y in outputs], rtol=0, atol=0)
    assert_close(*both, **EXACT)


@each_kind
@pytest.mark.parametrize("sizes", [[3] * 4, ENDING], ids=["equal", "ending"])
def test_changing_the_last_states_does_not_change_the_outputs(path, kind, options, sizes):
    case = Case(kind, options, sizes, 6)
    outputs, *last = case.run(path)
    before = outputs.detach().clone()
    for state in last:
        state.detach().zero_()
    assert_close(outputs.detach(), before, rtol=0, atol=0)


@each_kind
def test_backward_can_run_twice_without_modifying_arguments(path, kind, options):
    case = Case(kind, options, [3] * 4, 5)
    before = [t.detach().clone() for t in case.leaves]
    y = case.run(path)[0].square().sum()
    first, second = (
        torch.autograd.grad(y, case.leaves, retain_graph=True, allow_unused=True) for _ in range(2)
    )
    assert_close(first, second, rtol=0, atol=0)
    assert_close(case.leaves, before, rtol=0, atol=0)


# PyTorch's own decorator raises no error behind a sum.
@each_kind
@pytest.mark.parametrize("loss", [torch.Tensor.sum, lambda y: y.square().sum()])
def test_second_derivatives_raise_an_error(path, kind, options, loss):
    case = Case(kind, options, [3] * 4, 5)
    y = sum(map(loss, case.run(path)))
    for slope in torch.autograd.grad(y, case.leaves, create_graph=True):
        with pytest.raises(RuntimeError, match=r'once_differentiable|implementation="plain"'):
            slope.sum().backward(retain_graph=True)


@each_kind
def test_tensors_need_not_be_contiguous(path, kind, options):
    case = Case(kind, options, [3] * 4, 6)
    strided = case.map(
        lambda t: torch.stack((t, t), 1)[:, 0] if t.dim() == 1 else t.t().contiguous().t()
    )
    assert not any(t.is_contiguous() for t in strided.leaves)
    assert_close(strided.results_and_grads(path), case.results_and_grads(path), **EXACT)


@each_kind
def test_modified_results_raise_an_error_in_backward(kind, options):
    case = Case(kind, options, [3] * 4, 5)
    outputs, *_ = case.run(autograd)
    outputs.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outputs.sum().backward()


@each_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_only_rounded_at_inputs_and_outputs(kind, options, dtype):
    case = Case(kind, options, ENDING, 5, dtype)
    exact = case.map(torch.Tensor.double)
    dys = [randn(sum(ENDING), 5, seed=9).to(dtype)]
    ours, theirs = case.run(autograd), exact.run(reference)
    assert {y.dtype for y in ours} == {dtype}
    assert_close(list(ours), [y.to(dtype) for y in theirs])
    mine = torch.autograd.grad(ours[:1], case.leaves, dys)
    wanted = torch.autograd.grad(theirs[:1], exact.leaves, [dy.double() for dy in dys])
    assert_close(list(mine), [g.to(dtype) for g in wanted])


@each_kind
def test_autocast_does_not_change_the_results(kind, options):
    case = Case(kind, options, ENDING, 5, torch.float32)
    outside = case.results_and_grads(autograd)
    with torch.autocast("cpu", torch.bfloat16):
        inside = case.results_and_grads(autograd)
    assert_close(inside, outside, rtol=0, atol=0)
