"""Who takes the steps of :mod:`.cuda`: the Triton kernels, once they were seen to be right.

Each is compared with :mod:`.cuda_steps` before its first use on a GPU; where one fails or differs,
PyTorch operations take its place, and a warning says so, once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Hashable
from types import ModuleType

import torch
from torch import Tensor

from lnlib.nn.kernels import cuda_steps
from lnlib.nn.kernels.cuda_steps import Weights
from lnlib.nn.kernels.spec import Spec

WIDEST = 4096  # units of a row that one program of a Triton kernel can hold in its registers


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
