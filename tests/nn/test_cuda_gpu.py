"""The CUDA path where there is a GPU: kernels and graphs."""

import threading

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN
from lnlib.nn.kernels import cuda, cuda_graphs, cuda_trial, plain, triton_kernels
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

# Kernels and graphs, on a GPU.


@pytest.fixture
def fresh():
    """No graphs before, none after; whatever was said is said again."""
    cuda.clear_graphs()
    cuda_trial._warned.clear()
    yield
    cuda.clear_graphs()


# float32: sums in another order than the plain loop's; T is too short for the chaos of recurrence.
SINGLE = {"rtol": 1e-3, "atol": 1e-4}


def on_gpu(kind, options, sizes, dtype=torch.float64, H=24, seed=0):
    return Case(kind, options, sizes, H=H, dtype=dtype, device="cuda", seed=seed)


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@each_kind
@each_direction
@each_length
def test_gpu_agrees_at_first_sight_when_recording_and_when_replaying(
    fresh, kind, options, reverse, sizes, dtype
):
    for seed in range(4):  # the weights change, the graphs do not
        case = on_gpu(kind, options, sizes, dtype, seed=seed)
        check(case, EXACT if dtype == torch.float64 else SINGLE, reverse=reverse)
    (graphs,) = cuda_graphs._graphs.values()
    assert graphs.record
    assert {name for name, _ in graphs.graphs} == {"forward", "backward"}


@needs_gpu
@pytest.mark.parametrize("H", [1, 7, 400, 1024, 5000])
def test_gpu_takes_any_width(fresh, H):
    for _ in range(2):
        check(on_gpu("lstm", {"form": "paper"}, [2] * 5, H=H))


@needs_gpu
@each_kind
def test_gpu_gradients_agree_with_central_differences(fresh, kind, options):
    case = on_gpu(kind, options, [3, 3, 3, 2], H=3)
    assert gradcheck(lambda *_: case.run(cuda), case.leaves, eps=1e-5, atol=1e-7)


@needs_gpu
@pytest.mark.parametrize("T", [1, 4, 63, 64, 65, 200])
def test_gpu_makes_up_any_length_of_graphs(fresh, T):
    for _ in range(3):
        check(on_gpu("gru", {}, [2] * T, H=8), {"rtol": 1e-6, "atol": 1e-7})


@needs_gpu
@each_kind
def test_gpu_two_forward_passes_may_come_before_two_backward_passes(fresh, kind, options):
    cases = [on_gpu(kind, options, EQUAL, seed=seed) for seed in range(2)]
    expected = [case.grads(case.run(plain)) for case in cases]
    for _ in range(3):
        results = [case.run(cuda) for case in cases]
        actual = [case.grads(r) for case, r in zip(cases, results, strict=True)]
        assert_close(actual, expected, **EXACT)


@needs_gpu
def test_gpu_backward_pass_may_be_repeated(fresh):
    case = on_gpu("lstm", {"form": "paper"}, EQUAL)
    for _ in range(3):
        results = case.run(cuda)
        once = case.grads(results, retain_graph=True)
        assert_close(case.grads(results), once, rtol=0, atol=0)


@needs_gpu
def test_gpu_inference_mode_does_not_spoil_the_training_after_it(fresh):
    case = on_gpu("lstm", {"form": "paper"}, EQUAL)
    for _ in range(3):
        with torch.inference_mode():
            results = case.run(cuda)
        assert_close(results, case.run(plain), **EXACT)
    check(case)


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@each_kind
def test_gpu_short_dtypes_round_results_and_gradients_but_not_more(fresh, kind, options, dtype):
    for _ in range(3):
        check_short(kind, options, dtype, "cuda")


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gpu_carries_the_cell_in_float32(fresh, dtype):
    expected = torch.full((1, 4), 1 + 100 * 0.000255364)
    for _ in range(3):
        actual = creep("cuda", dtype).float().cpu()
        assert_close(actual, expected, rtol=torch.finfo(dtype).eps, atol=0)


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU])
def test_gpu_trains_under_autocast(fresh, kind, dtype):
    module = kind(6, 16, device="cuda")
    x = torch.randn(12, 3, 6, device="cuda")
    module.implementation = "plain"
    expected = module(x)[0]
    module.implementation = "cuda"
    for _ in range(3):
        module.zero_grad()
        with torch.autocast("cuda", dtype):
            output = module(x)[0]
        output.float().square().sum().backward()
        assert (output - expected).abs().max() < 0.2
        assert all(p.grad.dtype == torch.float32 for p in module.parameters())
        assert all(p.grad.isfinite().all() for p in module.parameters())


@needs_gpu
def test_gpu_works_on_a_stream_of_the_callers(fresh):
    case = on_gpu("lstm", {"form": "paper"}, [8] * 70, H=256)
    with torch.no_grad():
        expected = case.run(plain)[0][:64]
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for _ in range(4):
        for stream in streams:
            with torch.cuda.stream(stream), torch.no_grad():
                results.append(case.run(cuda)[0][:64])
    torch.cuda.synchronize()
    for result in results:
        assert_close(result, expected, **EXACT)


@needs_gpu
def test_gpu_threads_share_the_graphs(fresh):
    cases = [on_gpu("gru", {}, EQUAL, seed=seed) for seed in range(4)]
    expected = [case.grads(case.run(plain)) for case in cases]
    for _ in range(2):
        cases[0].run(cuda)  # recorded before the threads begin
    actual = [None] * len(cases)

    def work(k):
        for _ in range(5):
            actual[k] = cases[k].grads(cases[k].run(cuda))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(cases))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_close(actual, expected, **EXACT)


@needs_gpu
def test_gpu_runs_within_a_graph_that_the_caller_records(fresh):
    case = on_gpu("lstm", {"form": "paper"}, EQUAL)
    x = case.inputs.detach().clone()
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                case.run(cuda)
        torch.cuda.current_stream().wait_stream(stream)
        case.inputs = x
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = case.run(cuda)
        x.copy_(torch.randn_like(x))
        graph.replay()
        assert_close(results, case.run(plain), **EXACT)


@needs_gpu
def test_gpu_keeps_the_graphs_of_few_shapes(fresh):
    for B in range(1, cuda_graphs.SHAPES + 4):
        for _ in range(2):
            check(on_gpu("rnn", {"form": "paper"}, [B] * 5))
    assert len(cuda_graphs._graphs) == cuda_graphs.SHAPES


@needs_gpu
def test_gpu_without_graphs_warns_and_is_right(fresh, monkeypatch):
    def refuse(*args, **options):
        raise RuntimeError("not on this driver")

    monkeypatch.setattr(torch.cuda, "graph", refuse)
    case = on_gpu("lstm", {"form": "paper"}, EQUAL)
    case.run(cuda)
    with pytest.warns(RuntimeWarning, match="not on this driver"):
        case.run(cuda)
    check(case)


@needs_gpu
@pytest.mark.parametrize("kind", [LayerNormRNN, LayerNormLSTM, LayerNormGRU])
def test_gpu_modules_agree_on_packed_sequences_in_both_directions(fresh, kind):
    options = {"num_layers": 2, "bidirectional": True, "device": "cuda", "dtype": torch.float64}
    module = kind(6, 16, **options)
    x = torch.randn(20, 3, 6, device="cuda", dtype=torch.float64)
    packed = pack_padded_sequence(x, torch.tensor([7, 20, 13]), enforce_sorted=False)
    results = {}
    for implementation in ("plain", "cuda", "cuda", "cuda"):
        module.implementation = implementation
        module.zero_grad()
        output = module(packed)[0].data
        output.square().sum().backward()
        results.setdefault(implementation, []).append(
            [output.detach(), *(p.grad.clone() for p in module.parameters())]
        )
    for again in results["cuda"]:
        assert_close(again, results["plain"][0], **EXACT)


@needs_gpu
def test_gpu_uses_triton_where_it_works(fresh):
    pytest.importorskip("triton", reason="needs triton")
    on_gpu("lstm", {"form": "paper"}, EQUAL).run(cuda)
    assert triton_kernels in cuda_trial._checked.values()
    assert not cuda_trial._refused


@needs_gpu
def test_gpu_learns_as_the_plain_loop_does(fresh):
    losses = {}
    for implementation in ("plain", "cuda"):
        torch.manual_seed(0)
        module = LayerNormLSTM(4, 16, device="cuda", dtype=torch.float64)
        module.implementation = implementation
        read = nn.Linear(16, 4, device="cuda", dtype=torch.float64)
        optimizer = torch.optim.SGD([*module.parameters(), *read.parameters()], 0.1)
        x = torch.randn(21, 8, 4, device="cuda", dtype=torch.float64)
        for _ in range(10):
            loss = (read(module(x[:-1])[0]) - x[1:]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.setdefault(implementation, []).append(loss.detach())
    assert_close(losses["cuda"], losses["plain"], rtol=1e-8, atol=1e-8)
