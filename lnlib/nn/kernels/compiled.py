"""The recurrences in C++ for the CPU, built on the first use; absent where no compiler is found.

Signatures, forms and results are those of :mod:`.plain`, where they are documented. The source,
``compiled.cpp``, runs the loop over time, forward and backward, for float32 and float64. The
gradient of ``weight_hh``, a sum over all steps, is PyTorch's own product of a chunk of steps.

:mod:`.build` says what it needs; it is checked against :mod:`.plain` before its first use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from lnlib.nn.kernels import plain
from lnlib.nn.kernels.build import MAX_THREADS, Library
from lnlib.nn.kernels.function import once_differentiable
from lnlib.nn.kernels.plain import Norm

SOURCE = Path(__file__).with_suffix(".cpp")
CHUNK = 1024  # rows of the backward pass at a time: what it leaves stays in the cache
WORK = 2**18  # multiplications a step for each thread: with less it waits longer than it works


def available() -> bool:
    """Return whether the library is there, after building it if that has not been tried.

    Example:
        >>> available() in (True, False)
        True
    """
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
    """Return what :func:`.plain.lstm` does."""
    tensors = (inputs, h, c, weight_hh, *(norm_h or (None, None)), *norm_c)
    return _apply(tensors, batch_sizes, eps, reverse, "lstm", form)


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
    """Return what :func:`.plain.gru` does."""
    H = h.shape[1]
    # The library takes one gain and one bias of all 3H.
    gain, bias = (
        None
        if a is b is None
        else torch.cat((_or_fill(a, 2 * H, inputs, fill), _or_fill(b, H, inputs, fill)))
        for a, b, fill in zip(norm_h, norm_hn, (1, 0), strict=True)
    )
    tensors = (inputs, h, None, weight_hh, gain, bias, None, None)
    return _apply(tensors, batch_sizes, eps, reverse, "gru", "paper")


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
    """Return what :func:`.plain.rnn` does."""
    tensors = (inputs, h, None, weight_hh, *norm, None, None)
    kind = {"tanh": "rnn", "relu": "relu"}[nonlinearity]
    return _apply(tensors, batch_sizes, eps, reverse, kind, form)


def _apply(tensors, batch_sizes, eps, reverse, kind, form) -> tuple[Tensor, ...]:
    """Call the function, and say whether to prepare a gradient: inside it cannot be known."""
    library, why = _load()
    if library is None:
        raise RuntimeError(f"compiled: {why}; take implementation='function'")
    keep = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    return _Recurrence.apply(*tensors, list(batch_sizes), eps, reverse, kind, form, keep)


class _Recurrence(torch.autograd.Function):
    """Any of the three: what a kind lacks is ``None``."""

    @staticmethod
    def forward(ctx, inputs, h, c, weight, gain, bias, gain_c, bias_c, *settings):
        sizes, eps, reverse, kind, form, keep = settings
        (B, H), N, GH = h.shape, len(inputs), len(weight)
        rows = N if keep else B
        is_lstm = kind == "lstm"
        h, c = h.contiguous(), h.new_empty(0) if c is None else c.contiguous()
        call = {
            "kind": {"lstm": 0, "gru": 1}.get(kind, 2),
            "form": ("paper", "carried", "per_gate", "draw", "parts").index(form),
            "relu": kind == "relu",
            **{"H": H, "G": GH // H, "steps": len(sizes), "reverse": reverse, "eps": eps},
            "sizes": torch.tensor(sizes, dtype=torch.int64),
            **{"h0": h, "c0": c, "weight": weight.contiguous()},
            "gain": _or_fill(gain, GH, h, 1),
            "bias": _or_fill(bias, GH, h, 0),
            "gain_c": _or_fill(gain_c, H, h, 1),
            "bias_c": _or_fill(bias_c, H, h, 0),
            "outputs": h.new_empty(N, H),
            "x_hat": h.new_empty(0 if form == "draw" else rows, GH),
            "gates": h.new_empty(0 if GH == H else rows, GH),
            "cells": h.new_empty(rows if is_lstm else 0, H),
            "stats": h.new_empty(rows, 6),
        }
        h_n, c_n = (s.clone(memory_format=torch.contiguous_format) for s in (h, c))
        work = {
            **{"threads": _threads(B * H * GH), "keep": keep, "h": h_n, "c": c_n},
            "inputs": inputs.contiguous(),
            "packed": h.new_empty(_padded(GH, h), H),
            "summed": h.new_empty(B, _padded(GH, h)),
        }
        _run("forward", h.element_size(), **call, **work)
        if keep:
            tensors = {name: v for name, v in call.items() if isinstance(v, Tensor)}
            ctx.names, ctx.settings = list(tensors), settings
            ctx.numbers = {name: v for name, v in call.items() if name not in tensors}
            ctx.given = [p is not None for p in (gain, bias, gain_c, bias_c)]
            ctx.save_for_backward(*tensors.values())
        return (call["outputs"], h_n, c_n) if is_lstm else (call["outputs"], h_n)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy, dh_n, dc_n=None):
        sizes, _, reverse, *_ = ctx.settings
        call = ctx.numbers | dict(zip(ctx.names, ctx.saved_tensors, strict=True))
        h, weight = call["h0"], call["weight"]
        (B, H), GH, threads = h.shape, len(weight), _threads(weight.numel() * len(h))
        dinputs = h.new_empty(len(dy), GH)
        dh = h.new_empty(B, _padded(H, h))
        dh[:, :H] = dh_n
        dc = None if dc_n is None else dc_n.clone(memory_format=torch.contiguous_format)
        dparams = {
            **dict(zip(("dgain", "dbias"), h.new_zeros(2, threads, GH), strict=True)),
            **dict(zip(("dgain_c", "dbias_c"), h.new_zeros(2, threads, H), strict=True)),
        }
        dweight = torch.zeros_like(weight) if ctx.needs_input_grad[3] else None
        length = max(1, CHUNK // B)
        dhidden, h_before = (h.new_empty(min(length, len(sizes)) * B, n) for n in (GH, H))
        call |= dparams | {
            **{"threads": threads, "dy": dy.contiguous(), "dh": dh, "dc": dc, "dinputs": dinputs},
            **{"dhidden": dhidden, "h_before": h_before},
            "packed": h.new_empty(_padded(H, h), GH),
            "scratch": h.new_empty(threads, GH),
        }
        starts = range(0, len(sizes), length)
        for k, first in enumerate(starts if reverse else starts[::-1]):
            last = min(first + length, len(sizes))
            # The weights are packed once, for the first chunk.
            _run("backward", h.element_size(), **call, first=first, last=last, pack=k == 0)
            if dweight is not None:
                rows = sum(sizes[first:last])
                dweight.addmm_(dhidden[:rows].t(), h_before[:rows])
        sums = (d.sum(0) if g else None for d, g in zip(dparams.values(), ctx.given, strict=True))
        return dinputs, dh[:, :H], dc, dweight, *sums, *[None] * 6


def _or_fill(p: Tensor | None, n: int, like: Tensor, fill: float) -> Tensor:
    return like.new_full((n,), fill) if p is None else p.contiguous()


def _padded(n: int, like: Tensor) -> int:
    """Round up to whole vectors."""
    lanes = _load()[0].lnlib_lanes(like.element_size())
    return -(-n // lanes) * lanes


def _threads(work: int) -> int:
    """Return how many threads to use for so many multiplications a step."""
    return max(1, min(torch.get_num_threads(), work // WORK, MAX_THREADS))


# The call: the fields of ``Call`` in compiled.cpp, in its order.

_NUMBERS = "kind form relu H G steps first last threads reverse keep pack"
_POINTERS = (
    "sizes inputs outputs h0 c0 h c weight packed gain bias gain_c bias_c summed x_hat gates cells "
    "stats dy dh dc dinputs dhidden h_before dgain dbias dgain_c dbias_c scratch"
)


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in _NUMBERS.split()),
        ("eps", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in _POINTERS.split()),
    ]


def _run(direction: str, size: int, **fields) -> None:
    """Call the library. ctypes lets go of Python's lock, so that several threads can be in it."""
    values = {k: v.data_ptr() if isinstance(v, Tensor) else v for k, v in fields.items()}
    getattr(_load()[0], f"lnlib_{direction}_{size}")(ctypes.byref(_Call(**values)))


def _check() -> None:
    """Raise ``RuntimeError`` unless a small LSTM comes out as in :mod:`.plain`."""
    steps, B, H = 3, 5, 19
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
        # Numbers without a random generator, whose state is not ours to change.
        def numbers(*shape: int, dtype: torch.dtype = dtype) -> Tensor:
            count = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
            return (count * len(shape)).sin().to(dtype).view(shape).requires_grad_()

        tensors = [numbers(steps * B, 4 * H), numbers(B, H), numbers(B, H), numbers(4 * H, H)]
        norms = [(numbers(4 * H), numbers(4 * H)), (numbers(H), numbers(H))]
        given = [*tensors, *norms[0], *norms[1]]
        with torch.enable_grad():
            results = [
                (outputs := module(tensors[0], [B] * steps, *tensors[1:], *norms))
                and (*outputs, *torch.autograd.grad(sum(y.square().sum() for y in outputs), given))
                for module in (lstm, plain.lstm)
            ]
        for ours, theirs in zip(*results, strict=True):
            if not torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance):
                raise RuntimeError("the numbers differ from those of the plain loop")


_library = Library(SOURCE, _check)


def _load() -> tuple[ctypes.CDLL | None, str]:
    return _library.load()
