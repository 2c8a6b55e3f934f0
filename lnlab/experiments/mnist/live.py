"""What a reader starts: norms and seeds that train side by side, and the time of a step here."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from lnlab.datasets import Dataset, load
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist import steps
from lnlab.records import device_name
from lnlab.training import resolve_device, train_together

EPOCHS = 3
#: Of the race on a CPU, where it is to end within a minute; a GPU trains the paper's network.
SMALL = {"data": "digits", "hidden": (100, 100)}


def devices() -> dict[str, str]:
    """Return the devices of this machine, from what a person calls them to PyTorch's name.

    Example:
        >>> list(devices().values())[-1]
        'cpu'
    """
    gpus = range(torch.cuda.device_count())
    results = {f"{device_name(f'cuda:{i}')} ({i})": f"cuda:{i}" for i in gpus}
    return results | {"the processor": "cpu"}


def race(
    norms: Sequence[str],
    seeds: int = 1,
    batch_size: int = 4,
    device: str = "auto",
    *,
    epochs: int = EPOCHS,
    learning_rate: float = 1e-3,
) -> Iterator[dict[str, list[dict[str, float]]]]:
    """Train networks side by side, one for each norm and seed, and yield where they stand.

    Runs of one seed share the weights they start from and the order of the cases. On a GPU it is
    section 6.6's network on MNIST; on a CPU a small one on digits, which ends within a minute.

    Args:
        norms: For example ``("layer", "batch", "none")``.
        seeds: How many, from 0 on.
        batch_size: Cases a step.
        device: As for :func:`lnlab.runner.record_runs`.
        epochs: Passes over the training cases.
        learning_rate: Adam's learning rate.

    Yields:
        From norm to one point of :func:`lnlab.training.train` for each seed, all at one epoch.
    """
    where = resolve_device(device)
    task = {} if where.type == "cuda" else SMALL
    data = load(task.get("data", "mnist"))
    chosen = {
        norm: mnist.Settings(
            norm=norm,
            batch_size=batch_size,
            epochs=epochs,
            learning_rate=learning_rate,
            first_epoch_points=6,
            **task,
        )
        for norm in norms
    }
    replays = {
        (norm, seed): mnist.Run(settings, data, seed=seed, device=where)
        for norm, settings in chosen.items()
        for seed in range(seeds)
    }
    for points in train_together(replays):
        yield {norm: [points[norm, seed] for seed in range(seeds)] for norm in norms}


def time_steps(
    norm: str = "layer",
    batch_size: int = 4,
    device: str = "auto",
    *,
    rounds: int = 8,
    updates: int = 20,
    hidden: tuple[int, ...] = mnist.HIDDEN["mnist"],
) -> Iterator[dict[str, float]]:
    """Time a step of section 6.6's network in every way that this machine has.

    The ways take turns, so that what else the machine does hits all of them. The images are made
    up: what they show takes no time.

    Args:
        norm: As in :class:`lnlab.experiments.mnist.run.Settings`.
        batch_size: Cases a step.
        device: As for :func:`race`.
        rounds: Turns for each way.
        updates: Steps in a turn.
        hidden: Widths of the hidden layers.

    Yields:
        After each round, from a way's name to the median of its turns in milliseconds a step, and
        ``floor``: one pass that reads and writes as many numbers as there are parameters and
        moments of Adam, as every step must.
    """
    where = resolve_device(device)
    rng = np.random.default_rng(0)
    x = rng.random((updates * batch_size, 784), dtype=np.float32)  # a turn is an epoch
    y = rng.integers(0, 10, len(x))
    made_up = Dataset("made-up images", x, y, x[:1], y[:1], "")
    settings = mnist.Settings(norm=norm, batch_size=batch_size, hidden=hidden)
    ways = {}
    for name in steps.NAMES:
        try:
            ways[name] = mnist.Run(settings, made_up, device=where, step=name)
        except ValueError:  # not on this device, or no compiler
            continue
    size = sum(p.numel() for p in ways["plain"].model.parameters())
    numbers = torch.ones(3 * size, device=where)
    turns: dict[str, list[float]] = {name: [] for name in (*ways, "floor")}
    for turn in range(1 + rounds):
        for name, replay in ways.items():
            replay.model.train()
            turns[name].append(_time(where, updates, _epoch, replay, turn))
        turns["floor"].append(_time(where, updates, _rewrite, numbers, updates))
        if turn > 0:  # the first one sets up what the others find
            yield {name: statistics.median(taken[1:]) for name, taken in turns.items()}


def _epoch(replay: mnist.Run, epoch: int) -> None:
    for _ in replay.advance(epoch, 0, replay.updates_per_epoch):
        pass


def _rewrite(numbers: torch.Tensor, times: int) -> None:
    for _ in range(times):
        numbers.mul_(1.0)


def _time(where: torch.device, parts: int, call: Callable[..., object], *args: object) -> float:
    """Milliseconds of one of a call's equal parts; a GPU has finished when the clock is read."""
    clock = time.perf_counter()
    call(*args)
    if where.type == "cuda":
        torch.cuda.synchronize(where)
    return 1e3 * (time.perf_counter() - clock) / parts
