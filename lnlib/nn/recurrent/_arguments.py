"""Argument checks of the recurrent modules."""

import torch
from torch import Tensor, nn

from lnlib.nn.functional import check_real

State = Tensor | tuple[Tensor, Tensor]


def _check_nonlinearity(name: str, nonlinearity: str) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"{name}: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")


def _autocast(data: Tensor) -> torch.dtype | None:
    """Return the dtype that autocast asks for, if it is on."""
    kind = data.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return None


def _tensors(name: str, hx: State | None, states: int) -> tuple[Tensor, ...]:
    """Return the tensors of ``hx``; refuse what is none."""
    if hx is None:
        return ()
    tensors = hx if states == 2 else (hx,)
    if not (
        isinstance(tensors, (tuple, list))
        and len(tensors) == states
        and all(isinstance(s, Tensor) for s in tensors)
    ):
        expected = "a pair of Tensors (h, c)" if states == 2 else "a Tensor h"
        raise TypeError(
            f"{name}: hx must be {expected}, got {type(hx).__name__}; "
            "leave it out to start from zeros"
        )
    return tuple(tensors)


def _check_data(module: nn.Module, weight: Tensor, data: Tensor) -> None:
    name = type(module).__name__
    check_real(name, input=data, weight_ih=weight)
    cast = _autocast(data) is not None and data.is_floating_point()
    if data.dtype != weight.dtype and not cast:
        raise ValueError(
            f"{name}: input is {data.dtype}, the weights are {weight.dtype}; "
            f"try input.to({weight.dtype}), or module.to({data.dtype})"
        )
    if data.shape[-1] != module.input_size:
        raise RuntimeError(
            f"{name}: the last axis of input must be input_size {module.input_size}, got "
            f"{data.shape[-1]}; the first axes are time and batch"
        )


def _check_states(
    name: str, state: tuple[Tensor, ...], expected: tuple[int, ...], axes: str, data: Tensor
) -> None:
    dtype, autocast = data.dtype, _autocast(data)
    for symbol, s in zip("hc", state, strict=False):
        if tuple(s.shape) != expected:
            raise RuntimeError(
                f"{name}: {symbol} of hx must be of shape {expected}, {axes}; got {tuple(s.shape)}"
            )
        check_real(name, hx=s)
        if s.dtype != dtype and (autocast is None or not s.is_floating_point()):
            raise RuntimeError(
                f"{name}: {symbol} of hx is {s.dtype}, input is {dtype}; try hx.to({dtype})"
            )
