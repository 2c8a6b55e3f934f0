"""One training step of section 6.6's network, once readable and once fast.

============  ===================================================================================
``plain``     PyTorch's layers, autograd and fused Adam: what the other is compared with
``compiled``  C++ for the CPU, built on the first use where a compiler is found; for small batches
``auto``      on a CPU ``compiled`` for up to 32 examples where it is available, else ``plain``
============  ===================================================================================

Both compute the same; rounding differs. They train one flat parameter, of which the model's own are
views, and keep Adam's state where ``torch.optim.Adam`` does: a checkpoint has one format.
"""

from __future__ import annotations

from typing import Any

import torch

from lnlab.experiments.mnist.steps import compiled
from lnlab.experiments.mnist.steps.compiled import flatten

__all__ = ["NAMES", "choose", "flatten", "sweep"]

NAMES = ("plain", "compiled")
MAX_COMPILED = 32  # examples per step: with more, a library's matrix product is faster
SWEEP_INTERVAL = 100  # updates


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
    if name == "auto":
        small = batch_size <= MAX_COMPILED and not on_gpu
        return "compiled" if small and compiled.available() else "plain"
    if name == "compiled" and on_gpu:
        raise ValueError(f"step 'compiled' runs on the CPU, got {device}; take step='auto'")
    if name == "compiled" and not compiled.available():
        raise ValueError(
            f"step 'compiled' is not available: {compiled.reason()}; take step='plain'"
        )
    return name


@torch.no_grad()
def sweep(state: dict[str, Any]) -> None:
    """Set Adam's tiniest moments to 0, every 100 updates.

    Where a pixel is rarely on, the moments decay into denormal numbers, and with those a CPU's
    Adam takes up to three times as long. What is swept out could not move a parameter by 1e-12 of
    the learning rate; in the runs of section 6.6 not a bit changes.

    Args:
        state: Adam's, of one tensor, on the CPU.
    """
    if "exp_avg" in state and int(state["step"]) % SWEEP_INTERVAL == 0:
        for moment, least in ((state["exp_avg"], 1e-30), (state["exp_avg_sq"], 1e-36)):
            moment.masked_fill_(moment.abs() < least, 0)
