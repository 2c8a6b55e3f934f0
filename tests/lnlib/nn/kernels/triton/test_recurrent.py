"""The CUDA recurrences, with kernels run by Triton's interpreter on a CPU, and on a GPU."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN
from lnlib.nn.kernels import autograd, reference
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
    needs_gpu,
)

SHORT, ENDING = [2, 2, 2], [3, 2, 2, 1]
LSTM = ("lstm", {"form": "paper"})
each_module = pytest.mark.parametrize("kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU])
each_device = pytest.mark.parametrize(
    "device",
    [pytest.param("cpu", marks=in_the_interpreter), pytest.param("cuda", marks=needs_gpu)],
)
each_short_dtype = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


@each_device
@each_kind
@each_direction
@pytest.mark.parametrize("sizes", [SHORT, ENDING], ids=["equal", "ending"])
def test_results_and_gradients_equal_those_of_the_reference(device, kind, options, reverse, sizes):
    if device == "cuda":
        sizes = 16 * sizes[:1] + sizes
        # float32: sums in another order than the plain loop's; too short for chaos.
        single = Case(kind, options, sizes, H=24, dtype=torch.float32, device=device)
        check(single, {"rtol": 1e-3, "atol": 1e-4}, reverse=reverse)
    check(Case(kind, options, sizes, device=device), reverse=reverse, eps=0.3)


@needs_gpu
@pytest.mark.parametrize("H", [1, 7, 400, 1024, 5000])
def test_gpu_takes_any_width(H):
    check(Case(*LSTM, [2] * 5, H=H, device="cuda"))


@in_the_interpreter
def test_passes_may_come_in_any_order_and_be_repeated():
    first, second = Case(*LSTM, SHORT, seed=1), Case(*LSTM, SHORT, seed=2)
    expected = [case.grads(case.run(reference)) for case in (first, second)]
    results = [case.run(recurrent) for case in (first, second)]
    once = first.grads(results[0], retain_graph=True)
    assert_close([once, second.grads(results[1])], expected, **EXACT)
    assert_close(first.grads(results[0]), once, rtol=0, atol=0)


@each_device
@each_short_dtype
@each_kind
def test_short_dtypes_round_results_and_gradients_but_not_more(device, kind, options, dtype):
    check_short(kind, options, dtype, device)


@each_device
@each_short_dtype
def test_the_cell_is_carried_in_float32(device, dtype):
    # Carried in float16 or bfloat16 it would stay 1, half a step of which is at least 4.9e-4.
    expected = torch.full((1, 4), 1 + 100 * 0.000255364)
    actual = creep(device, dtype).float().cpu()
    assert_close(actual, expected, rtol=torch.finfo(dtype).eps, atol=0)


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


def test_more_units_than_a_kernel_holds_run_by_the_function(monkeypatch):
    monkeypatch.setattr(recurrent, "MAX_HIDDEN", 4)
    case = Case(*LSTM, SHORT, H=5)
    assert_close(case.run(recurrent), case.run(autograd), rtol=0, atol=0)


def test_floats_on_one_gpu_are_supported_and_nothing_else():
    x = torch.ones(3, 4).as_subclass(OnGpu)
    assert recurrent.supports(x, x)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert recurrent.supports(x.to(dtype), x)
    for dtype in (torch.int64, torch.complex64, torch.bool):
        assert not recurrent.supports(x.to(dtype), x)
    assert not recurrent.supports(x[:0], x)
    assert not recurrent.supports(x, x, torch.ones(3, device="meta"))


# On a GPU alone.


@needs_gpu
@each_short_dtype
@each_module
def test_gpu_trains_under_autocast(kind, dtype):
    module = kind(6, 16, device="cuda")
    x = torch.randn(12, 3, 6, device="cuda")
    module.implementation = "plain"
    expected = module(x)[0]
    module.implementation = "cuda"
    with torch.autocast("cuda", dtype):
        output = module(x)[0]
    output.float().square().sum().backward()
    assert (output - expected).abs().max() < 0.2
    assert all(p.grad.dtype == torch.float32 for p in module.parameters())
    assert all(p.grad.isfinite().all() for p in module.parameters())


@needs_gpu
def test_gpu_works_on_a_stream_of_the_callers():
    case = Case(*LSTM, [8] * 70, H=256, device="cuda")
    with torch.no_grad():
        expected = case.run(reference)[0][:64]
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for stream in streams:
        with torch.cuda.stream(stream), torch.no_grad():
            results.append(case.run(recurrent)[0][:64])
    torch.cuda.synchronize()
    for result in results:
        assert_close(result, expected, **EXACT)


@needs_gpu
def test_gpu_runs_within_a_graph_that_the_caller_records():
    case = Case(*LSTM, [3] * 21, H=24, device="cuda")
    x = case.inputs.detach().clone()
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                case.run(recurrent)
        torch.cuda.current_stream().wait_stream(stream)
        case.inputs = x
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = case.run(recurrent)
        x.copy_(torch.randn_like(x))
        graph.replay()
        assert_close(results, case.run(reference), **EXACT)


@needs_gpu
@each_module
def test_gpu_modules_agree_on_packed_sequences_in_both_directions(kind):
    options = {"num_layers": 2, "bidirectional": True, "device": "cuda", "dtype": torch.float64}
    module = kind(6, 16, **options)
    x = torch.randn(20, 3, 6, device="cuda", dtype=torch.float64)
    packed = pack_padded_sequence(x, torch.tensor([7, 20, 13]), enforce_sorted=False)
    results = {}
    for implementation in ("plain", "cuda"):
        module.implementation = implementation
        module.zero_grad()
        output = module(packed)[0].data
        output.square().sum().backward()
        grads = [p.grad.clone() for p in module.parameters()]
        results[implementation] = [output.detach(), *grads]
    assert_close(results["cuda"], results["plain"], **EXACT)
