"""The CUDA path: its walk over time on every machine, kernels and graphs where there is a GPU."""

import contextlib
import functools
import threading
import warnings
from collections import OrderedDict
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN
from lnlib.nn.kernels import cuda, cuda_graphs, cuda_steps, cuda_trial, plain, triton_kernels
from lnlib.nn.kernels.spec import Spec

KINDS = [
    *(("lstm", {"form": form}) for form in ("paper", "carried", "per_gate", "draw")),
    ("gru", {}),
    *(
        ("rnn", {"form": form, "nonlinearity": f})
        for form in ("paper", "parts")
        for f in ("tanh", "relu")
    ),
]
IDS = ["-".join((kind, *options.values())) for kind, options in KINDS]
PARTS = {"lstm": 4, "gru": 3, "rnn": 1}
NORMS = {"lstm": (4, 1), "gru": (2, 1), "rnn": (1,)}
EQUAL, UNEQUAL = [3] * 21, [4, 4, 4, 3, 3, 1]

each_kind = pytest.mark.parametrize(("kind", "options"), KINDS, ids=IDS)
each_direction = pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
each_length = pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

# Measured in float64 over 21 steps: results 2e-14, gradients 5e-13.
EXACT = {"rtol": 1e-10, "atol": 1e-11}


class Case:
    """Arguments of a recurrence, and the leaves among them."""

    def __init__(self, kind, options, sizes, H=5, dtype=torch.float64, device="cpu", seed=0):
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape, scale=1.0, shift=0.0):
            drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale + shift
            return drawn.to(device, dtype).requires_grad_()

        parts, B = PARTS[kind], sizes[0]
        self.kind, self.options, self.sizes = kind, dict(options), sizes
        self.inputs = draw(sum(sizes), parts * H)
        self.state = [draw(B, H) for _ in range(2 if kind == "lstm" else 1)]
        self.weight = draw(parts * H, H, scale=H**-0.5, shift=0.1)
        self.norms = [(draw(n * H, scale=0.5, shift=1), draw(n * H)) for n in NORMS[kind]]
        if options.get("form") == "draw":
            del self.norms[0]

    @property
    def leaves(self):
        norms = [p for norm in self.norms for p in norm if p is not None]
        return [self.inputs, *self.state, self.weight, *norms]

    def run(self, module, **more):
        spec = Spec(self.kind, **self.options, **more)
        return module.run(spec, self.inputs, self.sizes, self.state, self.weight, self.norms)

    def grads(self, results, **more):
        # Weighted, so that no output's gradient is like another's.
        loss = sum((r * r.detach().cos()).sum() for r in results)
        return torch.autograd.grad(loss, self.leaves, **more)


def check(case, tolerance=EXACT, **more):
    """Hold results and every gradient to the plain loop's."""
    expected, actual = case.run(plain, **more), case.run(cuda, **more)
    assert_close(actual, expected, **tolerance)
    assert_close(case.grads(actual), case.grads(expected), **tolerance)


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


def check_short(kind, options, dtype, device):
    short = Case(kind, options, [3] * 6, H=16, dtype=dtype, device=device)
    exact = Case(kind, options, [3] * 6, H=16, device=device)
    with torch.no_grad():
        for a, b in zip(exact.leaves, short.leaves, strict=True):
            a.copy_(b)
    actual, expected = short.run(cuda), exact.run(plain)
    assert all(r.dtype == dtype for r in actual)
    # In roundings of the largest number, measured 5 in the results and 8 in the gradients. That of
    # a relu jumps where rounding moves a unit across 0.
    rounding = torch.finfo(dtype).eps
    for a, e in zip(actual, expected, strict=True):
        assert (a.double() - e).abs().max() < 16 * rounding * e.abs().max()
    if options.get("nonlinearity") == "relu":
        return
    loss = sum(r.double().sum() for r in actual), sum(r.sum() for r in expected)
    grads = torch.autograd.grad(loss[0], short.leaves), torch.autograd.grad(loss[1], exact.leaves)
    for a, e in zip(*grads, strict=True):
        assert a.dtype == dtype
        assert (a.double() - e).abs().max() < 24 * rounding * e.abs().max()


def creep(device, dtype):
    """A cell of 1 that grows by sigmoid(-8) tanh(1), 2.6e-4, in each of 100 steps."""
    H, T = 4, 100
    gates = torch.tensor([-8.0, 30.0, 1.0, 0.0]).repeat_interleave(H).expand(T, -1)
    h, c = torch.zeros(1, H), torch.ones(1, H)
    gates, *state, weight = (t.to(device, dtype) for t in (gates, h, c, torch.zeros(4 * H, H)))
    _, _, c = cuda.run(Spec("lstm", "draw"), gates, [1] * T, state, weight, [(None, None)])
    return c


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


# Who takes the steps: the kernels, once they were seen to be right.


class OnGpu(torch.Tensor):
    """A tensor that says it is on a GPU, so that the choices made there are made here."""

    is_cuda = True


def everything(case, module, **more):
    """Results and gradients of a case; on the CUDA path as if it lay on a GPU."""
    if module is cuda:
        case.inputs = case.inputs.detach().as_subclass(OnGpu).requires_grad_()
    results = case.run(module, **more)
    return [t.detach().as_subclass(torch.Tensor) for t in (*results, *case.grads(results))]


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


# What keeps the books of the graphs.


def test_a_shape_has_graphs_from_its_second_sight_and_the_oldest_gives_way(monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_seen", set())
    monkeypatch.setattr(cuda_graphs, "_graphs", OrderedDict())
    monkeypatch.setattr(cuda_graphs, "SHAPES", 2)
    made = iter(range(10))
    sights = [cuda_graphs._recall(key, lambda: f"graphs {next(made)}") for key in "aabbaccab"]
    first, second, third, fourth = (f"graphs {n}" for n in range(4))
    # c, the third of two, makes b give way, which was used before a.
    assert sights == [None, first, None, second, first, None, third, first, fourth]


def test_what_was_seen_is_forgotten_with_the_graphs_and_before_it_is_too_much(monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_seen", set())
    monkeypatch.setattr(cuda_graphs, "_graphs", OrderedDict())
    for key in range(2500):
        assert cuda_graphs._recall(key, list) is None
        assert len(cuda_graphs._seen) <= 1000
    assert cuda_graphs._recall(2499, list) == []
    cuda.clear_graphs()
    assert cuda_graphs._recall(2499, list) is None
    assert not cuda_graphs._graphs


@pytest.fixture
def keys(monkeypatch):
    """``keys(...)``: by what the graphs of a sequence are found; ``None`` if it has none."""
    found = []
    monkeypatch.setattr(cuda_trial, "_steps", lambda *given: cuda_steps)
    monkeypatch.setattr(cuda_graphs, "_recall", lambda key, make: found.append(key))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)

    def key(T=16, B=3, H=5, dtype=torch.float32, wide=torch.float32, eps=1e-5, ended=False):
        x = torch.ones(T, B, 3 * H, dtype=dtype).as_subclass(OnGpu)
        weight, gain = torch.ones(3 * H, H, dtype=dtype), torch.ones(3 * H, dtype=wide)
        w = cuda_steps.Weights(weight, gain, gain, None, None)
        spec = Spec("gru", "paper", "tanh", eps)
        del found[:]
        running = torch.ones(T, dtype=torch.int32) if ended else None
        walker = cuda_graphs._walker(spec, x, running, w)
        assert type(walker) is cuda_graphs._Walker
        assert walker.steps is cuda_steps
        return found[0] if found else None

    return key


def test_graphs_are_found_by_all_that_they_depend_on(keys, monkeypatch):
    changes = [
        {},
        *({"B": 4}, {"H": 6}, {"eps": 0.1}, {"ended": True}),
        *({"dtype": torch.float16}, {"wide": torch.float64}),
    ]
    matmul = SimpleNamespace(
        allow_tf32=True,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    )
    monkeypatch.setattr(torch.backends.cuda, "matmul", matmul)
    found = [keys(**change) for change in changes]
    for name in vars(matmul):
        setattr(matmul, name, False)
        found.append(keys())
        setattr(matmul, name, True)
    assert len(set(found)) == len(changes) + len(vars(matmul))
    assert keys(T=99) == keys(T=16) is not None


def test_few_steps_and_what_the_caller_records_have_no_graphs(keys, monkeypatch):
    assert keys(T=4) is not None
    assert keys(T=3) is None
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert keys(T=99) is None


class Recording:
    """Stands in for a CUDA graph: what was done while recording is done again by ``replay``."""

    now = None

    def __init__(self):
        self.work, self.replays, self.was_reset = [], 0, False

    def reset(self):
        self.was_reset = True

    def replay(self):
        self.replays += 1
        for work in self.work:
            work()


@pytest.fixture
def recordings(monkeypatch):
    """Let graphs be recorded on a CPU; steps taken meanwhile do not happen, as on a GPU."""
    made = []

    def graph():
        made.append(Recording())
        return made[-1]

    @contextlib.contextmanager
    def record(recording, pool, stream, capture_error_mode):
        assert capture_error_mode == "thread_local"  # other threads may go on
        Recording.now = recording
        try:
            yield
        finally:
            Recording.now = None

    take = cuda_graphs._Graphs._steps_of

    def steps_of(self, name, n):
        if Recording.now is None:
            take(self, name, n)
        else:
            Recording.now.work.append(lambda: take(self, name, n))

    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(cuda_graphs._Graphs, "_steps_of", steps_of)
    monkeypatch.setattr(cuda_graphs, "_device", lambda device: SimpleNamespace(stream=stream))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", graph)
    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: stream)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    made_for = {}

    def walker(spec, x, running, w):
        key = (spec, x.shape[1:], running is None)
        if key not in made_for:
            made_for[key] = cuda_graphs._Graphs(spec, cuda_steps)
        return made_for[key]

    monkeypatch.setattr(cuda_graphs, "_walker", walker)
    monkeypatch.setattr(cuda_trial, "_warned", set())
    monkeypatch.setattr(cuda_graphs, "_failed", [])
    return made


@each_kind
@each_length
def test_recorded_steps_are_replayed_for_every_later_sequence(recordings, kind, options, sizes):
    for seed, reverse in enumerate([False, True]):
        check(Case(kind, options, sizes, seed=seed), reverse=reverse)
    chunks = {n for _, n in cuda_graphs._cut(len(sizes), cuda_graphs.CHUNKS)}
    assert len(recordings) == 2 * len(chunks)
    assert all(r.replays >= 2 for r in recordings)
    with torch.no_grad():
        Case(kind, options, sizes).run(cuda)
    assert len(recordings) == 2 * len(chunks)


def test_a_backward_pass_that_the_caller_records_plays_no_graph(recordings, monkeypatch):
    case = Case("gru", {}, [3] * 16)
    check(case)
    results, expected = case.run(cuda), case.grads(case.run(plain))
    before = [r.replays for r in recordings]
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert_close(case.grads(results), expected, **EXACT)
    assert [r.replays for r in recordings] == before


def test_inference_records_no_backward_pass(recordings):
    case = Case("gru", {}, [3] * 16)
    with torch.no_grad():
        case.run(cuda)
    assert len(recordings) == 1
    check(case)
    assert len(recordings) == 2


class Generator:
    """As that of a GPU: a recording that fails leaves it recording."""

    def __init__(self, offset=0, recording=False):
        self.offset, self.recording = offset, recording

    def clone_state(self):
        return Generator(self.offset)

    def graphsafe_set_state(self, other):
        self.offset, self.recording = other.offset, other.recording


class CompilationError(Exception):
    """Of Triton: no RuntimeError."""


@pytest.mark.parametrize("where", ["beginning", "steps", "end", "steps and end"])
@pytest.mark.parametrize("error", [RuntimeError, CompilationError])
def test_where_recording_fails_it_warns_once_and_goes_without(
    recordings, monkeypatch, where, error
):
    generator, ended = Generator(offset=8), []

    @contextlib.contextmanager
    def record(graph, *args, **options):
        generator.recording = True
        if where == "beginning":
            raise error("not on this driver")
        Recording.now = graph
        yield
        Recording.now = None
        if "end" in where:
            raise RuntimeError("not on this driver" if where == "end" else "a previous error")
        generator.recording = False

    take = cuda_graphs._Graphs._steps_of

    def steps_of(self, name, n):
        if Recording.now is not None and "steps" in where:
            raise error("not on this driver")
        take(self, name, n)

    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "default_generators", {None: generator})
    monkeypatch.setattr(
        torch._C, "_cuda_endAllocateToPool", lambda *args: ended.append(args), raising=False
    )
    monkeypatch.setattr(cuda_graphs._Graphs, "_steps_of", steps_of)
    case = Case("gru", {}, [3] * 16)
    name = "RuntimeError" if where == "end" else error.__name__
    with pytest.warns(RuntimeWarning, match=f"graphs could not .*{name}: not on this driver"):
        case.run(cuda)
    check(case)
    check(Case("rnn", {"form": "paper"}, [3] * 16))  # another graph, no other warning
    assert (generator.offset, generator.recording) == (8, False)
    stuck = where != "steps"
    assert len(ended) == 2 * stuck
    assert all(graph.was_reset == stuck for graph in recordings)


def test_where_the_steps_themselves_fail_before_a_recording_it_goes_without(
    recordings, monkeypatch
):
    take, failures = cuda_graphs._Graphs._steps_of, iter([RuntimeError("no room for a workspace")])

    def steps_of(self, name, n):
        for error in failures:
            raise error
        take(self, name, n)

    monkeypatch.setattr(cuda_graphs._Graphs, "_steps_of", steps_of)
    case = Case("gru", {}, [3] * 16)
    with pytest.warns(RuntimeWarning, match="no room for a workspace"):
        case.run(cuda)
    check(case)
    assert recordings == []


def test_after_a_recording_that_fails_the_stream_is_the_callers(recordings, monkeypatch):
    streams = ["the caller's"]

    @contextlib.contextmanager
    def on(stream):
        before, streams[0] = streams[0], stream
        try:
            yield
        finally:
            streams[0] = before

    @contextlib.contextmanager
    def record(graph, pool, stream, **options):
        streams[0] = "the graph's"
        yield
        raise RuntimeError("ended before it went back")

    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(torch.cuda, "graph", record)
    monkeypatch.setattr(torch.cuda, "default_generators", {None: Generator()})
    with pytest.warns(RuntimeWarning, match="ended before it went back"):
        Case("gru", {}, [3] * 16).run(cuda)
    assert streams == ["the caller's"]


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
