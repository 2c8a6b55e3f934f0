"""What keeps the books of the CUDA path's graphs, and how they are recorded."""

import contextlib
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from lnlib.nn.kernels import cuda, cuda_graphs, cuda_steps, cuda_trial, plain
from lnlib.nn.kernels.spec import Spec
from tests.cases.recurrences import EXACT, Case, OnGpu, check, each_kind, each_length

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
