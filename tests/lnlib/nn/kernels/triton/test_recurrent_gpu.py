"""The CUDA recurrences on a GPU."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN
from lnlib.nn.kernels import reference
from lnlib.nn.kernels.triton import recurrent
from tests.cases.recurrences import (
    EQUAL,
    EXACT,
    Case,
    check,
    check_short,
    creep,
    each_direction,
    each_kind,
    each_length,
    needs_gpu,
)

# float32: sums in another order than the plain loop's; T is too short for the chaos of recurrence.
SINGLE = {"rtol": 1e-3, "atol": 1e-4}


def on_gpu(kind, options, sizes, dtype=torch.float64, H=24, seed=0):
    return Case(kind, options, sizes, H=H, dtype=dtype, device="cuda", seed=seed)


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@each_kind
@each_direction
@each_length
def test_gpu_agrees_with_the_plain_loop(kind, options, reverse, sizes, dtype):
    case = on_gpu(kind, options, sizes, dtype)
    check(case, EXACT if dtype == torch.float64 else SINGLE, reverse=reverse)


@needs_gpu
@pytest.mark.parametrize("H", [1, 7, 400, 1024, 5000])
def test_gpu_takes_any_width(H):
    check(on_gpu("lstm", {"form": "paper"}, [2] * 5, H=H))


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@each_kind
def test_gpu_short_dtypes_round_results_and_gradients_but_not_more(kind, options, dtype):
    check_short(kind, options, dtype, "cuda")


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gpu_carries_the_cell_in_float32(dtype):
    expected = torch.full((1, 4), 1 + 100 * 0.000255364)
    actual = creep("cuda", dtype).float().cpu()
    assert_close(actual, expected, rtol=torch.finfo(dtype).eps, atol=0)


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU])
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
    case = on_gpu("lstm", {"form": "paper"}, [8] * 70, H=256)
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
    case = on_gpu("lstm", {"form": "paper"}, EQUAL)
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
@pytest.mark.parametrize("kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU])
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
