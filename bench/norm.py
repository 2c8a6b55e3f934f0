"""The norms in NumPy and in PyTorch, forward and backward.

In NumPy, on one thread, the functions of ``lnlib`` are compared with the formula as most people
write it. In PyTorch, the modules of ``lnlib.nn`` are compared with those of ``torch.nn``, the
formula in separate operations with the fused kernel, RMS norm with layer norm, and a fused add and
norm with the two operations. All candidates of one shape and pass are measured in turn, together
with the floor: the fastest of several ways to move the arrays that the norm must move, x and y in
the forward pass, and in addition dy, x and dx with the backward pass, 5 arrays in total. Batch norm
has the same floor, because with a large enough cache it would read the batch only once. Two
properties of the machine are measured as shortest times, too: how fast it copies an array (for a
shape that fits into memory or an outer cache, and for one that fits into an inner cache), and how
fast it multiplies matrices.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

import lnlib
from bench.table import medians, row, threads
from lnlib.nn import LayerNorm, RMSNorm
from lnlib.nn.baselines import BatchNorm

SHAPES = [(4096, 1024), (128, 1000)]
ONE_PASS = [(4096, 1024), (1024, 256), (64, 64)]  # shapes for fused kernels, in two dtypes
THREADS = (1, 2, 4)  # numbers of threads for fused kernels
BETWEEN = (1024, 1024)  # an additional size for the copy
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
    "RMSNorm": ("lnlib.nn.RMSNorm", RMSNorm, "torch.nn.RMSNorm", nn.RMSNorm),
}
PASSES = ("forward", "forward + backward")
TYPED = "NumPy, as typed"
SECONDS = 3.0  # for all candidates of one shape and pass


def obvious(kind: str, x, gain, bias):
    """Compute a norm by its formula, for arrays of NumPy or PyTorch."""
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


def movers(shape: tuple[int, int], device: str) -> dict[str, list[Callable[[], Any]]]:
    """Return functions that only move the arrays of each pass."""
    x, y, dy, dx = (torch.ones(*shape, device=device) for _ in range(4))

    def forward_then_backward() -> None:
        y.copy_(x)
        torch.add(dy, x, out=dx)

    def ways(source: Tensor, target: Tensor) -> list[Callable[[], Any]]:
        results = [
            lambda: target.copy_(source),
            lambda: torch.add(source, 1.0, out=target),
            lambda: source.mul_(1.0),
        ]
        if device == "cpu":
            a, b = source.numpy(), target.numpy()
            results += [lambda: np.copyto(b, a), lambda: np.multiply(a, 1, out=a)]
        return results

    five = (torch.ones(5, x.numel() // 2, device=device) for _ in range(2))
    return dict(zip(PASSES, (ways(x, y), [*ways(*five), forward_then_backward]), strict=True))


def in_numpy(shape: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the rows for NumPy: the forward pass, and forward and backward."""
    rng = np.random.default_rng(0)
    dy, x = rng.standard_normal((2, *shape), dtype=np.float32)
    gain, bias = rng.standard_normal((2, shape[-1]), dtype=np.float32)

    def pair(kind: str) -> dict[str, tuple[Callable, Callable]]:
        forward, backward = OURS[kind]
        params = (gain,) if kind == "RMSNorm" else (gain, bias)

        def forward_and_backward():
            forward(x, *params)
            backward(dy, x, gain)

        def obvious_forward_and_backward():
            obvious(kind, x, gain, bias)
            obvious_backward(kind, dy, x, gain)

        ones = (lambda: forward(x, *params), lambda: obvious(kind, x, gain, bias))
        return dict(
            zip(PASSES, (ones, (forward_and_backward, obvious_forward_and_backward)), strict=True)
        )

    pairs, floors = {kind: pair(kind) for kind in AXIS}, movers(shape, "cpu")
    results = []
    for which in PASSES:
        paths = {}
        for kind in AXIS:
            ours, typed = pairs[kind][which]
            paths |= {(kind, f"lnlib.{OURS[kind][0].__name__}"): ours, (kind, TYPED): typed}
        results += _rows(which, shape, paths, {kind: TYPED for kind in AXIS}, floors[which], "cpu")[
            0
        ]
    return results


def in_torch(shape: tuple[int, int], device: str) -> list[dict[str, Any]]:
    """Return the rows of PyTorch: our module, and the plain formula.

    First the machine's: the floor of the forward pass is how fast it copies.
    """
    generator = torch.Generator().manual_seed(0)
    x, dy = (torch.randn(*shape, generator=generator).to(device) for _ in range(2))
    calls: dict[tuple[str, str], Callable] = {}
    instead = {}
    for kind in AXIS:
        path, ours, instead[kind], theirs = MODULES[kind]
        theirs = theirs(shape[-1], eps=EPS).to(device)
        gain, bias = theirs.weight, getattr(theirs, "bias", None)
        calls[kind, "PyTorch, op by op"] = partial(obvious, kind, gain=gain, bias=bias)
        calls[kind, instead[kind]] = theirs
        calls[kind, path] = ours(shape[-1], eps=EPS).to(device)
    floors = movers(shape, device)
    result, lowest = [], []
    for which in PASSES:
        paths = {name: _pass(which, call, (x,), (dy,)) for name, call in calls.items()}
        rows, floor = _rows(which, shape, paths, instead, floors[which], device)
        result, lowest = result + rows, [*lowest, floor]
    copy = _machine("copy", _text(shape), lowest[0], device, bytes=2 * 4 * x.numel())
    return [copy, *result]


def in_one_pass(shape: tuple[int, int], device: str) -> list[dict[str, Any]]:
    """Return the rows of RMS norm instead of layer norm, and of a fused add and norm."""
    generator, result = torch.Generator().manual_seed(0), []
    for dtype in (torch.float32, torch.bfloat16):
        x, residual, dy, dsum = torch.randn(4, *shape, generator=generator).to(device, dtype)
        common = {"eps": EPS, "device": device, "dtype": dtype}
        layer, ours, rms = (m(shape[-1], **common) for m in (nn.LayerNorm, LayerNorm, RMSNorm))
        comparisons: dict[str, tuple[str, Callable, str, Callable]] = {
            "LayerNorm alone": ("lnlib.nn.LayerNorm", ours, "torch.nn.LayerNorm", layer),
            "RMSNorm for LayerNorm": ("lnlib.nn.RMSNorm", rms, "torch.nn.LayerNorm", layer),
            "add + LayerNorm": ("lnlib.nn.LayerNorm", ours, "torch.nn.LayerNorm", apart(layer)),
            "add + RMSNorm": ("lnlib.nn.RMSNorm", rms, "lnlib.nn.RMSNorm, apart", apart(rms)),
        }
        for (what, (path, call, instead, reference)), which in itertools.product(
            comparisons.items(), PASSES
        ):
            tensors = ((x,), (dy,)) if "add" not in what else ((x, residual), (dy, dsum))
            calls = {
                name: _pass(which, f, *tensors) for name, f in ((path, call), (instead, reference))
            }
            times = max(1, 2**18 // x.numel())  # small calls are too fast for the clock
            ms = medians(calls, SECONDS / 4, device, times=times)
            pair = {"instead": (instead, ms[instead]), "device": device, "dtype": str(dtype)[6:]}
            result.append(row(f"{what} {which}", _text(shape), path, ms[path], **pair))
    return result


def apart(norm: nn.Module) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return a function that adds and then normalizes, in two operations."""

    def call(x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return norm(total), total

    return call


def _pass(
    which: str, call: Callable, inputs: tuple[Tensor, ...], dys: tuple[Tensor, ...]
) -> Callable:
    if which == "forward":

        def forward():
            with torch.no_grad():
                call(*inputs)

        return forward
    leaves = [t.clone().requires_grad_() for t in inputs]

    def forward_and_backward():
        for leaf in leaves:
            leaf.grad = None
        torch.autograd.backward(call(*leaves), dys)

    return forward_and_backward


def _rows(
    which: str,
    shape: tuple[int, int],
    paths: dict[tuple[str, str], Callable],
    instead: dict[str, str],
    floors: list[Callable],
    device: str,
) -> tuple[list[dict[str, Any]], float]:
    """Measure all candidates in turn; return a row for each, with its alternative and the floor."""
    ms = medians(paths, SECONDS, device, floors=floors)
    floor = "2 arrays, moved" if which == "forward" else "5 arrays, moved"
    results = [
        row(
            f"{kind} {which}",
            _text(shape),
            path,
            ms[kind, path],
            instead=(instead[kind], ms[kind, instead[kind]]),
            floor=(floor, ms["floor"]),
            device=device,
        )
        for kind, path in paths
        if path != instead[kind]
    ]
    return results, ms["floor"]


def _text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))


def _machine(path: str, shape: str, ms: float, device: str, **facts: int) -> dict[str, Any]:
    return row("machine", shape, path, ms, device=device, **facts)


def product(device: str) -> dict[str, Any]:
    """Return the row on the speed of matrix products."""
    x, W = torch.ones(4096, 1024, device=device), torch.ones(1024, 1024, device=device)
    z = torch.empty_like(x)
    ms = medians({}, 1.0, device, floors=[lambda: torch.mm(x, W, out=z)])["floor"]
    return _machine("matrix product", "4096×1024×1024", ms, device, flops=2 * 4096 * 1024**2)


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device; those of NumPy only for the CPU."""
    copy = medians({}, 0.5, device, floors=movers(BETWEEN, device)[PASSES[0]])["floor"]
    facts = {"bytes": 2 * 4 * BETWEEN[0] * BETWEEN[1]}
    results = [product(device), _machine("copy", _text(BETWEEN), copy, device, **facts)]
    for shape in SHAPES:
        if device == "cpu":
            with threads(1), threadpool_limits(1, "blas"):
                results += in_numpy(shape)
        results += in_torch(shape, device)
    own = torch.get_num_threads()  # first, because the book shows it
    for count in (own,) if device == "cuda" else dict.fromkeys((own, *THREADS)):
        with threads(count):
            for shape in ONE_PASS:
                results += in_one_pass(shape, device)
    return results
