"""The layer-normalized recurrences beside PyTorch's own without a norm.

Of the modules as a user calls them: the loop over ``gx[t]`` that most people write, and each
implementation that this machine has, beside ``nn.LSTM``, ``nn.GRU`` and ``nn.RNN``. The floor is
the bare matrix products, one a time step and one for all inputs. Peak memory, of the LSTM at the
first shape, is that of a forward and backward pass above what the module and its data take, each
in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.table import medians, row
from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN, kernels

SHAPES = [(500, 8, 400), (100, 64, 256), (10, 128, 1024)]  # T, B, H; the input is H wide too
TORCH = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
OURS = {"LSTM": LayerNormLSTM, "GRU": LayerNormGRU, "RNN": LayerNormRNN}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
PASSES = ("forward", "forward + backward")
LOOP = "loop over gx[t]"


def indexed_lstm(m: LayerNormLSTM, x: Tensor) -> Tensor:
    gx = m.layernorm_i_l0(F.linear(x, m.weight_ih_l0)) + m.bias_l0
    h = c = x.new_zeros(x.shape[1], m.hidden_size)
    outputs = []
    for t in range(len(x)):
        gates = gx[t] + m.layernorm_h_l0(h @ m.weight_hh_l0.t())
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * m.layernorm_c_l0(c).tanh()
        outputs.append(h)
    return torch.stack(outputs)


def indexed_gru(m: LayerNormGRU, x: Tensor) -> Tensor:
    H = m.hidden_size
    gates, candidate = F.linear(x, m.weight_ih_l0).split((2 * H, H), 2)
    gx = torch.cat((m.layernorm_i_l0(gates), m.layernorm_in_l0(candidate)), 2)
    h = x.new_zeros(x.shape[1], H)
    outputs = []
    for t in range(len(x)):
        gates, candidate = (h @ m.weight_hh_l0.t()).split((2 * H, H), 1)
        r, z = (gx[t, :, : 2 * H] + m.layernorm_h_l0(gates)).sigmoid().chunk(2, 1)
        n = (gx[t, :, 2 * H :] + r * m.layernorm_hn_l0(candidate)).tanh()
        h = (1 - z) * h + z * n
        outputs.append(h)
    return torch.stack(outputs)


INDEXED = {"LSTM": indexed_lstm, "GRU": indexed_gru}


def paths(kind: str, device: str) -> list[str]:
    """Return what is measured on this machine; the loop for LSTM and GRU."""
    elsewhere = "compiled" if device == "cuda" else "cuda"
    there = [name for name, is_there in kernels.available().items() if is_there]
    return [LOOP] * (kind in INDEXED) + [name for name in there if name != elsewhere]


def make(kind: str, path: str, hidden: int, device: str) -> tuple[nn.Module, Callable]:
    """Return a module, and its outputs as a function of the inputs."""
    if path == "torch":
        module = TORCH[kind](hidden, hidden, device=device)
        return module, lambda x: module(x)[0]
    implementation = "plain" if path == LOOP else path
    module = OURS[kind](hidden, hidden, device=device, implementation=implementation)
    if path == LOOP:
        return module, lambda x: INDEXED[kind](module, x)
    return module, lambda x: module(x)[0]


def passes(kind: str, path: str, x: Tensor) -> dict[str, Callable]:
    """Return the forward pass alone, and forward and backward."""
    module, outputs = make(kind, path, x.shape[-1], x.device.type)

    def forward() -> None:
        with torch.no_grad():
            outputs(x)

    def both() -> None:
        module.zero_grad(set_to_none=True)
        outputs(x).sum().backward()

    return dict(zip(PASSES, (forward, both), strict=True))


def products(kind: str, x: Tensor) -> dict[str, Callable]:
    """Return the matrix products that no path can do without, and nothing else."""
    T, B, H = x.shape
    W, wide = x.new_zeros(GATES[kind] * H, H), x.new_zeros(B, GATES[kind] * H)
    every = x.new_zeros(T * B, GATES[kind] * H)
    all_x, h, dh = x.view(T * B, H), x[0].clone(), x.new_zeros(B, H)

    def forward() -> None:
        torch.mm(all_x, W.t(), out=every)
        for _ in range(T):
            torch.mm(h, W.t(), out=wide)

    def both() -> None:
        forward()
        for _ in range(T):
            torch.mm(wide, W, out=dh)
        for _ in range(2):  # of W_x and of W_h
            torch.mm(every.t(), all_x)

    return dict(zip(PASSES, (forward, both), strict=True))


def speed(kind: str, shape: tuple[int, int, int], device: str) -> list[dict[str, Any]]:
    """Return the rows of one recurrence at one shape."""
    x = torch.randn(*shape, device=device)
    names = paths(kind, device)
    calls = {name: passes(kind, name, x) for name in ["torch", *names]}
    calls["floor"] = products(kind, x)
    found = []
    for which in PASSES:
        ms = medians({name: c[which] for name, c in calls.items()}, 1.5, device, least=3)
        for name in names:
            found.append(
                row(
                    f"LN-{kind} {which}",
                    "×".join(map(str, shape)),
                    name if name == LOOP else f"lnlib.nn, {name}",
                    ms[name],
                    instead=(f"torch.nn.{kind}, no norm", ms["torch"]),
                    floor=("bare products", ms["floor"]),
                    device=device,
                )
            )
    return found


def peak(path: str, device: str) -> float:
    """Return what an LSTM's forward and backward pass add to the memory of this process, in MiB."""
    x = torch.randn(*SHAPES[0], device=device)
    passes("LSTM", path, x[:2].clone())["forward + backward"]()  # what the libraries take once
    call = passes("LSTM", path, x)["forward + backward"]
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is in use
    before = _memory("VmRSS")
    call()
    return (_memory("VmHWM") - before) / 2**10


def _memory(field: str) -> int:
    """Return a line of Linux's account of this process, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def memory(found: list[dict[str, Any]], device: str) -> None:
    """Add the peak memory to the rows it was measured for."""
    if device == "cpu" and not Path("/proc/self/clear_refs").exists():
        return  # only Linux says
    taken = {}
    for name in ["torch", *paths("LSTM", device)]:
        code = f"from bench import rnn; print(rnn.peak({name!r}, {device!r}))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        taken[name if name in ("torch", LOOP) else f"lnlib.nn, {name}"] = json.loads(run.stdout)
    shape = "×".join(map(str, SHAPES[0]))
    for r in found:
        if (r["what"], r["shape"]) == ("LN-LSTM forward + backward", shape):
            r["peak_mib"] = round(taken[r["path"]], 1)
            r["instead_peak_mib"] = round(taken["torch"], 1)


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device: the LSTM at every shape, the others at the first."""
    found = [r for shape in SHAPES for r in speed("LSTM", shape, device)]
    found += [r for kind in ("GRU", "RNN") for r in speed(kind, SHAPES[0], device)]
    memory(found, device)
    return found
