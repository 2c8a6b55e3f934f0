"""The recurrences in C++ for the CPU, built on the first use; absent where no compiler is found.

``recurrent.cpp`` runs the loop over time, forward and backward, for float32 and float64. The
gradient of ``weight_hh``, a sum over all steps, is PyTorch's own product of a chunk of steps.

:mod:`.cpu.build` says what it needs; it is checked against :mod:`.reference` before its first use.
"""

import ctypes
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from lnlib.nn.kernels import reference
from lnlib.nn.kernels.autograd_norms import _chunks
from lnlib.nn.kernels.cpu import build
from lnlib.nn.kernels.cpu.build import Library
from lnlib.nn.kernels.once_differentiable import once_differentiable
from lnlib.nn.kernels.reference import InputProduct
from lnlib.nn.kernels.spec import Norm, Spec

SOURCE = Path(__file__).with_suffix(".cpp")
WORK = 2**21  # multiplications per time step and thread, some 50 us: with less, waiting costs more


def available() -> bool:
    """Return whether the library is there, after building it if that has not been tried."""
    return _load()[0] is not None


def reason() -> str:
    """Return one sentence: where the library lies, or why there is none."""
    return _load()[1]


def supports(inputs: Tensor, *others: Tensor) -> bool:
    """Return whether these tensors are what the library computes with.

    They are to be on the CPU and all float32 or all float64.
    """
    tensors = (inputs, *others)
    return inputs.dtype in (torch.float32, torch.float64) and all(
        t.device.type == "cpu" and t.layout == torch.strided and t.dtype == inputs.dtype
        for t in tensors
    )


def run(
    spec: Spec,
    inputs: Tensor,
    batch_sizes: Sequence[int],
    state: Sequence[Tensor],
    weight_hh: Tensor,
    norms: Sequence[Norm],
    *,
    product: InputProduct | None = None,
) -> tuple[Tensor, ...]:
    """Return what :func:`.reference.run` does; with a ``product``, ``inputs`` are what it is of."""
    library, why = _load()
    if library is None:
        raise RuntimeError(f"compiled: {why}; use implementation='function'")
    weight, b, norms_x = product or (None, None, ())
    *norms, norm_c = norms if spec.kind == "lstm" else (*norms, _NONE)
    # Always as many: two norms of the inputs and two of the hidden part, of which only a GRU has
    # both, and that of the cell.
    pairs = (*norms_x, *_NONES[len(norms_x) :], *norms, *_NONES[len(norms) :], norm_c)
    h, c = state if len(state) == 2 else (*state, None)
    tensors = (inputs, h, c, weight_hh, weight, b, *(p for pair in pairs for p in pair))
    # Whether to prepare a gradient: inside the function it cannot be known.
    keep = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    settings = (spec, array("q", batch_sizes), bool(norms_x), keep)
    if keep:
        return _Recurrence.apply(*tensors, *settings)
    return _Recurrence.forward(None, *tensors, *settings)


_NONE = (None, None)
_NONES = (_NONE, _NONE)
_CONTIGUOUS = torch.contiguous_format
STATS = 14  # as in recurrent.cpp
SPAN = 64  # as in recurrent.cpp
TAKES_DATA = True  # with a ``product``, and not the inputs that it makes


class _Recurrence(torch.autograd.Function):
    """Any of the three: what a kind lacks is ``None``."""

    @staticmethod
    def forward(ctx, data, h, c, weight, weight_x, b, *rest):
        params, (spec, sizes, norm_x, keep) = rest[:10], rest[10:]
        (B, H), N, GH = h.shape, len(data), len(weight)
        is_lstm = spec.kind == "lstm"
        gain, bias, gain_x, gain_c, bias_c = _parameters(spec, h, GH, b if norm_x else None, params)
        h, weight, data = h.contiguous(), weight.contiguous(), data.contiguous()
        c = c.contiguous() if is_lstm else None
        h_n, c_n = (None if s is None else s.clone(memory_format=_CONTIGUOUS) for s in (h, c))
        rows, wide, threads = N if keep else B, _padded(GH, h), _threads(B * H * GH)
        tensors = {
            **{"h0": h, "c0": c, "weight": weight, "outputs": h.new_empty(N, H)},
            **{"gain": gain, "bias": bias, "gain_x": gain_x, "gain_c": gain_c, "bias_c": bias_c},
            "summed": h.new_empty(rows, wide),
            "cells": h.new_empty(N, H) if is_lstm and keep else None,
            "stats": h.new_empty(rows, STATS),
        }
        numbers = {
            "kind": ("lstm", "gru", "rnn").index(spec.kind),
            "form": ("paper", "carried", "per_gate", "draw", "parts").index(spec.form),
            **{"relu": spec.nonlinearity == "relu", "norm_x": norm_x, "H": H, "G": GH // H},
            **{"steps": len(sizes), "sizes": sizes.buffer_info()[0], "reverse": spec.reverse},
            **{"threads": threads, "keep": keep},
        }
        call = _Call(h, spec.eps, **numbers, **tensors)
        packed, scratch = h.new_empty(wide, H), h.new_empty(threads, 5 * H)
        call.set(h=h_n, c=c_n, packed=packed, scratch=scratch, last=len(sizes), pack=True)
        sums_first = _sums_first(spec)
        if sums_first:
            bias = h.new_zeros(GH) if b is None else b.contiguous()
            call.set(b=bias)
        if weight_x is None:
            inputs = data
            call.set(inputs=data, inputs_stride=GH)
        else:
            # Kept for the backward pass, unless it needs none or they are made again soon.
            whole = keep and not (sums_first or _is_narrow(weight_x, H))
            span = 0 if whole else max(B, SPAN)
            gate_inputs = h.new_empty(N if whole else span, wide)
            inputs = gate_inputs if whole else None
            weight_x = weight_x.contiguous()
            packed_x = _multiply(call, data, weight_x, gate_inputs, span)  # noqa: F841 (kept alive)
        call.run("forward")
        if keep:
            ctx.set_materialize_grads(False)
            ctx.spec, ctx.sizes, ctx.norm_x = spec, sizes, norm_x
            ctx.numbers, ctx.names = numbers, list(tensors)
            ctx.has_param = [p is not None for p in (b, *params)]
            if sums_first:
                inputs = None  # the sums are what the backward pass needs
            ctx.save_for_backward(data, inputs, weight_x, *tensors.values())
        outputs = tensors["outputs"]
        return (outputs, h_n, c_n) if is_lstm else (outputs, h_n)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n, dc_n=None):
        spec, sizes = ctx.spec, ctx.sizes
        data, inputs, weight_x, *tensors = ctx.saved_tensors
        tensors = dict(zip(ctx.names, tensors, strict=True))
        h, weight, threads = tensors["h0"], tensors["weight"], ctx.numbers["threads"]
        (B, H), GH = h.shape, len(weight)
        needs_data, _, _, needs_weight, needs_weight_x, needs_b = ctx.needs_input_grad[:6]
        chunks = _chunks(sizes, spec.reverse)
        rows = max(chunk_rows.stop - chunk_rows.start for _, chunk_rows in chunks)

        dh = h.new_zeros(B, _padded(H, h))
        if dh_n is not None:
            dh[:, :H] = dh_n
        dc = None
        if spec.kind == "lstm":
            dc = torch.zeros_like(h) if dc_n is None else dc_n.clone(memory_format=_CONTIGUOUS)
        dhidden, h_before = h.new_empty(rows, GH), h.new_empty(rows, H)
        dinputs = h.new_empty(len(data) if weight_x is None else rows, GH)
        dweight = torch.empty_like(weight) if needs_weight else None
        ddata = dinputs if weight_x is None else h.new_empty(data.shape) if needs_data else None
        dweight_x = h.new_empty(weight_x.shape) if needs_weight_x else None
        db = h.new_zeros(GH) if needs_b and not ctx.norm_x else None
        widths = {"dgain": GH, "dbias": GH + H, "dgain_x": GH, "dgain_c": H, "dbias_c": H}
        dparams = h.new_zeros(threads, sum(widths.values()))
        sums = dict(zip(widths, dparams[0].split(list(widths.values())), strict=True))
        again = inputs is None and not _sums_first(spec)

        call = _Call(h, spec.eps, **ctx.numbers, **tensors)
        packed, scratch = h.new_empty(_padded(H, h), GH), h.new_empty(threads, 5 * H)
        call.set(dh=dh, dc=dc, dhidden=dhidden, h_before=h_before, packed=packed, scratch=scratch)
        call.set(**sums, stride=dparams.shape[1])
        if again:
            span = max(B, SPAN)
            gate_inputs = h.new_empty(span, _padded(GH, h))
            packed_x = _multiply(call, data, weight_x, gate_inputs, span)  # noqa: F841 (kept alive)
        elif inputs is not None:
            call.set(inputs=inputs, inputs_stride=inputs.shape[1])
        for k, (steps, chunk_rows) in enumerate(chunks):
            n, last = chunk_rows.stop - chunk_rows.start, min(steps.stop, len(sizes))
            dx = dinputs[chunk_rows] if weight_x is None else dinputs[:n]
            # Often one number that was spread: only a chunk of it is written out.
            d = h.new_zeros(n, H) if dy is None else dy[chunk_rows].contiguous()
            # The weights are packed once, for the first chunk.
            call.run("backward", dy=d, dinputs=dx, first=steps.start, last=last, pack=k == 0)
            if dweight is not None:
                _gather(dhidden[:n], h_before[:n], dweight, k)
            if dweight_x is not None:
                _gather(dx, data[chunk_rows], dweight_x, k)
            if db is not None:
                db += dx.sum(0)
            if weight_x is not None and ddata is not None:
                torch.mm(dx, weight_x, out=ddata[chunk_rows])
        if threads > 1:
            dparams[0] += dparams[1:].sum(0)
        dparams = _gradients(spec.kind, H, GH, db, **sums)
        param_grads = (d if g else None for d, g in zip(dparams, ctx.has_param, strict=True))
        return ddata, dh[:, :H], dc, dweight, dweight_x, *param_grads, *[None] * 4


def _multiply(call: "_Call", data: Tensor, weight: Tensor, to: Tensor, span: int) -> Tensor:
    """Have the library make the inputs, ``span`` rows at a time; return what is to stay alive."""
    packed = to.new_empty(to.shape[1], weight.shape[1])
    call.set(multiply=True, data=data, I=weight.shape[1], weight_x=weight, packed_x=packed)
    call.set(inputs=to, inputs_stride=to.shape[1], span=span)
    return packed


def _gather(dy: Tensor, x: Tensor, dweight: Tensor, k: int) -> None:
    """Put chunk ``k`` into the gradient of the weight of ``y = W x``."""
    if k == 0:
        torch.mm(dy.t(), x, out=dweight)
    else:
        dweight.addmm_(dy.t(), x)


def _sums_first(spec: Spec) -> bool:
    """Return whether inputs and hidden part are added before a norm, or without one."""
    return spec.of_sum or spec.form == "draw"


def _is_narrow(weight_x: Tensor, H: int) -> bool:
    """Return whether ``W x`` is so little work that it is recomputed instead of stored."""
    return 4 * weight_x.shape[1] <= H


def _parameters(
    spec: Spec, h: Tensor, GH: int, b: Tensor | None, params: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """Return what the library takes: one gain for all norms of a part, one bias for all parts."""
    gain_x, bias_x, gain_nx, bias_nx, gain, bias, gain_n, bias_n, gain_c, bias_c = params
    H = h.shape[1]
    added = [p for p in (bias, bias_x, b) if p is not None]
    bias = sum(added[1:], added[0]) if added else None

    def row(fill: float, *parts: tuple[Tensor | None, int]) -> Tensor:
        filled = [h.new_full((n,), fill) if p is None else p for p, n in parts]
        return torch.cat(filled) if len(filled) > 1 else filled[0].contiguous()

    if spec.kind == "gru":
        gain, gain_x = row(1, (gain, 2 * H), (gain_n, H)), row(1, (gain_x, 2 * H), (gain_nx, H))
        return gain, row(0, (bias, 2 * H), (bias_n, H), (bias_nx, H)), gain_x, None, None
    gain_x = None if _sums_first(spec) else row(1, (gain_x, GH))
    ours = row(1, (gain, GH)), row(0, (bias, GH)), gain_x
    return *ours, *((row(1, (gain_c, H)), row(0, (bias_c, H))) if spec.kind == "lstm" else _NONE)


def _gradients(kind, H, GH, db, dgain, dbias, dgain_x, dgain_c, dbias_c) -> list[Tensor | None]:
    """Return the gradients of ``b`` and of the parameters, each a tensor of its own."""
    if kind == "gru":
        k = 2 * H
        return [
            *(None, dgain_x[:k], dbias[:k].clone(), dgain_x[k:], dbias[GH:]),
            *(dgain[:k], dbias[:k], dgain[k:], dbias[k:GH], None, None),
        ]
    dbias = dbias[:GH]
    db = dbias.clone() if db is None else db
    return [db, dgain_x, dbias.clone(), None, None, dgain, dbias, None, None, dgain_c, dbias_c]


def _padded(n: int, like: Tensor) -> int:
    """Round up to whole vectors."""
    lanes = _load()[0].lnlib_lanes(like.element_size())
    return -(-n // lanes) * lanes


def _threads(work: int) -> int:
    """Return how many threads to use for so many multiplications per time step."""
    return build.threads(work, WORK)


_FIELDS = (
    "kind form relu norm_x H G I steps first last threads reverse keep pack sizes inputs "
    "inputs_stride span multiply data weight_x packed_x outputs h0 c0 h c weight packed gain bias "
    "b gain_x gain_c bias_c summed cells stats scratch dy dh dc dinputs dhidden h_before dgain "
    "dbias dgain_x dgain_c dbias_c stride"
)


class _Call:
    """``Call`` in recurrent.cpp: its fields in their order, all of 64 bits."""

    _positions: ClassVar[dict[str, int]] = {name: k for k, name in enumerate(_FIELDS.split())}

    def __init__(self, like: Tensor, eps: float, **fields) -> None:
        self.size, self.eps = like.element_size(), ctypes.c_double(eps)
        self.values = array("q", [0]) * len(self._positions)
        self.set(**fields)

    def set(self, **fields) -> None:
        """Fill in fields; whoever gives a tensor keeps it."""
        for name, value in fields.items():
            if value is not None:
                self.values[self._positions[name]] = (
                    value.data_ptr() if isinstance(value, Tensor) else value
                )

    def run(self, direction: str, **fields) -> None:
        """Call the library. ctypes lets go of Python's lock: several threads can be in it."""
        self.set(**fields)
        address = ctypes.c_void_p(self.values.buffer_info()[0])
        getattr(_load()[0], f"lnlib_{direction}_{self.size}")(address, self.eps)


def _check() -> None:
    """Raise ``RuntimeError`` unless a small LSTM comes out as in :mod:`.reference`."""
    steps, B, H = 3, 5, 19
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
        # Numbers without a random generator, whose state is not ours to change.
        def numbers(*shape: int, dtype: torch.dtype = dtype) -> Tensor:
            count = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
            return (count * len(shape)).sin().to(dtype).view(shape).requires_grad_()

        inputs, *state = (numbers(steps * B, 4 * H), numbers(B, H), numbers(B, H))
        weight = numbers(4 * H, H)
        norms = [(numbers(4 * H), numbers(4 * H)), (numbers(H), numbers(H))]
        tensors = [inputs, *state, weight, *norms[0], *norms[1]]
        with torch.enable_grad():
            results = [
                (outputs := implementation(Spec("lstm"), inputs, [B] * steps, state, weight, norms))
                and (
                    *outputs,
                    *torch.autograd.grad(sum(y.square().sum() for y in outputs), tensors),
                )
                for implementation in (run, reference.run)
            ]
        for ours, theirs in zip(*results, strict=True):
            if not torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance):
                raise RuntimeError("the numbers differ from those of the plain loop")


_library = Library(SOURCE, _check)


def _load() -> tuple[ctypes.CDLL | None, str]:
    return _library.load()
