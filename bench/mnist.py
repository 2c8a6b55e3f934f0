"""A training step of section 6.6's network: the plain loop, and what takes its place.

The cases are drawn, so that nothing has to be downloaded: a pixel at distance r from the middle is
on with probability 0.6 exp(-(r/7.4)^3), close to MNIST's own law, where many pixels are hardly
ever on. That matters: the weights of such a pixel get no gradient, Adam's first moment of them
decays into denormal numbers, and processors are slow with those. So the step is measured from the
start, and once more after 2,000 updates, in a process of its own. The floor is a pass that reads
and writes as many numbers as the parameters and both moments are: what Adam has to do, in the
fastest of several ways, measured in turn with the steps.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.table import medians, row
from lnlab.datasets import Dataset
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist.steps import NAMES, choose

NORMS = ("none", "layer", "batch")
BATCHES = (4, 128)
UPDATES = 2000
# Updates within one measurement.
BLOCK = {("cpu", 4): 20, ("cpu", 128): 3, ("cuda", 4): 500, ("cuda", 128): 50}
CASES = 10_000


def cases() -> Dataset:
    """Draw cases of MNIST's shape and sparsity."""
    rng = np.random.default_rng(0)
    r = np.hypot(*(np.mgrid[:28, :28] - 13.5)).ravel()
    on = rng.random((CASES, 784), dtype=np.float32) < 0.6 * np.exp(-((r / 7.4) ** 3))
    x = (on * rng.random((CASES, 784), dtype=np.float32)).astype(np.float32)
    y = rng.integers(10, size=CASES)
    return Dataset("mnist", x, y, x[:100], y[:100], sha256="0" * 64)


def stepper(norm: str, batch_size: int, step: str, data: Dataset, device: str) -> Callable:
    """Return a call that makes ``BLOCK[device, batch_size]`` updates."""
    settings = mnist.Settings(norm=norm, batch_size=batch_size, train_cases=CASES)
    run = mnist.Run(settings, data, seed=0, device=device, step=step)
    updates = BLOCK[device, batch_size]
    epoch = first = 0

    def call() -> None:
        nonlocal epoch, first
        if first + updates > run.updates_per_epoch:
            epoch, first = epoch + 1, 0
        for _ in run.advance(epoch, first, first + updates):
            pass
        first += updates

    return call


def available_steps(device: str) -> list[str]:
    """Return the steps that this machine has; the plain one first."""
    results = []
    for step in NAMES:
        try:
            results.append(choose(step, 4, torch.device(device)))
        except ValueError:  # not on this device, or no compiler
            continue
    return results


def floors(device: str, updates: int) -> list[Callable]:
    """Return passes over as many numbers as the parameters and both moments are.

    Args:
        device: Where.
        updates: How many passes a call makes.
    """
    network = mnist.network(mnist.Settings(norm="none"), 784, 10, generator=torch.Generator())
    count = sum(p.numel() for p in network.parameters())
    numbers = torch.ones(3 * count, device=device)
    first_half, second_half = numbers.split(-(-count * 3 // 2))

    def in_place() -> None:
        for _ in range(updates):
            numbers.mul_(1.0)

    def to_and_fro() -> None:
        for _ in range(updates):
            first_half[: len(second_half)].copy_(second_half)
            second_half.copy_(first_half[: len(second_half)])

    def in_numpy() -> None:
        for _ in range(updates):
            np.multiply(array, 1, out=array)

    if device != "cpu":
        return [in_place, to_and_fro]
    array = numbers.numpy()
    return [in_place, to_and_fro, in_numpy]


def late(norm: str, step: str, flush: bool) -> tuple[float, float]:
    """Return ms a step of 4 cases after 2,000 updates, and of its floor.

    To be called in a process that has done nothing else.

    Args:
        norm: Of the network.
        step: Which step.
        flush: Take denormal numbers for 0; threads inherit it, so it has to be said first.
    """
    torch.set_flush_denormal(flush)
    call, block = stepper(norm, 4, step, cases(), "cpu"), BLOCK["cpu", 4]
    for _ in range(UPDATES // block):
        call()
    ms = medians({"step": call}, 0.0, least=10, floors=floors("cpu", block))
    return ms["step"] / block, ms["floor"] / block


def _late(norm: str, step: str, flush: bool = False) -> tuple[float, float]:
    code = f"from bench import mnist; print(list(mnist.late({norm!r}, {step!r}, {flush})))"
    folder = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=folder)
    return json.loads(run.stdout)


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device."""
    data = cases()
    steps, result = available_steps(device), []
    below = "θ and moments, rewritten"
    for batch_size in BATCHES:
        block = BLOCK[device, batch_size]
        pairs = list(itertools.product(NORMS, steps))  # all in turn: the norms are compared, too
        calls = {p: stepper(p[0], batch_size, p[1], data, device) for p in pairs}
        ms = medians(calls, 6.0, device, floors=floors(device, block))
        ms = {p: t / block for p, t in ms.items()}
        for norm, step in pairs:
            result.append(
                row(
                    f"MNIST step, {norm}",
                    f"batch size {batch_size}",
                    step,
                    ms[norm, step],
                    instead=None if step == "plain" else ("plain", ms[norm, "plain"]),
                    floor=(below, ms["floor"]),
                    device=device,
                )
            )
    if device != "cpu":
        return result
    flushed, _ = _late("layer", "plain", flush=True)
    for step in steps:
        ms, floor = _late("layer", step)
        result.append(
            row(
                "MNIST step 2,000, layer",
                "batch size 4",
                step,
                ms,
                instead=("plain, denormals as 0", flushed),
                floor=(below, floor),
            )
        )
    return result
