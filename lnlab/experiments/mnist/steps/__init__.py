"""One update of the network of section 6.6: a readable and a fast implementation.

============  ===================================================================================
``plain``     PyTorch's layers, autograd and fused Adam; the reference
``compiled``  C++ for the CPU, for small batches; built on first use, needs a compiler
``auto``      ``compiled`` on a CPU for up to 32 examples if available, otherwise ``plain``
============  ===================================================================================

Both compute the same up to rounding. They train one flat parameter, of which the model's parameters
are views, and store Adam's state as ``torch.optim.Adam`` does, so that checkpoints have one format.
"""

from typing import Any

import torch

from lnlab.experiments.mnist.steps import compiled
from lnlab.experiments.mnist.steps.compiled import flatten

__all__ = ["NAMES", "choose", "flatten", "sweep"]

NAMES = ("plain", "compiled")
MAX_COMPILED = 32  # examples per update; with more, the matrix product of a library is faster
SWEEP_INTERVAL = 100  # updates


def choose(name: str, batch_size: int, device: torch.device) -> str:
    """Return which of :data:`NAMES` a run uses.

    Args:
        name: One of them, or ``auto``.
        batch_size: Number of examples per update.
        device: Where the run is.

    Raises:
        ValueError: If the name is unknown, or the implementation cannot run here.
    """
    if name not in ("auto", *NAMES):
        raise ValueError(f"step must be one of auto, {', '.join(NAMES)}, got {name!r}")
    on_gpu = device.type == "cuda"
    if name == "auto":
        small = batch_size <= MAX_COMPILED and not on_gpu
        return "compiled" if small and compiled.available() else "plain"
    if name == "compiled" and on_gpu:
        raise ValueError(f"step 'compiled' runs on the CPU, got {device}; use step='auto'")
    if name == "compiled" and not compiled.available():
        raise ValueError(f"step 'compiled' is not available: {compiled.reason()}; use step='plain'")
    return name


@torch.no_grad()
def sweep(state: dict[str, Any]) -> None:
    """Set very small moments of Adam to 0, every 100 updates.

    If a pixel is rarely nonzero, the moments decay to denormal numbers, which make Adam up to three
    times as slow on a CPU. The effect on a parameter would be less than 1e-12 of the learning rate;
    in the runs of section 6.6, it does not change a bit.

    Args:
        state: The state of Adam for one tensor, on the CPU.
    """
    if "exp_avg" in state and int(state["step"]) % SWEEP_INTERVAL == 0:
        for moment, least in ((state["exp_avg"], 1e-30), (state["exp_avg_sq"], 1e-36)):
            moment.masked_fill_(moment.abs() < least, 0)
