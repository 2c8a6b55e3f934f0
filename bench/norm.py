"""The norms, in NumPy and in PyTorch, forward and with their backward.

In NumPy, one thread: ``lnlib``'s functions beside the formula as most people type it. In PyTorch:
``lnlib.nn``'s modules beside those of ``torch.nn``, and the formula in plain operations beside the
one kernel. The floor is a copy that moves as many bytes as the norm has to: x to y forward; with
the backward also dy and x to dx, 5 arrays in all. Batch norm's is the same: who could keep the
whole batch at hand would read it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

import lnlib
from bench.table import medians, row, threads
from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm

SHAPES = [(4096, 1024), (128, 1000)]
EPS = 1e-5
AXIS = {"LayerNorm": -1, "BatchNorm": 0, "RMSNorm": -1}
OURS = {
    "LayerNorm": (lnlib.layer_norm, lnlib.layer_norm_backward),
    "BatchNorm": (lnlib.batch_norm, lnlib.batch_norm_backward),
    "RMSNorm": (lnlib.rms_norm, lnlib.rms_norm_backward),
}
MODULES: dict[str, tuple[str, Callable, str, Callable]] = {
    "LayerNorm": ("lnlib.nn.LayerNorm", LayerNorm, "torch.nn.LayerNorm", nn.LayerNorm),
    "BatchNorm": ("lnlib.nn.baselines", BatchNorm, "torch.nn.BatchNorm1d", nn.BatchNorm1d),
}
PASSES = ("forward", "forward + backward")


def obvious(kind: str, x, gain, bias):
    """The formula, in NumPy or in PyTorch alike."""
    axis = AXIS[kind]
    if kind == "RMSNorm":
        return x / ((x * x).mean(axis, keepdims=True) + EPS) ** 0.5 * gain
    centered = x - x.mean(axis, keepdims=True)
    var = (centered * centered).mean(axis, keepdims=True)
    return centered / (var + EPS) ** 0.5 * gain + bias


def obvious_backward(kind: str, dy, x, gain):
    axis = AXIS[kind]
    mean = 0 if kind == "RMSNorm" else x.mean(axis, keepdims=True)
    std = np.sqrt(((x - mean) ** 2).mean(axis, keepdims=True) + EPS)
    x_hat = (x - mean) / std
    dx_hat = gain * dy
    shift = 0 if kind == "RMSNorm" else dx_hat.mean(axis, keepdims=True)
    slope = (dx_hat * x_hat).mean(axis, keepdims=True)
    return (dx_hat - shift - slope * x_hat) / std, (dy * x_hat).sum(0), dy.sum(0)


def in_numpy(kind: str, shape: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the rows of NumPy: forward, and both passes."""
    rng = np.random.default_rng(0)
    dy, x = rng.standard_normal((2, *shape), dtype=np.float32)
    gain, bias = rng.standard_normal((2, shape[-1]), dtype=np.float32)
    given = (gain,) if kind == "RMSNorm" else (gain, bias)
    forward, backward = OURS[kind]
    out, five = np.zeros_like(x), np.zeros((5, x.size // 2), np.float32)

    def both():
        forward(x, *given)
        backward(dy, x, gain)

    def both_obvious():
        obvious(kind, x, gain, bias)
        obvious_backward(kind, dy, x, gain)

    halves = np.zeros_like(five)
    calls = {
        "forward": (
            lambda: forward(x, *given),
            lambda: obvious(kind, x, gain, bias),
            lambda: np.copyto(out, x),
        ),
        "forward + backward": (both, both_obvious, lambda: np.copyto(halves, five)),
    }
    return [
        _row(
            kind, which, shape, f"lnlib.{forward.__name__}", "NumPy, as typed", calls[which], "cpu"
        )
        for which in PASSES
    ]


def in_torch(kind: str, shape: tuple[int, int], device: str) -> list[dict[str, Any]]:
    """Return the rows of PyTorch: our module, where there is one, and the plain formula."""
    generator = torch.Generator().manual_seed(0)
    x, dy = (torch.randn(*shape, generator=generator).to(device) for _ in range(2))
    five = torch.zeros(5, x.numel() // 2, device=device)
    halves, out = torch.zeros_like(five), torch.empty_like(x)
    floors = [lambda: out.copy_(x), lambda: halves.copy_(five)]
    theirs = nn.RMSNorm(shape[-1], eps=EPS) if kind == "RMSNorm" else MODULES[kind][3](shape[-1])
    theirs = theirs.to(device)
    name = f"torch.nn.{type(theirs).__name__}"

    def plain(x: Tensor) -> Tensor:
        return obvious(kind, x, theirs.weight, getattr(theirs, "bias", None))

    paths: dict[str, Callable[[Tensor], Tensor]] = {"PyTorch, op by op": plain}
    if kind in MODULES:
        paths[MODULES[kind][0]] = MODULES[kind][1](shape[-1]).to(device)
    rows = []
    for path, call in paths.items():
        for which, floor in zip(PASSES, floors, strict=True):
            candidates = (_pass(which, call, x, dy), _pass(which, theirs, x, dy), floor)
            rows.append(_row(kind, which, shape, path, name, candidates, device))
    return rows


def _pass(which: str, call: Callable[[Tensor], Tensor], x: Tensor, dy: Tensor) -> Callable:
    if which == "forward":

        def forward():
            with torch.no_grad():
                call(x)

        return forward
    leaf = x.clone().requires_grad_()

    def both():
        leaf.grad = None
        call(leaf).backward(dy)

    return both


def _row(kind, which, shape, path, instead, calls, device) -> dict[str, Any]:
    names = ("path", "instead", "floor")
    ms = medians(dict(zip(names, calls, strict=True)), 0.8, device)
    return row(
        f"{kind} {which}",
        "×".join(map(str, shape)),
        path,
        ms["path"],
        instead=(instead, ms["instead"]),
        floor=("copy, 2 arrays" if which == "forward" else "copy, 5 arrays", ms["floor"]),
        device=device,
    )


def machine(device: str) -> list[dict[str, Any]]:
    """Return the machine's own two numbers: how fast it copies, and how fast it multiplies."""
    x = torch.ones(4096, 1024, device=device)
    y, W, z = torch.empty_like(x), torch.ones(1024, 1024, device=device), torch.empty_like(x)
    ms = medians({"copy": lambda: y.copy_(x), "mm": lambda: torch.mm(x, W, out=z)}, 1.0, device)
    facts = {"copy": {"bytes": 2 * 4 * x.numel()}, "mm": {"flops": 2 * 4096 * 1024**2}}
    said = {"copy": ("copy", "4096×1024"), "mm": ("matrix product", "4096×1024×1024")}
    return [row("machine", said[k][1], said[k][0], ms[k], device=device, **facts[k]) for k in said]


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device; NumPy's are the processor's."""
    found = machine(device)
    for shape in SHAPES:
        for kind in AXIS:
            if device == "cpu":
                with threads(1), threadpool_limits(1, "blas"):
                    found += in_numpy(kind, shape)
            found += in_torch(kind, shape, device)
    return found
