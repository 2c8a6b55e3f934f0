"""A training step of the network of section 6.6: the plain loop compared with faster ones.

The data are random, so that nothing has to be downloaded: a pixel at distance r from the center is
nonzero with probability 0.6 exp(-(r/7.4)^3), similar to MNIST, where many pixels are almost always
0. That matters: the weights of such a pixel get no gradient, so that Adam's first moment decays to
denormal numbers, with which processors are slow. So the step is measured at initialization and, in
a separate process, after 2,000 updates. The floor is the time to read and write as many numbers as
the parameters and both moments have, as Adam must; it is that of the fastest of several ways.
"""

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
BATCH_SIZES = (4, 128)
UPDATES = 2000
# Updates per call, by device and batch size.
UPDATES_PER_CALL = {("cpu", 4): 20, ("cpu", 128): 3, ("cuda", 4): 500, ("cuda", 128): 50}
NUM_EXAMPLES = 10_000


def random_data() -> Dataset:
    """Return random data with the shape and the sparsity of MNIST."""
    rng = np.random.default_rng(0)
    r = np.hypot(*(np.mgrid[:28, :28] - 13.5)).ravel()
    shape = (NUM_EXAMPLES, 784)
    is_nonzero = rng.random(shape, dtype=np.float32) < 0.6 * np.exp(-((r / 7.4) ** 3))
    x = (is_nonzero * rng.random(shape, dtype=np.float32)).astype(np.float32)
    y = rng.integers(10, size=NUM_EXAMPLES)
    return Dataset("mnist", x, y, x[:100], y[:100], sha256="0" * 64)


def stepper(norm: str, batch_size: int, step: str, data: Dataset, device: str) -> Callable:
    """Return a function that makes ``UPDATES_PER_CALL[device, batch_size]`` updates."""
    settings = mnist.Settings(norm=norm, batch_size=batch_size, train_examples=NUM_EXAMPLES)
    run = mnist.MNISTRun(settings, data, seed=0, device=device, step=step)
    updates = UPDATES_PER_CALL[device, batch_size]
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
    """Return the names of the steps that are available on a device, the plain one first."""
    results = []
    for step in NAMES:
        try:
            results.append(choose(step, 4, torch.device(device)))
        except ValueError:  # not for this device, or no compiler
            continue
    return results


def floors(device: str, updates: int) -> list[Callable]:
    """Return functions that read and write as many numbers as parameters and both moments have.

    Args:
        device: Device of the numbers.
        updates: Number of passes per call.
    """
    network = mnist.network(mnist.Settings(norm="none"), 784, 10, generator=torch.Generator())
    count = sum(p.numel() for p in network.parameters())
    numbers = torch.ones(3 * count, device=device)
    first_half, second_half = numbers.split((3 * count + 1) // 2)

    def in_place() -> None:
        for _ in range(updates):
            numbers.mul_(1.0)

    def copy_halves() -> None:
        for _ in range(updates):
            first_half[: len(second_half)].copy_(second_half)
            second_half.copy_(first_half[: len(second_half)])

    def in_numpy() -> None:
        for _ in range(updates):
            np.multiply(array, 1, out=array)

    if device != "cpu":
        return [in_place, copy_halves]
    array = numbers.numpy()
    return [in_place, copy_halves, in_numpy]


def late_step_ms(norm: str, step: str, flush_denormal: bool) -> tuple[float, float]:
    """Return the ms of a step with batch size 4 after 2,000 updates, and of its floor.

    Call it in a new process.

    Args:
        norm: Norm of the network.
        step: Name of the step.
        flush_denormal: Replace denormal numbers by 0. Threads inherit this, so it is set first.
    """
    torch.set_flush_denormal(flush_denormal)
    call, updates = stepper(norm, 4, step, random_data(), "cpu"), UPDATES_PER_CALL["cpu", 4]
    for _ in range(UPDATES // updates):
        call()
    ms = medians({"step": call}, 0.0, min_calls=10, floors=floors("cpu", updates))
    return ms["step"] / updates, ms["floor"] / updates


def late_step_ms_in_new_process(
    norm: str, step: str, flush_denormal: bool = False
) -> tuple[float, float]:
    """Return the result of :func:`late_step_ms` in a new process."""
    call = f"mnist.late_step_ms({norm!r}, {step!r}, {flush_denormal})"
    code = f"from bench import mnist; print(list({call}))"
    folder = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=folder)
    return json.loads(run.stdout)


def rows(device: str) -> list[dict[str, Any]]:
    """Return the rows of one device."""
    data = random_data()
    steps, results = available_steps(device), []
    floor_name = "θ and moments, rewritten"
    for batch_size in BATCH_SIZES:
        updates = UPDATES_PER_CALL[device, batch_size]
        calls = {
            (norm, step): stepper(norm, batch_size, step, data, device)
            for norm, step in itertools.product(NORMS, steps)
        }
        ms = medians(calls, 6.0, device, floors=floors(device, updates))
        ms = {name: call_ms / updates for name, call_ms in ms.items()}
        for norm, step in calls:
            results.append(
                row(
                    f"MNIST step, {norm}",
                    f"batch size {batch_size}",
                    step,
                    ms[norm, step],
                    instead=None if step == "plain" else ("plain", ms[norm, "plain"]),
                    floor=(floor_name, ms["floor"]),
                    device=device,
                )
            )
    if device != "cpu":
        return results
    flushed_ms, _ = late_step_ms_in_new_process("layer", "plain", flush_denormal=True)
    for step in steps:
        step_ms, floor_ms = late_step_ms_in_new_process("layer", step)
        results.append(
            row(
                "MNIST step 2,000, layer",
                "batch size 4",
                step,
                step_ms,
                instead=("plain, denormals as 0", flushed_ms),
                floor=(floor_name, floor_ms),
            )
        )
    return results
