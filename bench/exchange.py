"""Communication of batch norm between two processes, which layer norm does not need.

Each of two processes, connected by gloo, has half of the batch. The statistics of batch norm are
those of the whole batch, exchanged as in ``torch.nn.SyncBatchNorm`` (which needs GPUs): in the
forward pass, each process gathers mean, 1/std and count of the others; in the backward pass, two
sums are added. Layer norm's statistics only depend on the example. First, the results are checked:
in float64, with halves of unequal size, all outputs and gradients must equal those of one process
with the whole batch.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from bench.table import milliseconds, row, threads

PROCESSES = 2
CASES = 64  # examples per process, 128 in total
WIDTHS = (100, 1000, 10_000)
ROUNDS = 40
LONG = 1_000_000  # numbers in a message whose time depends only on the bandwidth
EPS = 1e-5
PATIENCE = 600  # seconds; a limit against hanging
EXACT = 1e-12


class Synchronized(torch.autograd.Function):
    """Batch norm over the halves of all processes, with the two exchanges of SyncBatchNorm."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, together: bool) -> Tensor:
        """Normalize ``x (cases, H)`` by the statistics of all processes or only its own."""
        mean, var = x.mean(0), x.var(0, unbiased=False)
        own = torch.cat([mean, (var + EPS).rsqrt(), mean.new_tensor([len(x)])])  # 2 H + 1
        gathered = gather(own) if together else own[None]
        means, rstds, counts = gathered.split((x.shape[1], x.shape[1], 1), dim=1)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        # The variance over all examples: the variance within the halves plus that of their means.
        spread = rstds**-2 - EPS + (means - mean) ** 2
        rstd = ((counts * spread).sum(0) / count + EPS).rsqrt()
        ctx.save_for_backward(x, weight, mean, rstd, count)
        ctx.together = together
        return (x - mean) * (rstd * weight) + bias

    @staticmethod
    def backward(ctx, dy: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients; those of the parameters are the contribution of this process."""
        x, weight, mean, rstd, count = ctx.saved_tensors
        centered = x - mean
        sum_dy, sum_dy_xmu = dy.sum(0), (dy * centered).sum(0)
        sums = torch.cat([sum_dy, sum_dy_xmu])  # 2 H
        if ctx.together:
            dist.all_reduce(sums)
        mean_dy, mean_dy_xmu = (sums / count).split(x.shape[1])
        dx = (dy - mean_dy - centered * (rstd**2 * mean_dy_xmu)) * (rstd * weight)
        return dx, sum_dy_xmu * rstd, sum_dy, None


def gather(own: Tensor) -> Tensor:
    """Return the tensors of all processes, one per row."""
    gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    return torch.stack(gathered)


def sent_bytes(width: int, size: int = 4) -> int:
    """Return the number of bytes that a process sends in one forward and backward pass."""
    return ((2 * width + 1) + 2 * width) * size


def error(rank: int) -> float:
    """Return the largest difference from one process with the whole batch, in float64."""
    generator = torch.Generator().manual_seed(0)
    x, dy = torch.randn(2, 8, 6, generator=generator, dtype=torch.float64)
    x = 3 * x + 10
    weight, bias = torch.randn(2, 6, generator=generator, dtype=torch.float64)
    part = (slice(0, 5), slice(5, 8))[rank]

    def run(function: Callable, part: slice) -> list[Tensor]:
        leaves = [t.clone().requires_grad_() for t in (x[part], weight, bias)]
        y = function(*leaves)
        y.backward(dy[part])
        return [y.detach(), *(leaf.grad for leaf in leaves)]

    ours = run(lambda *leaves: Synchronized.apply(*leaves, True), part)
    for gradient in ours[2:]:
        dist.all_reduce(gradient)  # as data-parallel training does for every parameter
    whole = run(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=EPS), slice(None)
    )
    whole[:2] = [t[part] for t in whole[:2]]
    largest = max((a - b).abs().max() for a, b in zip(ours, whole, strict=True))
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    return largest.item()


def calls(width: int) -> dict[str, Callable[[], Any]]:
    """Return the calls that are timed at one width."""
    x = torch.randn(CASES, width).requires_grad_()
    dy, weight, bias = torch.randn(CASES, width), torch.ones(width), torch.zeros(width)
    weight.requires_grad_(), bias.requires_grad_()
    forward, backward = torch.ones(2 * width + 1), torch.ones(2 * width)

    def with_gradient(function: Callable) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(function(), (x, weight, bias), dy)

    def collectives() -> None:
        gather(forward)
        dist.all_reduce(backward)

    return {
        "exchange": with_gradient(lambda: Synchronized.apply(x, weight, bias, True)),
        "alone": with_gradient(lambda: Synchronized.apply(x, weight, bias, False)),
        "layer": with_gradient(lambda: F.layer_norm(x, (width,), weight, bias)),
        "collectives": collectives,
    }


def work(rank: int, folder: Path, rounds: int = ROUNDS) -> dict[str, Any]:
    """Run as one of the processes; return the error and the times in ms."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES
    )
    results: dict[str, Any] = {"error": error(rank)}
    short, long = torch.ones(2), torch.ones(LONG)
    candidates = {("short", 0): lambda: dist.all_reduce(short)}
    candidates[("long", 0)] = lambda: dist.all_reduce(long)
    for width in WIDTHS:
        candidates |= {(name, width): call for name, call in calls(width).items()}
    taken: dict[tuple, list[float]] = {key: [] for key in candidates}
    shuffle = random.Random(0).shuffle  # the same order in every process
    for i in range(rounds + 1):
        turn = list(candidates)
        shuffle(turn)
        for key in turn:
            dist.barrier()
            ms = milliseconds(candidates[key])
            if i:  # the first call includes the connection
                taken[key].append(ms)
    dist.destroy_process_group()
    for (name, width), ms in taken.items():  # floors are minima, all others are medians
        results[f"{name} {width}"] = min(ms) if name == "collectives" else median(ms)
    return results


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Run the processes with one thread each, and return the results of the first."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        command = [sys.executable, "-m", "bench.exchange"]
        group = [
            subprocess.Popen(
                [*command, str(rank), folder, str(rounds)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=env,
                cwd=Path(__file__).parents[1],
            )
            for rank in range(PROCESSES)
        ]
        try:
            texts = [process.communicate(timeout=PATIENCE) for process in group]
        finally:
            for process in group:
                process.kill()
                process.wait()
    for process, (_, complaint) in zip(group, texts, strict=True):
        if process.returncode:
            raise RuntimeError(f"bench.exchange: a process failed: {complaint[-500:]}")
    return json.loads(texts[0][0].splitlines()[-1])


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of two processes on the CPU."""
    if device != "cpu" or not dist.is_available() or not dist.is_gloo_available():
        return []
    ms = measure()
    if ms["error"] > EXACT:
        raise RuntimeError(f"bench.exchange: the halves differ from the whole by {ms['error']}")
    results = []
    with threads(1):
        for width in WIDTHS:
            shape = f"{PROCESSES} × {CASES}×{width}"
            floor = ("the collectives alone", ms[f"collectives {width}"])
            sent = sent_bytes(width)
            results += [
                row(
                    "BatchNorm over 2 processes",
                    shape,
                    "as SyncBatchNorm",
                    ms[f"exchange {width}"],
                    instead=("each half alone", ms[f"alone {width}"]),
                    floor=floor,
                    sent_bytes=sent,
                    error=ms["error"],
                ),
                row(
                    "LayerNorm over 2 processes",
                    shape,
                    "torch.nn.LayerNorm",
                    ms[f"layer {width}"],
                    instead=("BatchNorm as SyncBatchNorm", ms[f"exchange {width}"]),
                    sent_bytes=0,
                ),
            ]
        for name, count in (("short", 2), ("long", LONG)):
            results.append(
                row(
                    "all-reduce over 2 processes",
                    f"{count} numbers",
                    "gloo",
                    ms[f"{name} 0"],
                    sent_bytes=4 * count,
                )
            )
    return results


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(work(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
