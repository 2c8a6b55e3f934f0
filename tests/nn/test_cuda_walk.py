"""The CUDA path's walk over time, on every machine, with steps in PyTorch operations."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.testing import assert_close

from lnlib.nn.kernels import cuda, cuda_graphs, cuda_steps, plain
from tests.cases.recurrences import (
    EQUAL,
    EXACT,
    Case,
    OnGpu,
    check,
    check_short,
    creep,
    each_direction,
    each_kind,
    each_length,
)


@pytest.fixture(params=["single steps", "chunks"])
def walk(request, monkeypatch):
    """How the steps are taken on a CPU: one by one, or over the memory that graphs would have."""
    made = {}

    def walker(spec, x, running, w):
        if request.param == "single steps":
            return cuda_graphs._Walker(spec, cuda_steps)
        key = (spec, x.shape[1:], x.dtype, w.weight.dtype, running is None)
        return made.setdefault(key, cuda_graphs._Graphs(spec, cuda_steps, record=False))

    monkeypatch.setattr(cuda_graphs, "_walker", walker)


# The walk over time, with steps in PyTorch operations.


@each_kind
@each_direction
@each_length
def test_results_and_gradients_are_those_of_the_plain_loop(walk, kind, options, reverse, sizes):
    check(Case(kind, options, sizes), reverse=reverse)


@each_kind
def test_gradients_agree_with_central_differences(walk, kind, options):
    case = Case(kind, options, [3, 3, 2], H=3)

    def run(*_):
        return case.run(cuda)

    assert gradcheck(run, case.leaves, eps=1e-5, atol=1e-7)


@pytest.mark.parametrize("T", [1, 4, 63, 64, 65, 200])
def test_any_length_is_made_up_of_chunks(walk, T):
    check(Case("gru", {}, [2] * T, H=3), {"rtol": 1e-7, "atol": 1e-8})


def test_chunks_cover_every_step_once_and_are_few():
    for T in range(1, 300):
        cuts = cuda_graphs._cut(T, cuda_graphs.CHUNKS)
        assert [t for start, n in cuts for t in range(start, start + n)] == list(range(T))
        assert len(cuts) <= T // 64 + 3 * 3


def test_a_shape_too_large_for_long_chunks_runs_in_short_ones(walk, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "CHUNK_BYTES", 5 * 3 * 20 * 8)
    check(Case("lstm", {"form": "paper"}, EQUAL))


@pytest.mark.parametrize("eps", [1e-5, 0.1])
@each_kind
def test_eps_stands_inside_the_root(walk, kind, options, eps):
    check(Case(kind, options, [3] * 4), eps=eps)


@each_kind
def test_a_norm_may_do_without_gain_and_bias(walk, kind, options):
    case = Case(kind, options, [3] * 4)
    case.norms = [(None, norm[1]) for norm in case.norms]
    check(case)
    case.norms = [(None, None) for norm in case.norms]
    check(case)


def test_one_memory_serves_weights_that_change(walk):
    check(Case("lstm", {"form": "paper"}, EQUAL, seed=1))
    check(Case("lstm", {"form": "paper"}, EQUAL, seed=2))
    check(Case("lstm", {"form": "paper"}, [3] * 70, seed=3), {"rtol": 1e-6, "atol": 1e-7})


@each_kind
def test_two_forward_passes_may_come_before_two_backward_passes(walk, kind, options):
    first, second = Case(kind, options, EQUAL, seed=1), Case(kind, options, EQUAL, seed=2)
    expected = [case.grads(case.run(plain)) for case in (first, second)]
    results = [case.run(cuda) for case in (first, second)]
    assert_close([first.grads(results[0]), second.grads(results[1])], expected, **EXACT)


@each_kind
def test_a_backward_pass_may_be_repeated(walk, kind, options):
    case = Case(kind, options, EQUAL)
    results = case.run(cuda)
    once = case.grads(results, retain_graph=True)
    assert_close(case.grads(results), once, rtol=0, atol=0)


def test_only_the_gradients_asked_for_are_there(walk):
    case = Case("lstm", {"form": "paper"}, EQUAL)
    for p in case.leaves:
        p.requires_grad_(False)
    case.state[1].requires_grad_()
    (expected,) = torch.autograd.grad(case.run(plain)[0].sum(), case.state[1])
    (actual,) = torch.autograd.grad(case.run(cuda)[0].sum(), case.state[1])
    assert_close(actual, expected, **EXACT)


@each_kind
@each_length
def test_without_gradients_the_results_are_the_same_bits(walk, kind, options, sizes):
    case = Case(kind, options, sizes)
    expected = case.run(cuda)
    with torch.no_grad():
        assert_close(case.run(cuda), expected, rtol=0, atol=0)


def test_inference_mode_does_not_spoil_the_training_after_it(walk):
    case = Case("lstm", {"form": "paper"}, EQUAL)
    with torch.inference_mode():
        results = case.run(cuda)
    assert results[0].is_inference()
    check(case)


def test_results_may_be_changed_in_place_before_the_backward_pass(walk):
    case = Case("gru", {}, EQUAL)
    slopes = {}
    for module in (plain, cuda):
        outputs, h = case.run(module)
        outputs.mul_(2)
        h.sin_()
        slopes[module] = torch.autograd.grad(outputs.square().sum() + h.sum(), case.leaves)
    assert_close(slopes[cuda], slopes[plain], **EXACT)


def test_last_states_can_be_cut_from_their_history_in_place(walk):
    outputs, h, c = Case("lstm", {"form": "paper"}, EQUAL).run(cuda)
    kept = outputs.detach().clone()
    h.detach_().zero_()
    c.detach_().zero_()
    assert_close(outputs.detach(), kept, rtol=0, atol=0)


# PyTorch's own decorator is silent behind a sum.
@pytest.mark.parametrize("loss", [torch.Tensor.sum, lambda y: y.square().sum()])
def test_a_second_derivative_raises_instead_of_being_wrong(walk, loss):
    case = Case("lstm", {"form": "paper"}, EQUAL)
    for leaf in case.leaves:
        (slope,) = torch.autograd.grad(loss(case.run(cuda)[0]), leaf, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            slope.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@each_kind
def test_short_dtypes_round_results_and_gradients_but_not_more(walk, kind, options, dtype):
    check_short(kind, options, dtype, "cpu")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_cell_is_carried_in_float32(walk, dtype):
    # Carried in float16 or bfloat16 it would stay 1, half a step of which is at least 4.9e-4.
    expected = torch.full((1, 4), 1 + 100 * 0.000255364)
    assert_close(creep("cpu", dtype).float(), expected, rtol=torch.finfo(dtype).eps, atol=0)


def test_autocast_takes_the_products_short_and_returns_the_dtype_of_the_weights(walk):
    case = Case("lstm", {"form": "paper"}, [3] * 6, dtype=torch.float32)
    expected = case.run(plain)
    with torch.autocast("cpu", torch.bfloat16):
        actual = case.run(cuda)
    grads = case.grads(actual)
    assert all(t.dtype == torch.float32 for t in (*actual, *grads))
    difference = (actual[0] - expected[0]).abs().max().item()
    assert 1e-4 < difference < 8 * torch.finfo(torch.bfloat16).eps


def test_units_that_ended_hand_their_state_and_its_gradient_through(walk):
    case = Case("lstm", {"form": "paper"}, [2, 1, 1])
    outputs, h, _ = case.run(cuda)
    assert_close(h[1], outputs[1], rtol=0, atol=0)
    (slope,) = torch.autograd.grad(h[1].sum(), case.inputs)
    assert slope[1].abs().sum() > 0
    assert_close(slope[[0, 2, 3]], torch.zeros(3, slope.shape[1], dtype=torch.float64))


def test_autocast_leaves_float64_as_it_is(walk):
    case = Case("lstm", {"form": "paper"}, [3] * 6)
    with torch.autocast("cpu", torch.bfloat16):
        check(case)


@pytest.mark.parametrize(
    ("room", "chunks"), [(64, [64, 16, 4, 1]), (63, [16, 4, 1]), (4, [4, 1]), (0.5, [1])]
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_a_chunk_has_as_many_steps_as_there_is_room_for(monkeypatch, room, chunks, dtype):
    case = Case("lstm", {"form": "paper"}, EQUAL, dtype=dtype)
    monkeypatch.setattr(cuda_graphs, "CHUNK_BYTES", int(room * 3 * 20 * dtype.itemsize))
    made = []

    def walker(spec, x, running, w):
        made.append(cuda_graphs._Graphs(spec, cuda_steps, record=False))
        return made[-1]

    monkeypatch.setattr(cuda_graphs, "_walker", walker)
    case.run(cuda)
    assert made[0].chunks == chunks


def test_tensors_on_a_cpu_are_not_supported():
    assert not cuda.supports(torch.ones(3, 4))


def test_floats_on_one_gpu_are_supported_and_nothing_else():
    x = torch.ones(3, 4).as_subclass(OnGpu)
    assert cuda.supports(x, x)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert cuda.supports(x.to(dtype), x)
    for dtype in (torch.int64, torch.complex64, torch.bool):
        assert not cuda.supports(x.to(dtype), x)
    assert not cuda.supports(x[:0], x)
    assert not cuda.supports(x, x, torch.ones(3, device="meta"))
