"""One training step of section 6.6's network, once readable and several times fast.

============  ===================================================================================
``plain``     PyTorch's layers, autograd and fused Adam: what the others are held against
``manual``    the gradient by hand in a few large operations; needs nothing but PyTorch
``compiled``  C++ for the CPU, built on the first use where a compiler is found; for small batches
``graph``     a CUDA graph of many steps, several seeds side by side
``auto``      ``graph`` on a GPU; on a CPU ``compiled`` for up to 32 cases where it is at hand,
              else ``manual``
============  ===================================================================================

They compute the same; rounding differs. All of them train one flat parameter, of which the model's
own are views, and keep Adam's state where ``torch.optim.Adam`` does: a checkpoint has one format.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

NAMES = ("plain", "manual", "compiled", "graph")
FEW = 32  # cases a step: with more, a library's matrix product is faster than the compiled step


def flatten(model: nn.Module) -> nn.Parameter:
    """Lay all parameters into one tensor and their gradients into another; return it.

    The model's own parameters become views. Adam then makes one pass over the memory instead of
    one a tensor: the same arithmetic.
    """
    parameters = list(model.parameters())
    flat = nn.Parameter(torch.cat([p.detach().flatten() for p in parameters]))
    flat.grad = torch.zeros_like(flat)
    start = 0
    for p in parameters:
        part = slice(start, start := start + p.numel())
        p.data, p.grad = flat.data[part].view_as(p), flat.grad[part].view_as(p)
    return flat


def choose(name: str, batch_size: int, device: torch.device) -> str:
    """Return which of :data:`NAMES` a run takes.

    Args:
        name: One of them, or ``auto``.
        batch_size: Cases a step.
        device: Where the run is.

    Raises:
        ValueError: If the name is unknown, or that step cannot run here.
    """
    if name not in ("auto", *NAMES):
        raise ValueError(f"step must be one of auto, {', '.join(NAMES)}, got {name!r}")
    on_gpu = device.type == "cuda"
    if on_gpu and name in ("auto", "graph"):
        if not (why := _module("graph").problem(device)):
            return "graph"
        if name == "graph":
            raise ValueError(f"step 'graph' is not at hand: {why}; take step='plain'")
        warnings.warn(
            f"the step 'graph' is not used, as {why}; the training takes the step 'plain', more "
            "slowly",
            stacklevel=2,
        )
        return "plain"
    if name == "auto":
        return "compiled" if batch_size <= FEW and _module("compiled").available() else "manual"
    if name == "graph" and not on_gpu:
        raise ValueError(f"step 'graph' needs a CUDA device, got {device}; take step='auto'")
    if name == "compiled" and on_gpu:
        raise ValueError(f"step 'compiled' runs on the CPU, got {device}; take step='auto'")
    if name == "compiled" and not _module("compiled").available():
        raise ValueError(
            f"step 'compiled' is not at hand: {_module('compiled').reason()}; take step='manual'"
        )
    return name


def make(name: str, replay: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the step of a replay: from ``x (B, D)`` and ``y (B,)`` to the mean NLL, in nats."""
    return _module(name).make(replay)


def _module(name: str) -> Any:
    # Loaded when asked for: a compiler may be started, or a GPU.
    return import_module(f"lnlib.experiments.mnist.steps.{name}")
