"""Layer norm and RMS norm in one pass over the rows, alone or of ``input + residual``.

On a CPU in C++, ``layer_norm.cpp``, built on the first use where a compiler is found
(:mod:`.cpu.build`), and called through an operator where that can be built too
(:mod:`.layer_norm_operator`); on a GPU in Triton (:mod:`.triton.layer_norm`). Each is compared with
the plain formula before its first use; where it cannot run or differs, PyTorch's operations take
its place, and a line on stderr on a CPU, a warning on a GPU says why, once.

float16, bfloat16, float32 and float64; 16 bits are computed in float32, with parameters of either
dtype. Whatever looks at the operations themselves gets PyTorch's (:func:`.memory.is_transformed`).
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from lnlib.nn import functional
from lnlib.nn.kernels.cpu import build, layer_norm_operator
from lnlib.nn.kernels.cpu.build import Library
from lnlib.nn.kernels.layer_norm_function import FLOATS, Rows, compare
from lnlib.nn.kernels.memory import is_transformed

SOURCE = Path(__file__).with_suffix(".cpp")
WORK = 2**15  # numbers per thread, some 10 us: with fewer, waking it costs more


def available() -> bool:
    """Return whether the C++ is there, after building it if that has not been tried."""
    return _library.load()[0] is not None


def reason() -> str:
    """Return one sentence: where the library lies, or why there is none."""
    return _library.load()[1]


def at_once(*arguments) -> Tensor | tuple[Tensor, Tensor] | None:
    """Return what :func:`norm` does of these, sooner, or ``None`` where it is not that simple."""
    if torch.compiler.is_compiling() or (operator := _operator()) is None:
        return None
    return operator(*arguments)


def operator_reason() -> str:
    """Return one sentence: where the operator lies that saves small norms time, or why not."""
    return _operator_library.load()[1] if available() else reason()


def norm(
    input: Tensor,
    residual: Tensor | None,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float | None,
    centered: bool,
) -> Tensor | tuple[Tensor, Tensor] | None:
    """Return the normalized ``input`` or, with a ``residual``, that of their sum, and the sum.

    Args:
        input: Shape ``(*, *normalized_shape)``.
        residual: Of the shape and dtype of ``input``.
        normalized_shape: The last axes, those that share their statistics.
        weight: The gain. ``None`` means ones.
        bias: ``None`` means zeros.
        eps: In squared units of ``input``; ``None`` means :func:`.functional.rms_eps`.
        centered: Whether it is layer norm; else RMS norm, which has no ``bias``.

    Returns:
        ``None`` where somebody else has to compute, or to refuse, what is given.
    """
    if torch.compiler.is_compiling() or not isinstance(input, Tensor):
        return None
    if not _supports(input, residual, normalized_shape, weight, bias):
        return None
    if eps is None:
        eps = functional.rms_eps(input.dtype)
    elif type(eps) not in (float, int):
        return None
    tensors = [t for t in (input, residual, weight, bias) if t is not None]
    if is_transformed(tensors):
        return None
    ndim = len(normalized_shape)
    H = normalized_shape[0] if ndim == 1 else math.prod(normalized_shape)
    kernel = _compiled() if input.device.type == "cpu" else _triton(input, H, weight)
    if kernel is None or input.dtype not in kernel.dtypes:
        return None
    settings = (H, ndim, float(eps), centered, kernel)
    if torch.is_grad_enabled() and any([t.requires_grad for t in tensors]):
        return Rows.apply(settings, input, residual, weight, bias)
    return Rows.forward(None, settings, input, residual, weight, bias)


def _supports(input, residual, normalized_shape, weight, bias) -> bool:
    dtype, device, ndim = input.dtype, input.device, len(normalized_shape)
    if dtype not in FLOATS or not ndim or input.shape[-ndim:] != normalized_shape:
        return False
    if device.type not in ("cpu", "cuda") or input.layout != torch.strided:
        return False
    if residual is not None:
        if not isinstance(residual, Tensor) or residual.shape != input.shape:
            return False
        if (residual.dtype, residual.device, residual.layout) != (dtype, device, input.layout):
            return False
    if weight is None:
        return bias is None
    if weight.dtype != dtype and (weight.dtype != torch.float32 or dtype == torch.float64):
        return False
    if weight.device != device or weight.shape != normalized_shape:
        return False
    return bias is None or (
        bias.dtype == weight.dtype and bias.device == device and bias.shape == normalized_shape
    )


# C++.


class _Compiled:
    """The library's functions, by dtype."""

    def __init__(self, library: ctypes.CDLL) -> None:
        # Not all compilers know float16.
        self.dtypes = {d for d, n in FLOATS.items() if hasattr(library, f"lnlib_forward_{n}")}
        self.forwards = {d: library[f"lnlib_forward_{FLOATS[d]}"] for d in self.dtypes}
        self.backwards = {d: library[f"lnlib_backward_{FLOATS[d]}"] for d in self.dtypes}
        sizes, pointer = [ctypes.c_int64] * 5, ctypes.c_void_p
        for dtype in self.dtypes:
            self.forwards[dtype].argtypes = [*sizes, ctypes.c_double, *[pointer] * 7]
            self.backwards[dtype].argtypes = [*sizes, *[pointer] * 8]

    def forward(self, rows, H, centered, eps, x, residual, weight, bias, y, total, stats) -> None:
        weight, bias = _contiguous(weight), _contiguous(bias)  # alive until the call is over
        wide = weight is not None and weight.dtype != x.dtype
        pointers = [t if t is None else t.data_ptr() for t in (x, residual, weight, bias, y, total)]
        run = self.forwards[x.dtype]
        _refuse(run(rows, H, _threads(rows, H), centered, wide, eps, *pointers, stats.data_ptr()))

    def backward(self, rows, H, centered, x, weight, stats, dy, dsum, dx, dweight, dbias) -> None:
        weight = _contiguous(weight)
        wide = weight is not None and weight.dtype != x.dtype
        tensors = (x, weight, stats, dy, dsum, dx, dweight, dbias)
        pointers = [t if t is None else t.data_ptr() for t in tensors]
        _refuse(self.backwards[x.dtype](rows, H, _threads(rows, H), centered, wide, *pointers))


def _contiguous(t: Tensor | None) -> Tensor | None:
    return None if t is None else t.contiguous()


def _threads(rows: int, H: int) -> int:
    if rows * H < 2 * WORK:
        return 1
    return min(rows, build.threads(rows * H, WORK))


def _refuse(status: int) -> None:
    if status:
        raise MemoryError("lnlib.nn: there is not enough memory for a buffer of one row per thread")


def _check() -> None:
    """Raise ``RuntimeError`` unless a few rows come out as from the plain formula."""
    kernel = _Compiled(_library.load()[0])
    for dtype in kernel.dtypes:
        compare(kernel, torch.device("cpu"), dtype, 19)


# A row's digits must not depend on its batch. In the loop over several rows GCC fuses additions and
# multiplications in another way than in the loop over one, and computes the rest of a row, which
# fills no vector, in one of its own, with other digits.
FLAGS = ("-ffp-contract=off", "-fno-tree-slp-vectorize")
_library = Library(SOURCE, _check, flags=FLAGS)


@cache
def _compiled() -> _Compiled | None:
    library, why = _library.load()
    if library is None:
        if not build.is_switched_off():
            build.notify(f"no compiled norms, slower ones take their place: {why}")
        return None
    return _Compiled(library)


# The same, called from C++.


def _check_operator() -> None:
    operator = layer_norm_operator.make(_operator_library.load()[0], _compiled(), WORK)

    def apply(settings, input, residual, weight, bias):
        H, _, eps, centered, _ = settings
        return operator(input, residual, (H,), weight, bias, eps, centered)

    for dtype in _compiled().dtypes:
        compare(None, torch.device("cpu"), dtype, 19, apply=apply)


_operator_library = Library(layer_norm_operator.SOURCE, _check_operator, is_extension=True)


@cache
def _operator() -> Callable | None:
    kernel = _compiled()
    if kernel is None:
        return None
    library, _ = _operator_library.load()
    # Without it the results are the same, so there is no warning.
    return None if library is None else layer_norm_operator.make(library, kernel, WORK)


# Triton.


def _triton(input: Tensor, H: int, weight: Tensor | None) -> ModuleType | None:
    if torch.is_autocast_enabled("cuda") or not input.numel():  # autocast returns float32
        return None
    from lnlib.nn.kernels.triton import layer_norm

    return layer_norm.kernel(input, H, None if weight is None else weight.dtype)
