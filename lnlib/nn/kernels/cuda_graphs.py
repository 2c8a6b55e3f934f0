"""The walk over time of :mod:`.cuda`, step by step or in chunks that are one CUDA graph each.

- A graph always reads and writes the same memory. A sequence is copied in and its results are
  copied out, weights too, so that one graph serves every layer of a shape, and a forward pass never
  touches what an earlier one keeps for its backward pass.
- Graphs of 64, 16, 4 and 1 steps make up every length. Each is recorded when a shape comes for the
  second time; the first time, and where the caller is recording a graph, the same kernels are
  started one by one.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from lnlib.nn.kernels import cuda_steps, cuda_trial
from lnlib.nn.kernels.cuda_steps import Weights
from lnlib.nn.kernels.spec import Spec

Named = dict[str, Tensor]

CHUNKS = (64, 16, 4, 1)
CHUNK_BYTES = 2**25  # of the widest sequence in a graph's memory; it holds about six of them
SHAPES = 8  # whose graphs are kept


class _Walker:
    """Takes the steps one by one."""

    def __init__(self, spec: Spec, steps: ModuleType) -> None:
        self.spec, self.steps = spec, steps

    def forward(
        self,
        w: Weights,
        x: Tensor,
        running: Tensor | None,
        states: Named,
        saved: Named,
        keep: bool,
    ) -> None:
        """Fill ``states`` (T + 1 of each, the first given) and ``saved`` (T of each)."""
        weight_t = w.weight.t()
        for t in range(len(x)):
            now = {name: tensor[t] for name, tensor in saved.items()}
            product = now.pop("x_hat")
            torch.mm(states["h"][t], weight_t, out=product)
            for name, state in states.items():
                now |= {f"{name}_prev": state[t], name: state[t + 1]}
            self._step("forward", w, x=x[t], product=product, running=_at(running, t), **now)

    def backward(
        self,
        w: Weights,
        d_out: Tensor,
        running: Tensor | None,
        states: Named,
        saved: Named,
        d_states: list[Tensor],
        grads: Named,
    ) -> None:
        """Fill ``grads`` (T of each); ``d_states`` is of the last states, then of the first."""
        d_state = dict(zip(("dh", "dc"), d_states, strict=False))
        for t in reversed(range(len(d_out))):
            now = {name: tensor[t] for name, tensor in (saved | grads).items()}
            if self.spec.kind == "lstm":
                now["c_prev"] = states["c"][t]
            elif self.spec.kind == "gru":
                now["h_prev"] = states["h"][t]
            else:
                now["h"] = states["h"][t + 1]
            self._step("backward", w, d_out=d_out[t], running=_at(running, t), **d_state, **now)
            d_states[0].addmm_(now["d_product"], w.weight)

    def _step(self, direction: str, w: Weights, **tensors: Tensor | None) -> None:
        name = f"{self.spec.kind}_{direction}"
        try:
            getattr(self.steps, name)(self.spec, w, **tensors)
        except Exception as error:
            # A kernel that cannot be started has changed nothing yet.
            if self.steps is cuda_steps:
                raise
            self.steps = cuda_trial._refuse(w.weight.device, error)
            getattr(cuda_steps, name)(self.spec, w, **tensors)


class _Graphs(_Walker):
    """Takes the steps in chunks over memory of its own, each chunk one CUDA graph.

    ``record=False`` takes them over the same memory without a graph, on any device.
    """

    def __init__(self, spec: Spec, steps: ModuleType, record: bool = True) -> None:
        super().__init__(spec, steps)
        self.record = record
        self.graphs: dict[tuple[str, int], torch.cuda.CUDAGraph] = {}
        self.pool = torch.cuda.graph_pool_handle() if record else None
        self.memory: list[Tensor] = []
        self.chunks: list[int] = []
        self.x: Tensor | None = None
        self.d_out: Tensor | None = None

    def forward(self, w, x, running, states, saved, keep) -> None:
        """As without graphs."""
        with _turn(x.device):
            if self.x is None:
                self._take_memory(w, x, running, states, saved)
            if keep and self.d_out is None:
                self._take_memory_backward()
            # Both now: the backward pass runs in a thread of autograd's, no place to record in.
            for n in {n for _, n in _cut(len(x), self.chunks)}:
                self._record("forward", n)
                if keep:
                    self._record("backward", n)
            self._visit()
            _copy(self.w, w)
            _copy([s[0] for s in self.states.values()], [s[0] for s in states.values()])
            for start, n in _cut(len(x), self.chunks):
                span = slice(start, start + n)
                self.x[:n].copy_(x[span])
                if running is not None:
                    self.running[:n].copy_(running[span])
                self._play("forward", n)
                for name, state in self.states.items():
                    states[name][start + 1 : start + n + 1].copy_(state[1 : n + 1])
                    state[0].copy_(state[n])
                for name in saved if keep else ():
                    saved[name][span].copy_(self.saved[name][:n])

    def backward(self, w, d_out, running, states, saved, d_states, grads) -> None:
        """As without graphs."""
        if self.record and torch.cuda.is_current_stream_capturing():
            return super().backward(w, d_out, running, states, saved, d_states, grads)
        with _turn(d_out.device):
            self._visit()
            _copy(self.w, w)
            _copy(self.d_states, d_states)
            for start, n in reversed(_cut(len(d_out), self.chunks)):
                span = slice(start, start + n)
                self.d_out[:n].copy_(d_out[span])
                if running is not None:
                    self.running[:n].copy_(running[span])
                for name, state in self.states.items():
                    state[: n + 1].copy_(states[name][start : start + n + 1])
                for name, tensor in self.saved.items():
                    tensor[:n].copy_(saved[name][span])
                self._play("backward", n)
                for name, tensor in grads.items():
                    tensor[span].copy_(self.grads[name][:n])
            _copy(d_states, self.d_states)
        return None

    def _take_memory(self, w, x, running, states, saved) -> None:
        size = x[0].numel() * max(x.itemsize, w.weight.itemsize)
        self.chunks = [n for n in CHUNKS if n == 1 or n * size <= CHUNK_BYTES]

        def like(t: Tensor, more: int = 0) -> Tensor:
            return self._zeros(t, self.chunks[0] + more, *t.shape[1:])

        self.w = Weights(*(None if t is None else self._zeros(t, *t.shape) for t in w))
        self.x, self.running = like(x), None if running is None else like(running)
        self.states = {name: like(state, more=1) for name, state in states.items()}
        self.saved = {name: like(tensor) for name, tensor in saved.items()}

    def _take_memory_backward(self) -> None:
        x_hat, h = self.saved["x_hat"], self.states["h"][1:]
        self.d_out = self._zeros(h, *h.shape)
        self.d_states = [self._zeros(state, *state[0].shape) for state in self.states.values()]
        self.grads = {"d_gates": self._zeros(x_hat, *x_hat.shape)}
        alike = not self.spec.norms
        self.grads["d_product"] = (
            self.grads["d_gates"] if alike else self._zeros(x_hat, *x_hat.shape)
        )
        if "c" in self.states:
            self.grads["d_cell"] = self._zeros(self.saved["cell_hat"], *h.shape)

    def _zeros(self, like: Tensor, *shape: int) -> Tensor:
        # Memory taken in inference mode could not be written outside it.
        with torch.inference_mode(False):
            self.memory.append(torch.zeros(shape, dtype=like.dtype, device=like.device))
        return self.memory[-1]

    def _steps_of(self, name: str, n: int) -> None:
        """Take ``n`` steps over this object's memory."""
        running = None if self.running is None else self.running[:n]
        states = {k: v[: n + 1] for k, v in self.states.items()}
        saved = {k: v[:n] for k, v in self.saved.items()}
        if name == "forward":
            super().forward(self.w, self.x[:n], running, states, saved, True)
        else:
            grads = {k: v[:n] for k, v in self.grads.items()}
            d_out = self.d_out[:n]
            super().backward(self.w, d_out, running, states, saved, self.d_states, grads)

    def _record(self, name: str, n: int) -> None:
        """Record ``n`` steps once; what they compute meanwhile is written over afterwards."""
        if not self.record or (name, n) in self.graphs:
            return
        device, graph, failed = self.x.device, None, []
        here, stream = torch.cuda.current_stream(device), _device(device).stream
        stream.wait_stream(here)
        # Around it all: where a recording fails, PyTorch does not go back to the caller's stream.
        with torch.cuda.stream(stream):
            try:
                # Kernels are compiled and libraries opened now: neither may happen while recording.
                self._steps_of(name, n)
                graph = torch.cuda.CUDAGraph()
                # Other threads, which load data say, may go on with what recording forbids this.
                with torch.cuda.graph(graph, self.pool, stream, capture_error_mode="thread_local"):
                    try:
                        self._steps_of(name, n)
                    except Exception as error:  # the cause, before what the end says of it
                        failed.append(error)
            except Exception as error:
                failed.append(error)
                if graph is not None:
                    _give_up(graph, self.pool, device)
        if failed:
            self.record = False
            cuda_trial._warn(
                f"lnlib: CUDA graphs could not be recorded on {device}, and are done without, "
                f"slower and as right: {type(failed[0]).__name__}: {failed[0]}"
            )
        else:
            self.graphs[name, n] = graph
        here.wait_stream(stream)

    def _play(self, name: str, n: int) -> None:
        graph = self.graphs.get((name, n))
        if graph is None:
            self._steps_of(name, n)
        else:
            graph.replay()

    def _visit(self) -> None:
        """Tell the allocator that the memory is in use on this stream too."""
        if self.x.is_cuda:
            stream = torch.cuda.current_stream(self.x.device)
            for tensor in self.memory:
                tensor.record_stream(stream)


def _walker(spec: Spec, x: Tensor, running: Tensor | None, w: Weights) -> _Walker:
    """Choose graphs for a shape that has come before, single steps for one that has not."""
    if not x.is_cuda:
        return _Walker(spec, cuda_steps)
    steps = cuda_trial._steps(spec, x, running, w)
    single = _Walker(spec, steps)
    if torch.cuda.is_current_stream_capturing() or len(x) < CHUNKS[-2]:
        return single
    matmul = torch.backends.cuda.matmul
    precision = (
        getattr(matmul, "fp32_precision", None) or matmul.allow_tf32,
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_bf16_reduced_precision_reduction,
    )
    dtypes = (x.dtype, w.weight.dtype, w.gain.dtype)
    key = (spec, x.device, x.shape[1:], dtypes, running is None, precision)
    return _recall(key, lambda: _Graphs(spec, steps)) or single


def _give_up(graph: torch.cuda.CUDAGraph, pool, device: torch.device) -> None:
    """Undo what a recording that failed leaves behind: PyTorch does so where one succeeds."""
    graph.reset()
    _failed.append(graph)  # the allocator may go on asking it what it records
    with suppress(AttributeError, RuntimeError):  # by another name in PyTorch 2.4; already done
        torch._C._cuda_endAllocateToPool(device.index, pool)
    # The generator would refuse to draw: it believes that it is being recorded. Its clone has the
    # same seed and place, and does not.
    generator = torch.cuda.default_generators[device.index]
    generator.graphsafe_set_state(generator.clone_state())


def _recall(key: Hashable, make: Callable[[], _Graphs]) -> _Graphs | None:
    """Return the graphs of a shape, ``None`` at its first sight; the oldest shape gives way."""
    with _lock:
        if key not in _seen:
            if len(_seen) >= 1000:
                _seen.clear()
            _seen.add(key)
            return None
        if key not in _graphs:
            _graphs[key] = make()
        _graphs.move_to_end(key)
        while len(_graphs) > SHAPES:
            _graphs.popitem(last=False)
        return _graphs[key]


def clear_graphs() -> None:
    """Forget the recorded graphs and give their memory back to PyTorch."""
    with _lock:
        _graphs.clear()
        _seen.clear()


class _Device(NamedTuple):
    """What the graphs of a GPU share; they run one after the other."""

    lock: threading.RLock
    stream: torch.cuda.Stream
    done: torch.cuda.Event


_lock = threading.Lock()
_seen: set[Hashable] = set()
_graphs: OrderedDict[Hashable, _Graphs] = OrderedDict()
_failed: list[torch.cuda.CUDAGraph] = []


@functools.cache
def _device(device: torch.device) -> _Device:
    with torch.cuda.device(device):
        return _Device(threading.RLock(), torch.cuda.Stream(), torch.cuda.Event())


@contextmanager
def _turn(device: torch.device) -> Iterator[None]:
    """Keep other threads and streams off the graphs' memory until what is under way is done."""
    if device.type != "cuda":
        yield
        return
    shared = _device(device)
    with shared.lock, torch.cuda.device(device):
        torch.cuda.current_stream().wait_event(shared.done)
        try:
            yield
        finally:
            shared.done.record()


def _cut(T: int, chunks: Sequence[int]) -> list[tuple[int, int]]:
    """Cut T steps into chunks of these sizes, largest first: their starts and sizes."""
    cuts, start = [], 0
    for n in chunks:
        while T - start >= n:
            cuts.append((start, n))
            start += n
    return cuts


def _copy(into: Sequence[Tensor | None], given: Sequence[Tensor | None]) -> None:
    for a, b in zip(into, given, strict=True):
        if a is not None:
            a.copy_(b)


def _at(running: Tensor | None, t: int) -> Tensor | None:
    return None if running is None else running[t]
