"""One step in C++ for the CPU: forward, backward and Adam in one pass over the memory.

The source is ``step.cpp``; :mod:`lnlib.nn.kernels.cpu.build` says what it needs. It is checked
against the plain step before its first use.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear
from lnlib.nn.kernels.cpu import build
from lnlib.nn.kernels.cpu.build import Library

SOURCE = Path(__file__).with_name("step.cpp")
MAX_LAYERS = 16  # as in step.cpp
WORK = 2**15  # weights for each thread: with fewer it waits longer than it works
NORMS = ("none", "batch", "layer", "weight")  # in the order of step.cpp


class _Layer(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in ["inputs", "outputs", "norm", "weight", "gain", "bias"]
        ),
        *((name, ctypes.c_void_p) for name in ("running_mean", "running_var")),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ["layers", "cases", "threads", "update", "unbiased"]),
        *((n, ctypes.c_double) for n in ["eps", "momentum", "rate", "beta1", "beta2", "adam_eps"]),
        ("layer", ctypes.POINTER(_Layer)),
        *(
            (n, ctypes.c_void_p)
            for n in ["parameters", "first", "second", "x", "labels", "loss", "work"]
        ),
    ]


def available() -> bool:
    """Return whether the library is there, after building it if that has not been tried."""
    return _library.load()[0] is not None


def reason() -> str:
    """Return one sentence: where the library lies, or why there is none."""
    return _library.load()[1]


def supports(model: nn.Module) -> bool:
    """Return whether the model is on the CPU, in float32 or float64, and not too deep."""
    p = next(model.parameters())
    depth = sum(isinstance(m, nn.Linear | WeightNormLinear) for m in model)
    return (
        p.device.type == "cpu" and p.dtype in (torch.float32, torch.float64) and depth <= MAX_LAYERS
    )


def make(replay: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the step of a replay: from ``x (B, D)`` and ``y (B,)`` to the mean NLL, in nats.

    Args:
        replay: With ``model``, ``optimizer`` (one Adam over one flat parameter, of which the
            model's own are views) and ``settings``.

    Raises:
        RuntimeError: If the library is not there.
    """
    library, why = _library.load()
    if library is None:
        raise RuntimeError(f"compiled: {why}; take step='plain'")
    group = replay.optimizer.param_groups[0]
    (flat,) = group["params"]
    size = flat.element_size()
    run, work_size = (getattr(library, f"lnlib_{name}_{size}") for name in ("step", "work"))
    work_size.restype = ctypes.c_int64
    layers = _layers(replay.model, flat)
    settings, work, loss = replay.settings, flat.new_empty(0), flat.new_empty(())
    call = _Call(
        layers=len(layers),
        layer=layers,
        unbiased=settings.unbiased,
        eps=settings.eps,
        momentum=settings.momentum,
        beta1=group["betas"][0],
        beta2=group["betas"][1],
        adam_eps=group["eps"],
        parameters=flat.data_ptr(),
        loss=loss.data_ptr(),
    )
    before = None

    def step(x: Tensor, y: Tensor) -> Tensor:
        nonlocal work, before
        state = moments(replay.optimizer)
        state["step"] += 1
        x, y = x.contiguous(), y.contiguous()
        call.update, call.cases = int(state["step"]), len(x)
        call.rate = replay.optimizer.param_groups[0]["lr"]  # a checkpoint replaces the group
        call.first, call.second = state["exp_avg"].data_ptr(), state["exp_avg_sq"].data_ptr()
        call.x, call.labels = x.data_ptr(), y.data_ptr()
        call.threads = build.threads(flat.numel(), WORK)
        if before != (now := (call.cases, call.threads)):
            before, work = now, flat.new_zeros(work_size(ctypes.byref(call)))
            call.work = work.data_ptr()
        run(ctypes.byref(call))
        return loss.clone()

    return step


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


def moments(optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Return Adam's state of the flat parameter; zeros, as Adam makes them, before its first step.

    A checkpoint replaces the tensors: ask each time.
    """
    (flat,) = optimizer.param_groups[0]["params"]
    state = optimizer.state[flat]
    if not state:
        state["step"] = torch.zeros((), dtype=torch.float32)
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(flat), torch.zeros_like(flat)
    return state


def _layers(model: nn.Sequential, flat: Tensor) -> ctypes.Array[_Layer]:
    """Describe the model's layers, each parameter by its place in the flat one."""

    def offset(p: Tensor) -> int:
        return (p.data_ptr() - flat.data_ptr()) // flat.element_size()

    results = []
    for module in model:
        if isinstance(module, nn.Linear | WeightNormLinear):
            weighted = isinstance(module, WeightNormLinear)
            layer = _Layer(
                inputs=module.weight.shape[1],
                outputs=module.weight.shape[0],
                norm=NORMS.index("weight" if weighted else "none"),
                weight=offset(module.weight),
            )
            if module.bias is not None:
                layer.bias = offset(module.bias)
            if weighted:
                layer.gain = offset(module.gain)
            results.append(layer)
        elif isinstance(module, LayerNorm | BatchNorm):
            batch = isinstance(module, BatchNorm)
            layer.norm = NORMS.index("batch" if batch else "layer")
            layer.gain, layer.bias = offset(module.weight), offset(module.bias)
            if batch:
                layer.running_mean = module.running_mean.data_ptr()
                layer.running_var = module.running_var.data_ptr()
    return (_Layer * len(results))(*results)


def _check() -> None:
    """Raise ``RuntimeError`` unless a few updates of small networks come out as the plain ones."""
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
        # No setting is at its default: one that is dropped shows.
        for norm in (None, BatchNorm(19, 1e-2, 0.3), LayerNorm(19, 1e-2), WeightNormLinear(12, 19)):
            ours, plain = (_small(norm, dtype) for _ in range(2))
            step, results = make(ours), []
            x = torch.arange(12 * 5 * 9).sin().to(dtype).view(9, 5, 12)
            y = (torch.arange(5 * 9) % 3).view(9, 5)
            for batch in zip(x, y, strict=True):
                results.append((step(*batch), _plain(plain, *batch)))
            results += zip(ours.model.parameters(), plain.model.parameters(), strict=True)
            results += zip(ours.model.buffers(), plain.model.buffers(), strict=True)
            for a, b in results:
                if not torch.allclose(a.to(b), b, rtol=tolerance, atol=tolerance):
                    raise RuntimeError("the numbers differ from those of the plain step")


def _small(norm: nn.Module | None, dtype: torch.dtype) -> SimpleNamespace:
    """Return a small network with as much of a run as a step asks for."""
    first = norm if isinstance(norm, WeightNormLinear) else nn.Linear(12, 19, bias=norm is None)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(19, 3))
    if isinstance(norm, BatchNorm | LayerNorm):
        model.insert(1, norm)
    model = copy.deepcopy(model).to(dtype)
    # Numbers without a random generator, whose state is not ours to change.
    for p in model.parameters():
        p.data = torch.arange(p.numel()).cos().to(p).view_as(p)
    flat = flatten(model)
    return SimpleNamespace(
        model=model,
        optimizer=torch.optim.Adam([flat], lr=1e-2, betas=(0.8, 0.95), eps=1e-3),
        settings=SimpleNamespace(eps=1e-2, momentum=0.3, unbiased=False),
    )


def _plain(run: SimpleNamespace, x: Tensor, y: Tensor) -> Tensor:
    """Take one update by PyTorch's layers, autograd and Adam; return the loss before it."""
    loss = F.cross_entropy(run.model(x), y)
    run.optimizer.zero_grad(set_to_none=False)
    loss.backward()
    run.optimizer.step()
    return loss.detach()


_library = Library(SOURCE, _check)
