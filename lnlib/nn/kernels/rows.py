"""Layer norm and RMS norm in one pass over the rows, alone or of ``input + residual``.

On a CPU in C++, ``rows.cpp``, built on the first use where a compiler is found (:mod:`.build`); on
a GPU in Triton (:mod:`.rows_triton`). Either is compared with the plain formula before its first
use; where it cannot run or differs, PyTorch's operations take its place, and a line on stderr on a
CPU, a warning on a GPU says why, once.

float16, bfloat16, float32 and float64; 16 bits are computed in float32, with parameters of either
dtype. Whatever looks at the operations themselves gets PyTorch's: ``torch.func``, forward-mode
differentiation, ``torch.compile``, ``torch.jit.trace``, modes and subclasses of tensors with a
``__torch_dispatch__``.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from lnlib.nn import functional
from lnlib.nn.kernels import _is_transformed, build
from lnlib.nn.kernels.build import MAX_THREADS, Library

SOURCE = Path(__file__).with_suffix(".cpp")
WORK = 2**15  # numbers for each thread: with fewer it waits longer than it works
FLOATS = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


def available() -> bool:
    """Return whether the C++ is there, after building it if that has not been tried."""
    return _library.load()[0] is not None


def reason() -> str:
    """Return one sentence: where the library lies, or why there is none."""
    return _library.load()[1]


def norm(
    input: Tensor,
    residual: Tensor | None,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    centered: bool,
) -> Tensor | tuple[Tensor, Tensor] | None:
    """Return the normalized ``input`` or, with a ``residual``, that of their sum, and the sum.

    Args:
        input: Shape ``(*, *normalized_shape)``.
        residual: Of the shape and dtype of ``input``.
        normalized_shape: The last axes, those that share their statistics.
        weight: The gain. ``None`` means ones.
        bias: ``None`` means zeros.
        eps: In squared units of ``input``.
        centered: Whether it is layer norm; else RMS norm, which has no ``bias``.

    Returns:
        ``None`` where somebody else has to compute, or to refuse, what is given.
    """
    if torch.compiler.is_compiling() or not isinstance(input, Tensor):
        return None
    given = [t for t in (residual, weight, bias) if t is not None]
    if not _supports(input, residual, normalized_shape, weight, bias, eps):
        return None
    if _is_transformed(input, given):
        return None
    kernel = _kernel(input)
    if kernel is None:
        return None
    keep = torch.is_grad_enabled() and (input.requires_grad or any(t.requires_grad for t in given))
    settings = (math.prod(normalized_shape), len(normalized_shape), eps, centered, kernel)
    if keep:
        return _Rows.apply(input, residual, weight, bias, *settings)
    return _Rows.forward(None, input, residual, weight, bias, *settings)


def _supports(input, residual, normalized_shape, weight, bias, eps) -> bool:
    dtype, device, ndim = input.dtype, input.device, len(normalized_shape)
    if dtype not in FLOATS or not ndim or input.shape[-ndim:] != normalized_shape:
        return False
    if input.layout != torch.strided or type(eps) not in (float, int) or 0 in normalized_shape:
        return False
    if residual is not None and (
        residual.dtype != dtype or residual.device != device or residual.shape != input.shape
    ):
        return False
    if weight is None:
        return bias is None
    wide = weight.dtype != dtype
    return (
        (not wide or weight.dtype == torch.float32 != dtype != torch.float64)
        and weight.device == device
        and weight.shape == normalized_shape
        and (bias is None or (bias.dtype, bias.device, bias.shape) == (weight.dtype, device, weight.shape))
    )


def _kernel(input: Tensor) -> Any:
    """Return what has ``forward`` and ``backward`` for this tensor, or ``None``."""
    if input.device.type == "cpu":
        found = _compiled()
        return found if found is not None and input.dtype in found.forwards else None
    if input.is_cuda:
        return _triton(input)
    return None


class _Rows(torch.autograd.Function):
    """The norm, and the sum where there is a residual."""

    @staticmethod
    def forward(ctx, input, residual, weight, bias, H, ndim, eps, centered, kernel):
        x = input.contiguous()
        y, total = torch.empty_like(x), None
        if residual is not None:
            residual, total = residual.contiguous(), torch.empty_like(x)
        stats = x.new_empty(x.numel() // H, 2, dtype=torch.float64)
        kernel.forward(x, residual, weight, bias, y, total, stats, H, eps, centered)
        if ctx is not None:
            ctx.set_materialize_grads(False)
            ctx.settings = H, ndim, eps, centered, kernel
            # What autograd knows, and not copies: a second derivative goes through them.
            ctx.save_for_backward(input if total is None else total, weight, bias, stats)
        return y if total is None else (y, total)

    @staticmethod
    def backward(ctx, dy, dsum=None):
        x, weight, bias, stats = ctx.saved_tensors
        H, ndim, eps, centered, kernel = ctx.settings
        needs_x, needs_residual, needs_weight, needs_bias = ctx.needs_input_grad[:4]
        needs_x = needs_x or needs_residual
        dx = dweight = dbias = None
        if dy is None:
            dx = dsum
        elif torch.is_grad_enabled():  # as it is with create_graph=True
            dx, dweight, dbias = functional.norm_backward(
                dy, x, weight, bias, ndim, eps, centered
            )
            dx = dx if dsum is None else dx + dsum
        else:
            x, dy = x.contiguous(), dy.contiguous()
            dsum = None if dsum is None else dsum.contiguous()
            dx = torch.empty_like(x) if needs_x else None
            dweight = torch.empty_like(weight) if needs_weight else None
            dbias = torch.empty_like(bias) if needs_bias else None
            kernel.backward(x, weight, stats, dy, dsum, dx, dweight, dbias, H, centered)
        return dx, dx if needs_residual else None, dweight, dbias, None, None, None, None, None


# C++.


class _Compiled:
    """The library's functions, by dtype."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.forwards, self.backwards = {}, {}
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        for dtype, name in FLOATS.items():
            if hasattr(library, f"lnlib_forward_{name}"):  # not all compilers know float16
                self.forwards[dtype] = library[f"lnlib_forward_{name}"]
                self.forwards[dtype].argtypes = [integer] * 5 + [ctypes.c_double] + [pointer] * 7
                self.backwards[dtype] = library[f"lnlib_backward_{name}"]
                self.backwards[dtype].argtypes = [integer] * 5 + [pointer] * 8

    def forward(self, x, residual, weight, bias, y, total, stats, H, eps, centered) -> None:
        weight = None if weight is None else weight.contiguous()
        bias = None if bias is None else bias.contiguous()
        at = [None if t is None else t.data_ptr() for t in (x, residual, weight, bias, y, total)]
        sizes = _sizes(x, weight, stats, H, centered)
        _refuse(self.forwards[x.dtype](*sizes, eps, *at, stats.data_ptr()))

    def backward(self, x, weight, stats, dy, dsum, dx, dweight, dbias, H, centered) -> None:
        weight = None if weight is None else weight.contiguous()
        tensors = (x, weight, stats, dy, dsum, dx, dweight, dbias)
        at = [None if t is None else t.data_ptr() for t in tensors]
        _refuse(self.backwards[x.dtype](*_sizes(x, weight, stats, H, centered), *at))


def _sizes(x, weight, stats, H, centered) -> tuple[int, ...]:
    rows = len(stats)
    threads = max(1, min(torch.get_num_threads(), rows, rows * H // WORK, MAX_THREADS))
    return rows, H, threads, centered, weight is not None and weight.dtype != x.dtype


def _refuse(status: int) -> None:
    if status:
        raise MemoryError("lnlib.nn: there is no memory for a row of numbers for each thread")


def _check(library: ctypes.CDLL | None = None) -> None:
    """Raise ``RuntimeError`` unless a few rows come out as from the plain formula."""
    kernel = _Compiled(_library.load()[0])
    for dtype in kernel.forwards:
        compare(kernel, torch.device("cpu"), dtype, 19)


def compare(kernel: Any, device: torch.device, dtype: torch.dtype, H: int) -> None:
    """Raise ``RuntimeError`` unless a kernel does to seven rows what the plain formula does."""

    def numbers(k: int, *shape: int) -> Tensor:
        # Without a random generator, whose state is not ours to change.
        count = torch.arange(math.prod(shape), dtype=torch.float64, device=device)
        return (0.7 * count + k).sin().to(dtype).view(shape).requires_grad_()

    for centered in (True, False):
        x, residual, weight, bias, dy, dsum = (
            numbers(k, *((H,) if k in (2, 3) else (7, H))) for k in range(6)
        )
        given = [x, residual, weight, *([bias] if centered else [])]
        with torch.enable_grad():
            outputs = _Rows.apply(*given, *[None] * (4 - len(given)), H, 1, 0.3, centered, kernel)
            ours = [*outputs, *torch.autograd.grad(outputs, given, (dy, dsum))]
            wide = [t.detach().double().requires_grad_() for t in given]
            total = (x.detach() + residual.detach()).double() + (wide[0] + wide[1])
            total = total - (wide[0] + wide[1]).detach()  # rounded as ours, and differentiable
            y = (
                functional.layer_norm_plain(total, (H,), *wide[2:], 0.3)
                if centered
                else functional.rms_norm_plain(total, (H,), wide[2], 0.3)
            )
            theirs = [y, total]
            theirs += torch.autograd.grad(theirs, wide, (dy.double(), dsum.double()))
        allowed = 8 * torch.finfo(dtype).eps if dtype != torch.float64 else 1e-12
        for a, b in zip(ours, theirs, strict=True):
            worst = ((a.double() - b).abs().max() / b.abs().max()).item()
            if not worst <= allowed:
                kind = "layer norm" if centered else "RMS norm"
                raise RuntimeError(f"{kind} of {dtype} differs from the plain formula by {worst:.2g}")


_library = Library(SOURCE, _check)


@cache
def _compiled() -> _Compiled | None:
    library, why = _library.load()
    if library is None:
        if not build.is_switched_off():
            build.say(f"no compiled norms, slower ones take their place: {why}")
        return None
    return _Compiled(library)


# Triton.


def _triton(input: Tensor) -> ModuleType | None:
    if torch.is_autocast_enabled("cuda") or not input.numel():
        return None
    from lnlib.nn.kernels import rows_triton

    return rows_triton.kernel(input)
