"""The norms of rows as two Triton kernels: one row a program forward, several backward.

Statistics and sums are in float32, for float64 in that. With ``TRITON_INTERPRET=1`` set before the
import they run on a CPU, slowly.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable
from types import ModuleType

import torch
from torch import Tensor

from lnlib.nn.kernels.layer_norm_function import FLOATS, compare
from lnlib.nn.kernels.triton.arithmetic import _jit, _store, launch, tl, triton

WIDEST = 16384  # numbers of a row that one program can hold in its registers
PER_WARP = 256  # numbers of a row, of which each thread takes eight
PROGRAMS = 512  # of the backward pass, each with a part of the sums over rows
dtypes = set(FLOATS)

# What a kernel was compared for, and devices on which it failed.
_checked: set[Hashable] = set()
_refused: set[torch.device] = set()


def kernel(input: Tensor, H: int, weight_dtype: torch.dtype | None) -> ModuleType | None:
    """Return this module, if its kernels are right on the input's device, else ``None``.

    They are compared with the plain formula before their first use for a width and a dtype; where
    that fails, a warning says so, once.
    """
    variant = (input.device, input.dtype, weight_dtype, H)
    if variant in _checked:
        return sys.modules[__name__]
    if input.device in _refused or H > WIDEST or torch.cuda.is_current_stream_capturing():
        return None
    try:
        if triton is None:
            raise ImportError("triton is not installed")
        compare(sys.modules[__name__], input.device, input.dtype, H, weight_dtype)
    except torch.cuda.OutOfMemoryError:
        raise  # it says nothing about the kernels
    except Exception as error:
        # No Triton, no C compiler for its launcher, a GPU it does not know, wrong numbers.
        _refused.add(input.device)
        warnings.warn(
            f"lnlib: the Triton kernels of the norms do not work on {input.device}, and PyTorch "
            f"operations take their place: {type(error).__name__}: {error}",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    _checked.add(variant)
    return sys.modules[__name__]


def forward(rows, H, centered, eps, x, residual, weight, bias, y, total, stats) -> None:
    """Write ``y``, the sum if there is a residual, and ``stats``."""
    has = {"ADDED": residual is not None, "GAIN": weight is not None, "BIAS": bias is not None}
    # A pointer that is not read stands for what is missing.
    pointers = [x if t is None else t.contiguous() for t in (residual, weight, bias)]
    written = (y, y if total is None else total, stats)
    launch(_forward, rows, H, PER_WARP, x, *pointers, *written, CENTERED=centered, EPS=eps, **has)


def backward(rows, H, centered, x, weight, stats, dy, dsum, dx, dweight, dbias) -> None:
    """Write the gradients that are not ``None``."""
    programs = min(rows, PROGRAMS)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    sums = x.new_zeros(2, programs, H, dtype=wide)  # of gain and bias, each program's part
    has = {"ADDED": dsum is not None, "GAIN": weight is not None, "DX": dx is not None}
    pointers = [x if t is None else t.contiguous() for t in (weight, dsum)]
    written = (x if dx is None else dx, sums)
    arguments = (x, dy, *pointers, stats, *written, rows)
    launch(_backward, programs, H, PER_WARP, *arguments, CENTERED=centered, **has)
    for d, part in zip((dweight, dbias), sums, strict=True):
        if d is not None:
            d.copy_(part.sum(0).view(d.shape))


@_jit
def _load(pointer, offsets, ok, WIDE: tl.constexpr):
    return tl.load(pointer + offsets, mask=ok, other=0).to(WIDE)


@_jit
def _forward(
    x, residual, weight, bias, y, total, stats, H: tl.constexpr, BLOCK: tl.constexpr,
    CENTERED: tl.constexpr, EPS: tl.constexpr, ADDED: tl.constexpr, GAIN: tl.constexpr,
    BIAS: tl.constexpr,
):  # fmt: skip
    WIDE: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    ok = col < H
    offsets = row * H + col
    v = _load(x, offsets, ok, WIDE)
    if ADDED:
        v = (v + _load(residual, offsets, ok, WIDE)).to(total.dtype.element_ty)
        tl.store(total + offsets, v, mask=ok)
        v = v.to(WIDE)
    if CENTERED:
        mean = tl.sum(v, 0) / H
        v = tl.where(ok, v - mean, 0)
        tl.store(stats + 2 * row, mean.to(tl.float64))
    rstd = 1 / tl.sqrt(tl.sum(v * v, 0) / H + EPS)
    tl.store(stats + 2 * row + 1, rstd.to(tl.float64))
    v *= rstd
    if GAIN:
        v *= _load(weight, col, ok, WIDE)
    if BIAS:
        v += _load(bias, col, ok, WIDE)
    _store(y, offsets, ok, v)


@_jit
def _backward(
    x, dy, weight, dsum, stats, dx, sums, rows, H: tl.constexpr, BLOCK: tl.constexpr,
    CENTERED: tl.constexpr, ADDED: tl.constexpr, GAIN: tl.constexpr, DX: tl.constexpr,
):  # fmt: skip
    WIDE: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    program, programs = tl.program_id(0).to(tl.int64), tl.num_programs(0)
    col = tl.arange(0, BLOCK)
    ok = col < H
    gains = tl.zeros((BLOCK,), WIDE)
    biases = tl.zeros((BLOCK,), WIDE)
    for row in range(program, rows, programs):
        offsets = row * H + col
        rstd = tl.load(stats + 2 * row + 1).to(WIDE)
        x_hat = _load(x, offsets, ok, WIDE)
        if CENTERED:
            x_hat = tl.where(ok, x_hat - tl.load(stats + 2 * row).to(WIDE), 0)
        x_hat *= rstd
        d = _load(dy, offsets, ok, WIDE)
        gains += d * x_hat
        biases += d
        if DX:
            if GAIN:
                d *= _load(weight, col, ok, WIDE)
            slope = tl.sum(d * x_hat, 0) / H
            if CENTERED:
                d -= tl.sum(d, 0) / H
            d = (d - x_hat * slope) * rstd
            if ADDED:
                d += _load(dsum, offsets, ok, WIDE)
            _store(dx, offsets, ok, d)
    tl.store(sums + program * H + col, gains, mask=ok)
    tl.store(sums + (programs + program) * H + col, biases, mask=ok)
