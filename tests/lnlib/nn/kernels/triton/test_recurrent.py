"""The CUDA recurrences, with kernels run by Triton's interpreter on a CPU."""

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

from lnlib.nn.kernels import autograd, reference
from lnlib.nn.kernels.spec import Spec
from lnlib.nn.kernels.triton import recurrent
from tests.cases.interpreter import in_the_interpreter
from tests.cases.recurrences import (
    EXACT,
    Case,
    OnGpu,
    check,
    check_short,
    creep,
    each_direction,
    each_kind,
)

SHORT, ENDING = [2, 2, 2], [3, 2, 2, 1]
LSTM = ("lstm", {"form": "paper"})


@in_the_interpreter
@each_kind
@each_direction
@pytest.mark.parametrize("sizes", [SHORT, ENDING], ids=["equal", "ending"])
def test_results_and_gradients_equal_those_of_the_reference(kind, options, reverse, sizes):
    check(Case(kind, options, sizes), reverse=reverse, eps=0.3)


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("H", [1, 8, 33])
def test_columns_past_the_width_do_not_count(kind, options, H):
    check(Case(kind, options, [2, 2], H=H))


@in_the_interpreter
def test_arguments_and_gradients_may_lie_in_memory_as_they_like():
    T, B, H = 3, 4, 5
    norms = [tuple(strided(2, n).select(0, k) for k in (0, 1)) for n in (4 * H, H)]
    tensors = [strided(*s) for s in ((T * B, 4 * H), (B, H), (B, H), (4 * H, H))]
    d_results = [strided(T * B, H), strided(B, H), strided(B, H)]
    inputs, *others = tensors
    both = []
    for module in (reference, recurrent):
        results = module.run(Spec("lstm"), inputs, [B] * T, others[:2], others[2], norms)
        both.append([*results, *torch.autograd.grad(results, tensors, d_results)])
    assert_close(both[1], both[0], **EXACT)


def strided(*shape):
    """Return a tensor that is not contiguous."""
    drawn = torch.randn(*shape[::-1], generator=torch.Generator().manual_seed(1))
    return drawn.double().permute(*reversed(range(len(shape)))).requires_grad_()


@in_the_interpreter
@each_kind
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0], ids="inputs of {:g}".format)
def test_float32_is_as_close_to_float64_as_the_plain_loop_is(kind, options, scale):
    exact, single = (Case(kind, options, SHORT, dtype=d) for d in (torch.float64, torch.float32))
    for case in (exact, single):
        case.inputs = (scale * case.inputs).detach()
    results = zip(single.run(recurrent), single.run(reference), exact.run(reference), strict=True)
    for actual, theirs, e in results:
        allowed = 3 * (theirs - e).abs().max() + 1e-6
        assert (actual - e).abs().max() < allowed


@in_the_interpreter
@each_kind
def test_a_norm_may_do_without_gain_and_bias(kind, options):
    case = Case(kind, options, SHORT)
    case.norms = [(None, None) for norm in case.norms]
    check(case)


@in_the_interpreter
def test_passes_may_come_in_any_order_and_be_repeated():
    first, second = Case(*LSTM, SHORT, seed=1), Case(*LSTM, SHORT, seed=2)
    expected = [case.grads(case.run(reference)) for case in (first, second)]
    results = [case.run(recurrent) for case in (first, second)]
    once = first.grads(results[0], retain_graph=True)
    assert_close([once, second.grads(results[1])], expected, **EXACT)
    assert_close(first.grads(results[0]), once, rtol=0, atol=0)


@in_the_interpreter
def test_only_the_gradients_asked_for_are_there():
    case = Case(*LSTM, SHORT)
    for p in case.leaves:
        p.requires_grad_(False)
    case.state[1].requires_grad_()
    (expected,) = torch.autograd.grad(case.run(reference)[0].sum(), case.state[1])
    (actual,) = torch.autograd.grad(case.run(recurrent)[0].sum(), case.state[1])
    assert_close(actual, expected, **EXACT)


@in_the_interpreter
@pytest.mark.parametrize("sizes", [SHORT, ENDING], ids=["equal", "ending"])
def test_without_gradients_the_results_are_the_same_bits(sizes):
    case = Case(*LSTM, sizes)
    expected = case.run(recurrent)
    with torch.no_grad():
        assert_close(case.run(recurrent), expected, rtol=0, atol=0)


@in_the_interpreter
def test_inference_mode_does_not_spoil_the_training_after_it():
    case = Case(*LSTM, SHORT)
    with torch.inference_mode():
        results = case.run(recurrent)
    assert results[0].is_inference()
    check(case)


@in_the_interpreter
def test_results_may_be_changed_in_place_before_the_backward_pass():
    case = Case("gru", {}, SHORT)
    slopes = {}
    for module in (reference, recurrent):
        outputs, h = case.run(module)
        outputs.mul_(2)
        h.sin_()
        slopes[module] = torch.autograd.grad(outputs.square().sum() + h.sum(), case.leaves)
    assert_close(slopes[recurrent], slopes[reference], **EXACT)


# PyTorch's own decorator raises no error behind a sum.
@in_the_interpreter
@pytest.mark.parametrize("loss", [torch.Tensor.sum, lambda y: y.square().sum()])
def test_a_second_derivative_raises_instead_of_being_wrong(loss):
    case = Case(*LSTM, SHORT)
    value = loss(case.run(recurrent)[0])
    for slope in torch.autograd.grad(value, case.leaves, create_graph=True):
        with pytest.raises(RuntimeError, match="once_differentiable"):
            slope.sum().backward(retain_graph=True)


@in_the_interpreter
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@each_kind
def test_short_dtypes_round_results_and_gradients_but_not_more(kind, options, dtype):
    check_short(kind, options, dtype, "cpu")


@in_the_interpreter
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_cell_is_carried_in_float32(dtype):
    # Carried in float16 or bfloat16 it would stay 1, half a step of which is at least 4.9e-4.
    expected = torch.full((1, 4), 1 + 100 * 0.000255364)
    assert_close(creep("cpu", dtype).float(), expected, rtol=torch.finfo(dtype).eps, atol=0)


@in_the_interpreter
def test_autocast_takes_the_products_short_and_returns_the_dtype_of_the_weights():
    case = Case(*LSTM, [3] * 6, dtype=torch.float32)
    expected = case.run(reference)
    with torch.autocast("cpu", torch.bfloat16):
        actual = case.run(recurrent)
    grads = case.grads(actual)
    assert all(t.dtype == torch.float32 for t in (*actual, *grads))
    difference = (actual[0] - expected[0]).abs().max().item()
    assert 1e-4 < difference < 8 * torch.finfo(torch.bfloat16).eps


@in_the_interpreter
def test_autocast_leaves_float64_as_it_is():
    case = Case(*LSTM, [3] * 6)
    with torch.autocast("cpu", torch.bfloat16):
        check(case)


def test_more_units_than_a_kernel_holds_run_by_the_function(monkeypatch):
    monkeypatch.setattr(recurrent, "MAX_HIDDEN", 4)
    case = Case(*LSTM, SHORT, H=5)
    assert_close(case.run(recurrent), case.run(autograd), rtol=0, atol=0)


def test_tensors_on_a_cpu_are_not_supported():
    assert not recurrent.supports(torch.ones(3, 4))


def test_floats_on_one_gpu_are_supported_and_nothing_else():
    x = torch.ones(3, 4).as_subclass(OnGpu)
    assert recurrent.supports(x, x)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert recurrent.supports(x.to(dtype), x)
    for dtype in (torch.int64, torch.complex64, torch.bool):
        assert not recurrent.supports(x.to(dtype), x)
    assert not recurrent.supports(x[:0], x)
    assert not recurrent.supports(x, x, torch.ones(3, device="meta"))
