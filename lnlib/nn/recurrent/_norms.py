"""The norms inside the recurrent modules: whether one has to be called, and calling it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.modules import module as base

from lnlib.nn.norm import LayerNorm


def is_as_built(norm: nn.Module, width: int, groups: int, eps: float) -> bool:
    """Return whether calling ``norm`` does no more than what kernels do with its parameters."""
    if type(norm) is not (LayerNorm if groups == 1 else nn.GroupNorm):  # or it is parametrized
        return False
    if groups == 1:
        same = norm.normalized_shape == (width,) and norm.implementation == "fused"
    else:
        same = (norm.num_groups, norm.num_channels) == (groups, width)
    return same and norm.eps == eps and not _is_hooked(norm)


def _is_hooked(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or "forward" in vars(module)
        # Hooks of all modules. PyTorch 2.6 has no function that looks for them.
        or base._global_forward_hooks
        or base._global_forward_pre_hooks
        or base._global_backward_hooks
        or base._global_backward_pre_hooks
    )


def caller(norm: nn.Module, name: str, is_cast: bool) -> Callable[[Tensor], Tensor]:
    """Return a function that calls ``norm``, under autocast if ``is_cast``, and checks the output.

    Args:
        norm: What stands in the place of a norm.
        name: What errors call it.
        is_cast: Whether the data are of another dtype than the parameters.

    Raises:
        TypeError: If ``norm`` is no module.
    """
    if not isinstance(norm, nn.Module):
        raise TypeError(
            f"{name} must be a Module, got {type(norm).__name__}; torch.nn.Identity() leaves the "
            "norm out"
        )

    def call(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, x.dtype, enabled=is_cast):
            y = norm(x)
        if not isinstance(y, Tensor) or y.shape != x.shape:
            got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
            raise RuntimeError(
                f"{name} must return a Tensor of the same shape as its input, {tuple(x.shape)}, "
                f"got {got}"
            )
        return y.to(x.dtype)

    return call
