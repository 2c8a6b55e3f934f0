"""Effects of ``torch.compile`` on norms: number of kernels, saved memory, rounding, and time.

Compiling needs a C++ compiler and takes half a minute, so the page shows recorded results::

    python -m lnbook.chapters.memory_kernels.compiled
"""

import json
import platform
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

SOURCE = Path(__file__).with_name("compiled.json")
TOKENS, FEATURES = 512, 1024
TIMED_TOKENS, CALLS = 4096, 30


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Return the layer norm of each row, operation by operation, in float32."""
    x32 = x.float()
    centered = x32 - x32.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    x_hat = centered / (variance + eps).sqrt()
    return (gain * x_hat + bias).to(x.dtype)


def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    """Return the RMS norm of each row, operation by operation, with a cast before the gain."""
    x32 = x.float()
    x_hat = x32 * (x32.square().mean(-1, keepdim=True) + eps).rsqrt()
    return gain * x_hat.to(x.dtype)


def saved_bytes(function: Callable[[Tensor], object], x: Tensor) -> int:
    """Return the bytes that ``function(x)`` saves for its backward pass, without parameters.

    Args:
        function: Called with ``x``.
        x: A tensor whose first axis has another length than the first axis of every parameter:
            tensors are recognized by this length. Each storage is counted once.
    """
    storages = {}

    def pack(t: Tensor) -> Tensor:
        if t.shape[:1] == x.shape[:1]:
            storage = t.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(x)
    return sum(storages.values())


class Operators(TorchDispatchMode):
    """A context manager that appends the name of each operator that runs to ``names``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Append the name of an operator and run it."""
        self.names.append(function.__name__)
        return function(*args, **(kwargs or {}))


def _norms(tokens: int = TOKENS) -> dict[str, Callable[[Tensor], tuple[Tensor, ...]]]:
    gain, bias = nn.Parameter(torch.ones(FEATURES)), nn.Parameter(torch.zeros(FEATURES))
    layer, rms = nn.LayerNorm(FEATURES), nn.RMSNorm(FEATURES, eps=1e-6)
    branch = torch.randn(tokens, FEATURES, generator=torch.Generator().manual_seed(1))
    return {
        "LayerNorm by hand": lambda x: (layer_norm(x, gain, bias),),
        "RMSNorm by hand": lambda x: (rms_norm(x, gain),),
        "nn.LayerNorm": lambda x: (layer(x),),
        "nn.RMSNorm": lambda x: (rms(x),),
        "x + f, then nn.RMSNorm": lambda x: (rms(total := x + branch), total),
    }


NORMS = tuple(_norms())


def observe() -> dict[str, dict[str, float]]:
    """Compile each norm in float32 and compare it with its eager version on the CPU.

    Returns:
        For each of :data:`NORMS`: ``operators``, the number of operators of the eager forward pass;
        ``kernels`` and ``backward``, the numbers of compiled kernels of the forward and backward
        pass; ``eager`` and ``compiled``, the saved bytes divided by those of the input; ``differ``,
        the fraction of outputs that are not equal; and ``error``, the largest difference.
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


def compare_times() -> dict[str, float]:
    """Return the time of each compiled norm relative to that of its eager version.

    Times are of a forward and backward pass in float32 on one thread: the shortest of :data:`CALLS`
    calls of each version, which alternate.
    """
    threads, results = torch.get_num_threads(), {}
    torch.set_num_threads(1)
    x = torch.randn(TIMED_TOKENS, FEATURES).requires_grad_()
    for name, function in _norms(TIMED_TOKENS).items():
        torch._dynamo.reset()
        versions = torch.compile(function), function
        gradients = [torch.ones_like(y) for y in function(x)]
        shortest = [float("inf")] * 2
        for _ in range(CALLS):
            for k, version in enumerate(versions):
                x.grad = None
                start = time.perf_counter()
                torch.autograd.backward(version(x), gradients)
                shortest[k] = min(shortest[k], time.perf_counter() - start)
        results[name] = shortest[0] / shortest[1]
    torch.set_num_threads(threads)
    return results


def recorded() -> dict:
    """Return the recording, with ``torch``, ``device`` and ``date``.

    Its ``results`` are those of :func:`observe`, with the ``time`` of :func:`compare_times`.
    """
    return json.loads(SOURCE.read_text("utf-8"))


if __name__ == "__main__":
    recording = {
        "torch": torch.__version__,
        "device": f"CPU: {platform.processor() or platform.machine()}",
    }
    results = observe()
    for name, ratio in compare_times().items():
        results[name]["time"] = ratio
    recording |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "results": results}
    SOURCE.write_text(json.dumps(recording, indent=1) + "\n", "utf-8")
