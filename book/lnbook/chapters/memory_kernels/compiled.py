"""What ``torch.compile`` makes of norms: kernels, memory kept, bits.

Compiling takes a C++ compiler and half a minute, so the page reads what was recorded::

    python -m lnbook.chapters.memory_kernels.compiled
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["NORMS", "Operators", "layer_norm", "observe", "recorded", "rms_norm", "saved_bytes"]

SOURCE = Path(__file__).with_name("compiled.json")
TOKENS, FEATURES = 512, 1024


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Return the layer norm of each row, operation by operation, in float32."""
    wide = x.float()
    centered = wide - wide.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    x_hat = centered / (variance + eps).sqrt()
    return (gain * x_hat + bias).to(x.dtype)


def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    """Return the RMS norm of each row, operation by operation, cast before the gain."""
    wide = x.float()
    x_hat = wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
    return gain * x_hat.to(x.dtype)


def saved_bytes(function: Callable[[Tensor], object], x: Tensor) -> int:
    """Return the bytes that ``function(x)`` keeps for its backward pass, but for parameters.

    Args:
        function: Called with ``x``.
        x: A tensor whose first axis is as long as no axis of a parameter.
    """
    arrays = {}

    def pack(t: Tensor) -> Tensor:
        if t.shape[:1] == x.shape[:1]:
            memory = t.untyped_storage()
            arrays[memory.data_ptr()] = memory.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(x)
    return sum(arrays.values())


class Operators(TorchDispatchMode):
    """Lists the operators that run below it, in ``names``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Note the name of an operator and run it."""
        self.names.append(function.__name__)
        return function(*args, **(kwargs or {}))


def _norms() -> dict[str, Callable[[Tensor], tuple[Tensor, ...]]]:
    gain, bias = nn.Parameter(torch.ones(FEATURES)), nn.Parameter(torch.zeros(FEATURES))
    layer, rms = nn.LayerNorm(FEATURES), nn.RMSNorm(FEATURES, eps=1e-6)
    branch = torch.randn(TOKENS, FEATURES, generator=torch.Generator().manual_seed(1))
    return {
        "LayerNorm by hand": lambda x: (layer_norm(x, gain, bias),),
        "RMSNorm by hand": lambda x: (rms_norm(x, gain),),
        "nn.LayerNorm": lambda x: (layer(x),),
        "nn.RMSNorm": lambda x: (rms(x),),
        "x + f, then nn.RMSNorm": lambda x: (rms(total := x + branch), total),
    }


NORMS = tuple(_norms())


def observe() -> dict[str, dict[str, float]]:
    """Compile each norm in float32 and compare it with itself, not compiled.

    Returns:
        For each of :data:`NORMS`: ``operators`` of the forward pass, not compiled; ``kernels`` of
        the forward and ``backward`` pass, compiled; ``eager`` and ``compiled``, the memory kept as
        a multiple of the input; ``differ``, the share of the outputs with other bits; and
        ``error``, the largest difference.
    """
    from torch._inductor.utils import run_and_get_code

    results = {}
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(TOKENS, FEATURES, generator=generator).requires_grad_()
    for name, function in _norms().items():
        torch._dynamo.reset()
        compiled = torch.compile(function)
        _, codes = run_and_get_code(lambda f=compiled: sum(y.sum() for y in f(x)).backward())
        kernels = [len(re.findall(r"async_compile\.(?!wait)\w+\(", code)) for code in codes]
        eager, y = function(x)[0], compiled(x)[0]
        with torch.no_grad(), Operators() as mode:
            function(x)
        results[name] = {
            "operators": len(mode.names),
            "kernels": kernels[0],
            "backward": kernels[1],
            "eager": saved_bytes(function, x) / x.nbytes,
            "compiled": saved_bytes(compiled, x) / x.nbytes,
            "differ": (y != eager).float().mean().item(),
            "error": (y - eager).abs().max().item(),
        }
    return results


def recorded() -> dict:
    """Return what :func:`observe` saw: ``torch``, ``device``, ``date`` and ``results``."""
    return json.loads(SOURCE.read_text("utf-8"))


if __name__ == "__main__":
    made = {"torch": torch.__version__, "device": f"CPU: {platform.processor()}"}
    made |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "results": observe()}
    SOURCE.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
