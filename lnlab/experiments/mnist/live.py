"""Runs that a reader starts: networks that train side by side, and the time of an update here."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from lnlab.datasets import Dataset, load
from lnlab.experiments.mnist import HIDDEN, steps
from lnlab.experiments.mnist import run as mnist
from lnlab.records import device_name
from lnlab.training import resolve_device, train_together

EPOCHS = 3
#: Defaults of a live run on a CPU, which should end within a minute; a GPU trains the paper's
#: network.
SMALL = {"data": "digits", "hidden": (100, 100)}


def devices() -> dict[str, str]:
    """Return the devices of this machine, as a mapping from display name to PyTorch name.

    Example:
        >>> list(devices().values())[-1]
        'cpu'
    """
    gpus = range(torch.cuda.device_count())
    results = {f"{device_name(f'cuda:{i}')} ({i})": f"cuda:{i}" for i in gpus}
    return results | {"the processor": "cpu"}


def train_norms(
    norms: Sequence[str],
    seeds: int = 1,
    batch_size: int = 4,
    device: str = "auto",
    *,
    epochs: int = EPOCHS,
    learning_rate: float = 1e-3,
) -> Iterator[dict[str, list[dict[str, float]]]]:
    """Train networks in lockstep, one for each norm and seed, and yield their results.

    Runs with the same seed have the same initial weights and the same order of examples. On a GPU,
    this is section 6.6's network on MNIST; on a CPU, it is a small one on digits, which takes less
    than a minute.

    Args:
        norms: For example ``("layer", "batch", "none")``.
        seeds: Number of seeds, which are counted from 0.
        batch_size: Number of examples per update.
        device: As for :func:`lnlab.runner.record_runs`.
        epochs: Number of passes over the training examples.
        learning_rate: Learning rate of Adam.

    Yields:
        A mapping from norm to one point of :func:`lnlab.training.train` for each seed, all at the
        same epoch.
    """
    resolved = resolve_device(device)
    task = {} if resolved.type == "cuda" else SMALL
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
        (norm, seed): mnist.MNISTRun(settings, data, seed=seed, device=resolved)
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
    hidden: tuple[int, ...] = HIDDEN["mnist"],
) -> Iterator[dict[str, float]]:
    """Time an update of section 6.6's network with every implementation that works here.

    The implementations take turns, so that other load on the machine affects all of them. The
    images are random, because their content does not affect the time.

    Args:
        norm: As in :class:`lnlab.experiments.mnist.run.Settings`.
        batch_size: Number of examples per update.
        device: As for :func:`train_norms`.
        rounds: Number of turns of each implementation.
        updates: Number of updates per turn.
        hidden: Widths of the hidden layers.

    Yields:
        After each round, a mapping from the name of an implementation to the median time of an
        update over its turns, in milliseconds, and ``floor``: the time of one pass that reads and
        writes as many numbers as there are parameters and moments of Adam, as every update must.
    """
    resolved = resolve_device(device)
    rng = np.random.default_rng(0)
    x = rng.random((updates * batch_size, 784), dtype=np.float32)  # a turn is an epoch
    y = rng.integers(0, 10, len(x))
    random_images = Dataset("made-up images", x, y, x[:1], y[:1], "")
    settings = mnist.Settings(norm=norm, batch_size=batch_size, hidden=hidden)
    runs = {}
    for name in steps.NAMES:
        try:
            runs[name] = mnist.MNISTRun(settings, random_images, device=resolved, step=name)
        except ValueError:  # not on this device, or no compiler
            continue
    size = sum(p.numel() for p in runs["plain"].model.parameters())
    numbers = torch.ones(3 * size, device=resolved)
    turns: dict[str, list[float]] = {name: [] for name in (*runs, "floor")}
    for turn in range(1 + rounds):
        for name, replay in runs.items():
            replay.model.train()
            turns[name].append(_time(resolved, updates, _epoch, replay, turn))
        turns["floor"].append(_time(resolved, updates, _rewrite, numbers, updates))
        if turn > 0:  # the first one includes the setup
            yield {name: statistics.median(taken[1:]) for name, taken in turns.items()}


def _epoch(replay: mnist.MNISTRun, epoch: int) -> None:
    for _ in replay.advance(epoch, 0, replay.updates_per_epoch):
        pass


def _rewrite(numbers: torch.Tensor, times: int) -> None:
    for _ in range(times):
        numbers.mul_(1.0)


def _time(resolved: torch.device, parts: int, call: Callable[..., object], *args: object) -> float:
    """Return the time of one of a call's equal parts in ms, after the GPU, if any, has finished."""
    clock = time.perf_counter()
    call(*args)
    if resolved.type == "cuda":
        torch.cuda.synchronize(resolved)
    return 1e3 * (time.perf_counter() - clock) / parts
