"""An update in C++ for the CPU: forward, backward and Adam in one pass over the memory.

The source is ``step.cpp``; :mod:`lnlib.nn.kernels.cpu.build` describes its requirements. It is
compared with the plain update before its first use.
"""

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
MAX_LAYERS = 16  # must equal that of step.cpp
WORK = 2**15  # weights per thread; with fewer, synchronization dominates
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
    """Return whether the library is available, after trying to build it if necessary."""
    return _library.load()[0] is not None


def reason() -> str:
    """Return a sentence that says where the library is, or why it is not available."""
    return _library.load()[1]


def supports(model: nn.Module) -> bool:
    """Return whether the model is on the CPU, in float32 or float64, and not too deep."""
    p = next(model.parameters())
    depth = sum(isinstance(m, nn.Linear | WeightNormLinear) for m in model)
    return (
        p.device.type == "cpu" and p.dtype in (torch.float32, torch.float64) and depth <= MAX_LAYERS
    )


def make(replay: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function from ``x (B, D)`` and ``y (B,)`` to the mean NLL that takes one update.

    Args:
        replay: With ``model``, ``optimizer`` (one Adam over one flat parameter, of which the
            model's own are views) and ``settings``.

    Raises:
        RuntimeError: If the library is not available.
    """
    library, why = _library.load()
    if library is None:
        raise RuntimeError(f"compiled: {why}; use step='plain'")
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
    """Make all parameters views of one flat tensor, and their gradients of another; return it.

    Adam then makes one pass over the memory instead of one per tensor, with the same arithmetic.
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
    """Return Adam's state of the flat parameter; zeros before its first update.

    Call it before each use, because loading a checkpoint replaces the tensors.
    """
    (flat,) = optimizer.param_groups[0]["params"]
    state = optimizer.state[flat]
    if not state:
        state["step"] = torch.zeros((), dtype=torch.float32)
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(flat), torch.zeros_like(flat)
    return state


def _layers(model: nn.Sequential, flat: Tensor) -> ctypes.Array[_Layer]:
    """Describe the layers of the model, with the offset of each parameter in the flat one."""

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
    """Raise ``RuntimeError`` unless a few updates of small networks equal the plain ones."""
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
        # No setting has its default value, so that an ignored setting is noticed.
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
    """Return a small network with the attributes of a run that an update needs."""
    first = norm if isinstance(norm, WeightNormLinear) else nn.Linear(12, 19, bias=norm is None)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(19, 3))
    if isinstance(norm, BatchNorm | LayerNorm):
        model.insert(1, norm)
    model = copy.deepcopy(model).to(dtype)
    # Numbers without a random generator, because the global state must not change.
    for p in model.parameters():
        p.data = torch.arange(p.numel()).cos().to(p).view_as(p)
    flat = flatten(model)
    return SimpleNamespace(
        model=model,
        optimizer=torch.optim.Adam([flat], lr=1e-2, betas=(0.8, 0.95), eps=1e-3),
        settings=SimpleNamespace(eps=1e-2, momentum=0.3, unbiased=False),
    )


def _plain(run: SimpleNamespace, x: Tensor, y: Tensor) -> Tensor:
    """Take one update with PyTorch's layers, autograd and Adam; return the loss before it."""
    loss = F.cross_entropy(run.model(x), y)
    run.optimizer.zero_grad(set_to_none=False)
    loss.backward()
    run.optimizer.step()
    return loss.detach()


_library = Library(SOURCE, _check)
