"""Measure the layer-normalized recurrences beside PyTorch's own: ``python -m bench.rnn [A B C]``.

float32, two threads on a CPU, candidates in turn within one process, medians, of the modules as a
user calls them: ``nn.LSTM`` and ``nn.GRU`` without layer norm, the loop over ``gx[t]`` that most
people write, and each implementation that this machine has. Peak memory is that of one forward
and backward pass above what the module and its data take, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlib.nn import LayerNormGRU, LayerNormLSTM, kernels

SHAPES = {"A": (500, 8, 400), "B": (100, 64, 256), "C": (30, 128, 1024)}  # T, B, H
TORCH = {"LSTM": nn.LSTM, "GRU": nn.GRU}
OURS = {"LSTM": LayerNormLSTM, "GRU": LayerNormGRU}
NUMBERS = ["torch", "indexed", *kernels.IMPLEMENTATIONS[1:]]


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


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def names() -> list[str]:
    """Return the candidates of this machine; the first is what the others are measured against."""
    elsewhere = "compiled" if device().type == "cuda" else "cuda"
    there = [name for name, is_there in kernels.available().items() if is_there]
    return ["torch", "indexed", *(name for name in there if name != elsewhere)]


def make(kind: str, name: str, hidden: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Return a module of the candidate, and its outputs as a function of the inputs."""
    if name == "torch":
        module = TORCH[kind](hidden, hidden, device=device())
        return module, lambda x: module(x)[0]
    implementation = "plain" if name == "indexed" else name
    module = OURS[kind](hidden, hidden, device=device(), implementation=implementation)
    if name == "indexed":
        return module, lambda x: INDEXED[kind](module, x)
    return module, lambda x: module(x)[0]


def passes(kind: str, name: str, hidden: int) -> tuple[Callable, Callable]:
    """Return the forward pass alone, and forward and backward."""
    module, outputs = make(kind, name, hidden)

    def forward(x: Tensor) -> None:
        with torch.no_grad():
            outputs(x)

    def forward_and_backward(x: Tensor) -> None:
        module.zero_grad(set_to_none=True)
        outputs(x).sum().backward()

    return forward, forward_and_backward


def milliseconds(call: Callable, x: Tensor) -> float:
    if x.is_cuda:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call(x)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)
    begin = time.perf_counter()
    call(x)
    return 1e3 * (time.perf_counter() - begin)


def medians(candidates: dict[str, Callable], x: Tensor, seconds: float) -> dict[str, float]:
    """Run the candidates in turn, at least 3 times; return the median of each in ms."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    turn = list(candidates)
    for name in turn:
        candidates[name](x)  # the first call builds, packs and tunes
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["torch"]) < 3:
        random.shuffle(turn)  # who comes after whom decides what is in the cache
        for name in turn:
            times[name].append(milliseconds(candidates[name], x))
    return {name: median(t) for name, t in times.items()}


def speed(shape: str, seconds: float = 6.0) -> list[dict]:
    T, B, H = SHAPES[shape]
    x = torch.randn(T, B, H, device=device())
    rows = []
    for kind in TORCH:
        calls = {name: passes(kind, name, H) for name in names()}
        for k, what in enumerate(("forward", "forward + backward")):
            candidates = {name: call[k] for name, call in calls.items()}
            numbers = medians(candidates, x, seconds)
            rows.append({"what": f"{kind} {what}, ms", "shape": shape, **numbers})
    return rows


def peak(name: str, shape: str) -> float:
    """Return what an LSTM's forward and backward pass add to the memory of this process, in MiB."""
    T, B, H = SHAPES[shape]
    x = torch.randn(T, B, H, device=device())
    _, call = passes("LSTM", name, H)
    call(x[:2].clone())  # what the libraries take once
    if x.is_cuda:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call(x)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is in use
    before = _memory("VmRSS")
    call(x)
    return (_memory("VmHWM") - before) / 2**10


def _memory(field: str) -> int:
    """Return a line of Linux's account of this process, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def memory(shape: str) -> list[dict]:
    if device().type == "cpu" and not Path("/proc/self/clear_refs").exists():
        return []  # only Linux says
    numbers = {}
    for name in names():
        code = f"from bench import rnn; print(rnn.peak({name!r}, {shape!r}))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        numbers[name] = json.loads(run.stdout)
    return [{"what": "LSTM peak memory, MiB", "shape": shape, **numbers}]


def run(shapes: list[str] | None = None) -> list[dict]:
    """Return a row for each table line: what, shape, and a number for each candidate."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    try:
        return [row for shape in shapes or SHAPES for row in speed(shape) + memory(shape)]
    finally:
        torch.set_num_threads(threads)


def main(shapes: list[str] | None = None) -> list[dict]:
    load = os.getloadavg()[0]
    rows = run(shapes)
    present = [name for name in NUMBERS if any(name in row for row in rows)]
    print(f"{'':{28 + 12 + 10 * len(present)}}  ratio to torch")
    print(f"{'':28}{'T×B×H':12}" + "".join(f"{name:>10}" for name in (*present, *present[1:])))
    for row in rows:
        numbers = [row[name] for name in present]
        cells = [f"{n:10.4g}" for n in numbers] + [f"{n / numbers[0]:10.2f}" for n in numbers[1:]]
        shape = "×".join(map(str, SHAPES[row["shape"]]))
        print(f"{row['what']:28}{shape:12}" + "".join(cells))
    print(f"Load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after.")
    return rows


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(SHAPES)
    if unknown:
        sys.exit(f"bench.rnn: the shapes are {', '.join(SHAPES)}, got {', '.join(unknown)}")
    main(sys.argv[1:])
