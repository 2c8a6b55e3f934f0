"""The layer-normalized recurrent networks compared with PyTorch's, which have no norm.

The modules are compared with ``nn.LSTM``, ``nn.GRU`` and ``nn.RNN`` at every shape, with one, two
and four threads, in training (forward and backward) and at inference (in eval mode, without
gradients). Some shapes also include alternatives: the loop over ``gx[t]`` that most people write,
and each implementation by its name. The floor is the time of the matrix products alone, in the
fastest of several ways: one product per time step and one for all inputs, or all products of a kind
at once.

The cost of the norms is measured by running the same loop with and without them: two Python loops
of an LSTM, and the compiled loops. The compiled RNN has one norm or none; the compiled LSTM has all
norms or, as in DRAW, only that of the cell. Peak memory, for the LSTM at the first shape, is that
of a forward and backward pass in addition to the module and its data, each in a new process.
"""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from bench.table import medians, row, threads
from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN, kernels
from lnlib.nn.kernels.cpu import recurrent
from lnlib.nn.kernels.reference import InputProduct
from lnlib.nn.kernels.spec import Spec

Shape = tuple[int, int, int, int]  # T, B, H, inputs
SHAPES: list[Shape] = [
    (500, 8, 400, 400), (100, 64, 256, 256), (30, 128, 1024, 1024),
    (300, 8, 128, 3), (300, 8, 128, 128), (64, 64, 128, 128), (12, 128, 256, 256),
]  # fmt: skip
COMPARED = {"LSTM": (0, 2), "GRU": (0,), "RNN": (0,)}  # shapes with all paths, by index
THREADS = (1, 2)
MANY = 4  # threads, more than a small machine has cores
TORCH = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}
OURS = {"LSTM": LayerNormLSTM, "GRU": LayerNormGRU, "RNN": LayerNormRNN}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
PASSES = ("forward", "forward + backward")
LOOP = "loop over gx[t]"
CALLED = "as called"
SECONDS = 1.0  # for all candidates of one recurrence, shape and pass


def indexed_lstm(m: LayerNormLSTM, x: Tensor, unbind: bool = False) -> Tensor:
    gx = m.layernorm_i_l0(F.linear(x, m.weight_ih_l0)) + m.bias_l0
    gx = gx.unbind(0) if unbind else gx
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
    """Return the paths measured in addition to the default; the loop only for LSTM and GRU."""
    elsewhere = "compiled" if device == "cuda" else "cuda"
    available = [name for name, is_available in kernels.available().items() if is_available]
    return [LOOP] * (kind in INDEXED) + [name for name in available if name != elsewhere]


def label(path: str) -> str:
    return path if path in ("torch", LOOP) else f"lnlib.nn, {path}"


def text(shape: Shape) -> str:
    """Format a shape as T×B×H, followed by the number of inputs if it is not H."""
    *sizes, inputs = shape
    return "×".join(map(str, sizes)) + (f", {inputs} inputs" if inputs != sizes[-1] else "")


def make(kind: str, path: str, inputs: int, hidden: int, device: str) -> tuple[nn.Module, Callable]:
    """Return a module, and a function from its inputs to its outputs."""
    if path == "torch":
        module = TORCH[kind](inputs, hidden, device=device)
        return module, lambda x: module(x)[0]
    options = {LOOP: {"implementation": "plain"}, CALLED: {}}.get(path, {"implementation": path})
    module = OURS[kind](inputs, hidden, device=device, **options)
    if path == LOOP:
        return module, lambda x: INDEXED[kind](module, x)
    return module, lambda x: module(x)[0]


def passes(kind: str, path: str, x: Tensor, hidden: int) -> dict[str, Callable]:
    """Return the forward pass at inference, and forward and backward in training."""
    return passes_of(x, *make(kind, path, x.shape[-1], hidden, x.device.type))


def passes_of(x: Tensor, module: nn.Module, outputs: Callable) -> dict[str, Callable]:
    """Return the two passes of a module over ``x``."""

    def forward() -> None:
        module.eval()
        with torch.no_grad():
            outputs(x)

    def forward_and_backward() -> None:
        module.train()
        module.zero_grad(set_to_none=True)
        outputs(x).sum().backward()

    return dict(zip(PASSES, (forward, forward_and_backward), strict=True))


def products(kind: str, x: Tensor, hidden: int) -> dict[str, list[Callable]]:
    """Return several ways to compute only the matrix products that no path can avoid.

    Products for all steps at once are larger. A recurrence cannot use them, but products per step
    are not faster. On a CPU, NumPy's BLAS is measured, too, because PyTorch's is not the faster one
    on every processor.
    """
    T, B, D = x.shape
    GH, N = GATES[kind] * hidden, T * B
    W_ih, W_hh = x.new_zeros(GH, D), x.new_zeros(GH, hidden)
    all_x, all_h, all_gates = x.view(N, D), x.new_zeros(N, hidden), x.new_zeros(N, GH)
    h, wide, dh = all_h[:B].clone(), all_gates[:B].clone(), x.new_zeros(B, hidden)

    def product(a: Tensor, b: Tensor, out: Tensor) -> None:
        torch.mm(a, b, out=out)

    def by_numpy(a: Tensor, b: Tensor, out: Tensor) -> None:
        np.matmul(a.numpy(), b.numpy(), out=out.numpy())

    def forward(at_once: bool, mm: Callable = product) -> None:
        mm(all_x, W_ih.t(), all_gates)
        if at_once:
            mm(all_h, W_hh.t(), all_gates)
            return
        for _ in range(T):
            mm(h, W_hh.t(), wide)

    def forward_and_backward(at_once: bool, mm: Callable = product) -> None:
        forward(at_once, mm)
        if at_once:
            mm(all_gates, W_hh, all_h)
        else:
            for _ in range(T):
                mm(wide, W_hh, dh)
        for inputs, weight in ((all_x, W_ih), (all_h, W_hh)):  # gradients of the weights
            mm(all_gates.t(), inputs, torch.empty_like(weight))

    argument_sets = [(False,), (True,), *[(True, by_numpy)] * (x.device.type == "cpu")]
    ways = [
        [partial(call, *how) for how in argument_sets] for call in (forward, forward_and_backward)
    ]
    return dict(zip(PASSES, ways, strict=True))


def speed(kind: str, shape: Shape, names: list[str], device: str) -> list[dict[str, Any]]:
    """Return the rows of some paths of one recurrence at one shape."""
    T, B, H, inputs = shape
    x = torch.randn(T, B, inputs, device=device)
    calls = {name: passes(kind, name, x, H) for name in ["torch", *names]}
    floors = products(kind, x, H)
    results = []
    for which in PASSES:
        candidates = {name: c[which] for name, c in calls.items()}
        ms = medians(candidates, SECONDS, device, min_calls=3, floors=floors[which])
        for name in names:
            results.append(
                row(
                    f"LN-{kind} {which}",
                    text(shape),
                    label(name),
                    ms[name],
                    instead=(f"torch.nn.{kind}, no norm", ms["torch"]),
                    floor=("bare products", ms["floor"]),
                    device=device,
                )
            )
    return results


def norm_free_rnn(m: nn.RNN, x: Tensor) -> Tensor:
    """Run the compiled loop of an RNN without its norm, which computes the same as torch.nn.RNN."""
    T, B, D = x.shape
    product = InputProduct(m.weight_ih_l0, m.bias_ih_l0 + m.bias_hh_l0, ())
    state = x.new_zeros(B, m.hidden_size)
    arguments = ([B] * T, [state], m.weight_hh_l0, [(None, None)])
    out, _ = recurrent.run(Spec("rnn", "draw"), x.view(-1, D), *arguments, product=product)
    return out.view(T, B, -1)


def with_and_without(H: int) -> dict[tuple[str, str], list[tuple[nn.Module, Callable]]]:
    """Return loops with and without norms, as modules and functions of their outputs.

    Args:
        H: Number of units, and of inputs.

    Returns:
        Maps recurrence and path to the loop with norms and the loop without.
    """

    def lstm(norms: bool) -> LayerNormLSTM:
        module = LayerNormLSTM(H, H)
        for name in ("i", "h", "c"):
            if not norms:
                setattr(module, f"layernorm_{name}_l0", nn.Identity())
        return module

    def looped(unbind: bool) -> list[tuple[nn.Module, Callable]]:
        return [(m, partial(indexed_lstm, m, unbind=unbind)) for m in (lstm(True), lstm(False))]

    results = {("LSTM", LOOP): looped(False), ("LSTM", "loop over gx.unbind(0)"): looped(True)}
    if recurrent.available():
        chosen = {"implementation": "compiled"}
        modules = [OURS["LSTM"](H, H, form=form, **chosen) for form in ("paper", "draw")]
        modules.append(OURS["RNN"](H, H, **chosen))
        *lstms, ours = [(m, lambda x, m=m: m(x)[0]) for m in modules]
        bare = nn.RNN(H, H)
        results["LSTM", label("compiled")] = lstms
        results["RNN", label("compiled")] = [ours, (bare, partial(norm_free_rnn, bare))]
    return results


def norms_alone(shape: Shape) -> list[dict[str, Any]]:
    """Return the rows for the cost of the norms on a CPU: each loop with and without norms."""
    T, B, H, _ = shape
    x, result = torch.randn(T, B, H), []
    calls = {k: [passes_of(x, *pair) for pair in pairs] for k, pairs in with_and_without(H).items()}
    for which in PASSES:
        turn = {(k, i): calls[k][i][which] for k in calls for i in range(2)}
        ms = medians(turn, SECONDS, min_calls=3)
        for kind, path in calls:
            compiled_lstm = (kind, path) == ("LSTM", label("compiled"))
            left = "the cell's norm alone" if compiled_lstm else "no norm"
            result.append(
                row(
                    f"norms of an {kind}, {which}",
                    text(shape),
                    path,
                    ms[(kind, path), 0],
                    instead=(f"the same loop, {left}", ms[(kind, path), 1]),
                )
            )
    return result


def peak(path: str, device: str) -> float:
    """Return the peak memory of an LSTM's forward and backward pass in this process, in MiB."""
    T, B, H, inputs = SHAPES[0]
    x = torch.randn(T, B, inputs, device=device)
    passes("LSTM", path, x[:2].clone(), H)[PASSES[1]]()  # one-time memory of libraries
    call = passes("LSTM", path, x, H)[PASSES[1]]
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak to the current memory
    before = _memory("VmRSS")
    call()
    return (_memory("VmHWM") - before) / 2**10


def _memory(field: str) -> int:
    """Return a field of ``/proc/self/status`` in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def memory(measured_rows: list[dict[str, Any]], device: str) -> None:
    """Add the peak memory to the rows for which it was measured."""
    if device == "cpu" and not Path("/proc/self/clear_refs").exists():
        return  # only Linux reports it
    taken = {}
    for name in ["torch", CALLED, *paths("LSTM", device)]:
        code = f"from bench import rnn; print(rnn.peak({name!r}, {device!r}))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        taken[label(name)] = json.loads(run.stdout)
    # The new processes use as many threads as this one.
    measured = (f"LN-LSTM {PASSES[1]}", text(SHAPES[0]), torch.get_num_threads())
    for r in measured_rows:
        if (r["what"], r["shape"], r["threads"]) == measured:
            r["peak_mib"] = round(taken[r["path"]], 1)
            r["instead_peak_mib"] = round(taken["torch"], 1)


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device: the modules at all shapes, all paths at some."""
    results = []
    own = torch.get_num_threads()
    counts = (own,) if device == "cuda" else sorted({*THREADS, MANY, own})
    for kind, count in itertools.product(OURS, counts):
        for i, shape in enumerate(SHAPES):
            compared = count == own and i in COMPARED[kind]
            names = [CALLED, *(paths(kind, device) if compared else [])]
            with threads(count), threadpool_limits(count, "blas"):
                results += speed(kind, shape, names, device)
    if device == "cpu":
        for i in COMPARED["LSTM"]:
            results += norms_alone(SHAPES[i])
    memory(results, device)
    return results
