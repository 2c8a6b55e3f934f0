"""The recurrences of :mod:`.plain` on a GPU, without a step of Python per time step.

A time step is two kernels forward and two backward: the product by ``W_h``, from the library, and
one kernel for all that is left of the step, the norms, the gates and the cell. What a kernel takes
to start is then most of what it costs, so that up to 64 steps are recorded as one CUDA graph and
started together. The gradient of ``W_h`` is one product after the loop.

- A graph always reads and writes the same memory. A sequence is copied in and its results are
  copied out, weights too, so that one graph serves every layer of a shape, and a forward pass never
  touches what an earlier one keeps for its backward pass.
- Graphs of 64, 16, 4 and 1 steps make up every length. Each is recorded when a shape comes for the
  second time; the first time, and where the caller is recording a graph, the same kernels are
  started one by one.
- Sequences of different lengths run as one rectangle, in which a row that has ended keeps its
  state.
- The kernels are in :mod:`.triton_kernels`. Each is compared with :mod:`.cuda_steps` before its
  first use on a GPU; where one fails or differs, PyTorch operations take their place in the graphs,
  and where no graph can be recorded, the steps are started one by one. A warning says so, once.

float16 and bfloat16: statistics, gates and the cell are computed in float32, and the cell is
carried in float32; the products, ``h`` and what is kept for the backward pass have the short dtype.
Autocast does the same to float32 weights.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from lnlib.nn.kernels import cuda_steps
from lnlib.nn.kernels.cuda_steps import Spec, Weights
from lnlib.nn.kernels.function import once_differentiable
from lnlib.nn.kernels.plain import Norm

Named = dict[str, Tensor]

CHUNKS = (64, 16, 4, 1)
CHUNK_BYTES = 2**25  # of the widest sequence in a graph's memory; it holds about six of them
SHAPES = 8  # whose graphs are kept
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WIDEST = 4096  # units of a row that one program of a Triton kernel can hold in its registers


def available() -> bool:
    """Return whether PyTorch sees a CUDA GPU."""
    return torch.cuda.is_available()


def supports(inputs: Tensor, *others: Tensor) -> bool:
    """Return whether tensors like these can run here: floats, all on one GPU."""
    return (
        inputs.is_cuda
        and inputs.numel() > 0
        and inputs.dtype in FLOATS
        and all(t.device == inputs.device for t in others)
    )


def lstm(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    c: Tensor,
    weight_hh: Tensor,
    norm_h: Norm | None,
    norm_c: Norm,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run an LSTM as :func:`.plain.lstm` does; same arguments, same results."""
    spec = Spec("lstm", form, "tanh", eps)
    norms = [norm_h if norm_h is not None else (None, None)]
    return _run(spec, inputs, batch_sizes, h, c, weight_hh, norms, norm_c, reverse)


def gru(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    weight_hh: Tensor,
    norm_h: Norm,
    norm_hn: Norm,
    *,
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run a GRU as :func:`.plain.gru` does; same arguments, same results."""
    spec = Spec("gru", "paper", "tanh", eps)
    return _run(spec, inputs, batch_sizes, h, None, weight_hh, [norm_h, norm_hn], None, reverse)


def rnn(
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    weight_hh: Tensor,
    norm: Norm,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run a simple recurrent network as :func:`.plain.rnn` does; same arguments, same results."""
    spec = Spec("rnn", form, nonlinearity, eps)
    return _run(spec, inputs, batch_sizes, h, None, weight_hh, [norm], None, reverse)


def _steps(spec: Spec, x: Tensor, running: Tensor | None, w: Weights) -> ModuleType:
    """Return who takes the steps: the Triton kernels, or PyTorch operations in their place."""
    width, device = w.weight.shape[1], x.device
    if width > WIDEST or device in _refused:
        return cuda_steps
    # What a kernel is compiled for.
    variant = (device, spec, width, x.dtype, w.weight.dtype, w.gain.dtype, running is None)
    if variant not in _checked:
        if torch.cuda.is_current_stream_capturing():
            return cuda_steps  # to try a kernel out would spoil what the caller records
        try:
            from lnlib.nn.kernels import triton_kernels

            _check(triton_kernels, spec, x, running, w)
        except torch.cuda.OutOfMemoryError:
            raise  # it says nothing about the kernels
        except Exception as error:
            # No Triton, no C compiler for its launcher, a GPU it does not know, wrong numbers.
            return _refuse(device, error)
        _checked[variant] = triton_kernels
    return _checked[variant]


def _check(steps: ModuleType, spec: Spec, x: Tensor, running: Tensor | None, w: Weights) -> None:
    """Raise ``RuntimeError`` unless the kernels do to three rows what :mod:`.cuda_steps` does."""
    if steps.triton is None:
        raise ImportError("triton is not installed")
    rows, H, dtype, wide = 3, w.weight.shape[1], w.weight.dtype, w.gain.dtype
    widths = dict.fromkeys(("x", "product", "x_hat", "gates", "d_gates", "d_product"), x.shape[-1])
    widths["rstd"] = spec.statistics
    dtypes = {"x": x.dtype} | dict.fromkeys(cuda_steps.WIDE, wide)

    def numbers(k: int, n: int, dtype: torch.dtype, rows: int = rows) -> Tensor:
        # Without a random generator, whose state is not ours to change.
        count = torch.arange(rows * n, dtype=torch.float64, device=x.device)
        return (0.7 * count + k).sin().to(dtype).view(rows, n)

    # The weight is not read, its width is.
    gains = (t if t is None else numbers(k, len(t), wide, 1)[0] for k, t in enumerate(w[1:]))
    few = Weights(w.weight, *gains)
    live = None if running is None else running.new_tensor(rows - 1)
    for name in (f"{spec.kind}_forward", f"{spec.kind}_backward"):
        plain, fused = getattr(cuda_steps, name), getattr(steps, name)
        names = list(inspect.signature(plain).parameters)[2:-1]  # of tensors with a row a sequence
        both = []
        for step in (plain, fused):
            tensors = {
                n: numbers(k, widths.get(n, H), dtypes.get(n, dtype)) for k, n in enumerate(names)
            }
            if "d_product" in tensors and not spec.norms:  # as in the walk
                tensors["d_product"] = tensors["d_gates"]
            step(spec, few, running=live, **tensors)
            both.append(tensors)
        for n in names:
            expected, actual = (tensors[n].double() for tensors in both)
            largest = expected.nan_to_num(0, 0, 0).abs().max().item()
            allowed = torch.finfo(both[0][n].dtype).eps ** 0.5 * largest  # half of the digits
            if not torch.allclose(actual, expected, rtol=0, atol=allowed, equal_nan=True):
                worst = (actual - expected).abs().max().item()
                raise RuntimeError(
                    f"{name} of {spec} differs from the plain step by {worst:.2g} in {n}"
                )


def _refuse(device: torch.device, error: Exception) -> ModuleType:
    """Say why Triton's kernels are not used on a device from now on; return what is."""
    _refused.add(device)
    _warn(
        f"lnlib: the Triton kernels do not work on {device}, and PyTorch operations take their "
        f"place, slower and as right: {type(error).__name__}: {error}"
    )
    return cuda_steps


def _warn(message: str) -> None:
    """Say it once."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


# Variants of a step that are right, devices on which one was not, and what was said about it.
_checked: dict[Hashable, ModuleType] = {}
_refused: set[torch.device] = set()
_warned: set[str] = set()


def _run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    h: Tensor,
    c: Tensor | None,
    weight: Tensor,
    norms: Sequence[Norm],
    norm_c: Norm | None,
    reverse: bool,
) -> tuple[Tensor, ...]:
    """Lay the sequences out as a rectangle that is walked forwards, and take the results back."""
    T, B, H = len(batch_sizes), batch_sizes[0], h.shape[1]
    given = [t for t in (inputs, h, c, weight) if t is not None]
    result = functools.reduce(torch.promote_types, [t.dtype for t in given])
    dtype = result
    if torch.is_autocast_enabled(inputs.device.type) and result != torch.float64:
        dtype = torch.get_autocast_dtype(inputs.device.type)
    wide = torch.promote_types(dtype, torch.float32)

    x, rows, running = inputs, None, None
    if batch_sizes[-1] < B:
        sizes = torch.tensor(batch_sizes)
        rows = (torch.arange(B) < sizes[:, None]).flatten().nonzero()[:, 0].to(x.device)
        running = (sizes.flip(0) if reverse else sizes).to(x.device, torch.int32)
        x = x.new_zeros(T * B, x.shape[1]).index_copy(0, rows, x)
    x = x.unflatten(0, (T, B))
    x = (x.flip(0) if reverse else x).contiguous()

    widths = [H * spec.parts] if spec.kind == "lstm" else [H * n for n in spec.norms]
    norms = [_fill(norm, n, x, wide) for norm, n in zip(norms, widths, strict=True)]
    gain, bias = (torch.cat(part) for part in zip(*norms, strict=True))
    gain_c, bias_c = (None, None) if norm_c is None else _fill(norm_c, H, x, wide)
    w = Weights(weight.to(dtype).contiguous(), gain, bias, gain_c, bias_c)
    c = None if c is None else c.to(wide)
    tensors = (x, h.to(dtype), c, *w)
    wanted = [t for t in tensors if t is not None and t.requires_grad]
    keep = torch.is_grad_enabled() and bool(wanted)
    # Empty, with the history of all: through it a second derivative finds its refusal.
    history = torch.cat([t.reshape(-1)[:0].to(wide) for t in wanted]) if keep else None
    with torch.cuda.device_of(x), torch.autocast(x.device.type, enabled=False):
        walk = _walker(spec, x, running, w)
        outputs, *last = _Sequence.apply(spec, walk, keep, running, history, *tensors)
    outputs = (outputs.flip(0) if reverse else outputs).flatten(0, 1)
    outputs = outputs if rows is None else outputs.index_select(0, rows)
    return tuple(t.to(result) for t in (outputs, *last))


def _fill(norm: Norm, width: int, like: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """Return the gain and the bias, ones and zeros where there is none."""
    gain, bias = norm
    return [
        like.new_ones(width, dtype=dtype) if gain is None else gain.to(dtype).contiguous(),
        like.new_zeros(width, dtype=dtype) if bias is None else bias.to(dtype).contiguous(),
    ]


class _Sequence(torch.autograd.Function):
    """The walk over time and back, with what the steps have in common taken out of the loops."""

    @staticmethod
    def forward(ctx, spec, walk, keep, running, history, x, h, c, *weights):
        w = Weights(*weights)
        (T, B, _), H, dtype, wide = x.shape, h.shape[1], w.weight.dtype, w.gain.dtype
        states = {"h": x.new_empty(T + 1, B, H, dtype=dtype)}
        states["h"][0] = h
        widths = {"x_hat": (x.shape[2], dtype), "rstd": (spec.statistics, wide)}
        if spec.kind != "rnn":
            widths["gates"] = (x.shape[2], dtype)
        if c is not None:
            states["c"] = x.new_empty(T + 1, B, H, dtype=wide)
            states["c"][0] = c
            widths["cell_hat"] = (H, wide)
        # Without a backward pass every step writes over the one before.
        saved = {
            name: x.new_empty(T if keep else 1, B, n, dtype=d).expand(T, -1, -1)
            for name, (n, d) in widths.items()
        }
        walk.forward(w, x, running, states, saved, keep)
        if keep:
            ctx.spec, ctx.walk, ctx.x_dtype = spec, walk, x.dtype
            ctx.names = tuple(states), tuple(saved)
            ctx.save_for_backward(running, history, *weights, *states.values(), *saved.values())
        # Copies: what the caller does to them leaves alone what is kept for the backward pass.
        return states["h"][1:].clone(), *(state[T].clone() for state in states.values())

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, *d_last):
        spec, needs = ctx.spec, ctx.needs_input_grad[5:]
        running, _, *tensors = ctx.saved_tensors
        w, tensors = Weights(*tensors[:5]), iter(tensors[5:])
        states, saved = (dict(zip(names, tensors, strict=False)) for names in ctx.names)
        h, x_hat = states["h"][:-1], saved["x_hat"]
        # The steps take memory as it lies: every tensor has to be contiguous.
        d_states = [d.clone(memory_format=torch.contiguous_format) for d in d_last]
        grads = {"d_gates": torch.empty_like(x_hat)}
        grads["d_product"] = torch.empty_like(x_hat) if spec.norms else grads["d_gates"]
        if "c" in states:
            grads["d_cell"] = torch.empty_like(saved["cell_hat"])
        with torch.autocast(h.device.type, enabled=False):
            ctx.walk.backward(w, d_out.contiguous(), running, states, saved, d_states, grads)
            dx = grads["d_product" if spec.of_sum else "d_gates"].to(ctx.x_dtype)
            dw = dgain = dbias = dgain_c = dbias_c = dc = None
            if needs[3]:
                dw = grads["d_product"].flatten(0, 1).t() @ h.flatten(0, 1)
            if needs[4] or needs[5]:
                d = grads["d_gates"].to(w.gain.dtype)
                if spec.kind == "gru":  # r scales the candidate's norm
                    H = h.shape[2]
                    r = saved["gates"][..., :H]
                    d = torch.cat((d[..., : 2 * H], d[..., 2 * H :] * r), -1)
                dgain, dbias = (d * x_hat).sum((0, 1)), d.sum((0, 1))
            if "c" in states:
                dc = d_states[1]
                if needs[6] or needs[7]:
                    d = grads["d_cell"]
                    dgain_c, dbias_c = (d * saved["cell_hat"]).sum((0, 1)), d.sum((0, 1))
        return (*[None] * 5, dx, d_states[0], dc, dw, dgain, dbias, dgain_c, dbias_c)


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
            self.steps = _refuse(w.weight.device, error)
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
            _warn(
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
    steps = _steps(spec, x, running, w)
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
