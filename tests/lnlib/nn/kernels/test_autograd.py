"""Gradients by hand, in Python and in C++: against autograd's of the plain loop."""

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import autograd, autograd_norms, reference
from lnlib.nn.kernels.cpu import recurrent
from tests.cases.compiled import FLOAT64, SIZES, arguments, call, outputs_and_gradients, randn
from tests.cases.recurrences import each_kind

ENDING = SIZES["ending"]
LONG = [2] * 20  # enough steps to lay the weights out anew


@pytest.fixture(params=[autograd, recurrent], ids=["by hand", "compiled"])
def path(request):
    if request.param is recurrent and not recurrent.available():
        pytest.skip(f"no compiled library here: {recurrent.reason()}")
    return request.param


def leaves(tensors, norms):
    return [*tensors, *(p for norm in norms if norm for p in norm if p is not None)]


@each_kind
@pytest.mark.parametrize(
    ("H", "sizes", "reverse", "missing"),
    [
        *((5, SIZES["one"], False, ()), (33, SIZES["three"], True, ())),
        *((33, SIZES["seventeen"], False, (0,)), (5, LONG, True, (0, 1))),
        *((5, ENDING, False, (1,)), (33, ENDING, True, ())),
    ],
    ids=["one", "three", "seventeen", "long", "ending", "ending, reverse"],
)
def test_results_and_gradients_are_those_of_the_plain_loop(
    path, monkeypatch, kind, options, H, sizes, reverse, missing
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)  # several chunks in every case but one
    tensors, norms = arguments(kind, options, H, sizes)
    norms = [norm and [None if k in missing else p for k, p in enumerate(norm)] for norm in norms]
    ours, theirs = (
        outputs_and_gradients(
            module, kind, options, tensors, sizes, norms, reverse=reverse, eps=1e-3
        )
        for module in (path, reference)
    )
    assert_close(ours, theirs, **FLOAT64)


@each_kind
@pytest.mark.parametrize("rows", [1, 12])
def test_the_size_of_a_chunk_changes_nothing(kind, options, rows, monkeypatch):
    tensors, norms = arguments(kind, options, 5, ENDING)
    whole = outputs_and_gradients(autograd, kind, options, tensors, ENDING, norms, reverse=True)
    monkeypatch.setattr(autograd_norms, "CHUNK", rows)
    cut = outputs_and_gradients(autograd, kind, options, tensors, ENDING, norms, reverse=True)
    assert_close(cut, whole, **FLOAT64)


@each_kind
@pytest.mark.parametrize("sizes", [SIZES["three"], ENDING], ids=["equal", "ending"])
def test_without_a_gradient_the_results_are_the_same_numbers(path, kind, options, sizes):
    tensors, norms = arguments(kind, options, 33, sizes)
    recorded = call(path, kind, options, tensors, sizes, norms)
    with torch.no_grad():
        bare = call(path, kind, options, tensors, sizes, norms)
    assert_close(bare, recorded, rtol=0, atol=0)
    assert not any(y.requires_grad for y in bare)


@each_kind
def test_each_gradient_can_be_wanted_alone(path, kind, options):
    tensors, norms = arguments(kind, options, 5, ENDING)
    both = (call(module, kind, options, tensors, ENDING, norms) for module in (path, reference))
    ours, theirs = (sum(y.square().sum() for y in outputs) for outputs in both)
    wanted = torch.autograd.grad(theirs, leaves(tensors, norms))
    for leaf, gradient in zip(leaves(tensors, norms), wanted, strict=True):
        (alone,) = torch.autograd.grad(ours, leaf, retain_graph=True)
        assert_close(alone, gradient, **FLOAT64)
    for leaf in leaves(tensors, norms)[1:]:
        leaf.requires_grad_(False)
    sum(y.square().sum() for y in call(path, kind, options, tensors, ENDING, norms)).backward()
    assert_close(tensors[0].grad, wanted[0], **FLOAT64)
    assert tensors[1].grad is None


def one_number(y):
    return torch.full((), 1.7, dtype=y.dtype).expand_as(y)


def a_transpose(y):
    return randn(torch.Generator().manual_seed(9), *y.shape[::-1]).t()


@each_kind
@pytest.mark.parametrize("dy", [one_number, a_transpose])
def test_gradients_that_come_in_may_lie_as_they_like_and_stay_as_they_are(
    path, monkeypatch, kind, options, dy
):
    monkeypatch.setattr(autograd_norms, "CHUNK", 20)
    tensors, norms = arguments(kind, options, 6, ENDING)
    both = []
    for module in (path, reference):
        outputs = call(module, kind, options, tensors, ENDING, norms)
        dys = [dy(y) for y in outputs]
        both.append(torch.autograd.grad(outputs, tensors, dys))
        assert_close(dys, [dy(y) for y in outputs], rtol=0, atol=0)
    assert_close(*both, **FLOAT64)


@each_kind
@pytest.mark.parametrize("sizes", [[3] * 4, ENDING], ids=["equal", "ending"])
def test_last_states_can_be_changed_and_the_outputs_stay(path, kind, options, sizes):
    tensors, norms = arguments(kind, options, 6, sizes)
    outputs, *last = call(path, kind, options, tensors, sizes, norms)
    before = outputs.detach().clone()
    for state in last:
        state.detach().zero_()
    assert_close(outputs.detach(), before, rtol=0, atol=0)


@each_kind
def test_a_graph_may_be_walked_twice_and_the_arguments_stay(path, kind, options):
    tensors, norms = arguments(kind, options, 5, [3] * 4)
    before = [t.detach().clone() for t in leaves(tensors, norms)]
    y = call(path, kind, options, tensors, [3] * 4, norms)[0].square().sum()
    first, second = (
        torch.autograd.grad(y, leaves(tensors, norms), retain_graph=True, allow_unused=True)
        for _ in range(2)
    )
    assert_close(first, second, rtol=0, atol=0)
    assert_close(leaves(tensors, norms), before, rtol=0, atol=0)


# PyTorch's own decorator is silent behind a sum.
@each_kind
@pytest.mark.parametrize("loss", [torch.Tensor.sum, lambda y: y.square().sum()])
def test_a_second_derivative_is_refused(path, kind, options, loss):
    tensors, norms = arguments(kind, options, 5, [3] * 4)
    y = sum(map(loss, call(path, kind, options, tensors, [3] * 4, norms)))
    for slope in torch.autograd.grad(y, leaves(tensors, norms), create_graph=True):
        with pytest.raises(RuntimeError, match=r'once_differentiable|implementation="plain"'):
            slope.sum().backward(retain_graph=True)


@each_kind
def test_tensors_need_not_be_contiguous(path, kind, options):
    tensors, norms = arguments(kind, options, 6, [3] * 4)
    strided = [t.detach().t().contiguous().t().requires_grad_() for t in tensors]
    wide = [
        norm and [torch.stack((p.detach(),) * 2, 1)[:, 0].requires_grad_() for p in norm]
        for norm in norms
    ]
    assert_close(
        outputs_and_gradients(path, kind, options, strided, [3] * 4, wide),
        outputs_and_gradients(path, kind, options, tensors, [3] * 4, norms),
        **FLOAT64,
    )


@each_kind
def test_inputs_of_fewer_bits_than_the_weights_are_taken_to_theirs(kind, options):
    tensors, norms = arguments(kind, options, 5, ENDING, torch.float32)
    short = tensors[0].half()
    mixed, wide = (
        call(autograd, kind, options, [inputs, *tensors[1:]], ENDING, norms)
        for inputs in (short, short.float())
    )
    assert_close(mixed, wide, rtol=0, atol=0)


@each_kind
def test_results_that_were_written_over_are_not_differentiated(kind, options):
    tensors, norms = arguments(kind, options, 5, [3] * 4)
    outputs, *_ = call(autograd, kind, options, tensors, [3] * 4, norms)
    outputs.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outputs.sum().backward()


@each_kind
def test_no_sequence_at_all_gives_empty_results_and_zero_gradients(kind, options):
    tensors, norms = arguments(kind, options, 5, [0, 0])
    outputs = call(autograd, kind, options, tensors, [0, 0], norms)
    assert not any(map(len, outputs))
    for gradient in torch.autograd.grad(sum(map(torch.sum, outputs)), leaves(tensors, norms)):
        assert not gradient.any()


@each_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_rounded_at_the_ends_alone(kind, options, dtype):
    tensors, norms = arguments(kind, options, 5, ENDING, dtype)
    exact = (
        [t.detach().double().requires_grad_() for t in tensors],
        [norm and [p.detach().double().requires_grad_() for p in norm] for norm in norms],
    )
    dys = [randn(torch.Generator().manual_seed(9), sum(ENDING), 5).to(dtype)]
    ours = call(autograd, kind, options, tensors, ENDING, norms)
    theirs = call(reference, kind, options, exact[0], ENDING, exact[1])
    assert {y.dtype for y in ours} == {dtype}
    assert_close(list(ours), [y.to(dtype) for y in theirs])
    mine = torch.autograd.grad(ours[:1], leaves(tensors, norms), dys)
    wanted = torch.autograd.grad(theirs[:1], leaves(*exact), [dy.double() for dy in dys])
    assert_close(list(mine), [g.to(dtype) for g in wanted])


@each_kind
def test_autocast_leaves_the_results_alone(kind, options):
    tensors, norms = arguments(kind, options, 5, ENDING, torch.float32)
    outside = outputs_and_gradients(autograd, kind, options, tensors, ENDING, norms)
    with torch.autocast("cpu", torch.bfloat16):
        inside = outputs_and_gradients(autograd, kind, options, tensors, ENDING, norms)
    assert_close(inside, outside, rtol=0, atol=0)


@each_kind
def test_no_more_is_kept_for_the_gradient_than_by_the_plain_loop(kind, options):
    sizes = [16] * 8

    def saved(module):
        storages = {}

        def pack(t):
            storages[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
            return t

        tensors, norms = arguments(kind, options, 5, sizes)
        given = {t.untyped_storage().data_ptr() for t in leaves(tensors, norms)}
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            results = call(module, kind, options, tensors, sizes, norms)
        given |= {r.untyped_storage().data_ptr() for r in results}
        return sum(size for at, size in storages.items() if at not in given)

    assert saved(autograd) <= saved(reference)
