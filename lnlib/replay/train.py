"""The one training loop: it measures as it goes, checkpoints each epoch and resumes from there."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn


class Experiment(Protocol):
    """What the loop needs to know of an experiment."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    updates_per_epoch: int
    settings: dict[str, Any]  # everything that was chosen, JSON values alone
    seed: int

    def batches(self, epoch: int) -> Iterator[Any]:
        """Yield the epoch's batches in an order that depends on the seed and the epoch alone."""

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean negative log likelihood of one batch, in nats."""

    def measure(self) -> dict[str, float]:
        """Measure the model as it is at test time."""


class Diverged(RuntimeError):
    """The loss stopped being a number."""


def resolve_device(name: str) -> torch.device:
    """Turn ``auto`` into the GPU where there is one, and refuse a device that is not there.

    Raises:
        ValueError: If the device is unknown or not available on this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} was asked for, but PyTorch sees no GPU; use auto or cpu")
    return device


def measuring_points(updates_per_epoch: int, points: int) -> list[int]:
    """Return after which updates of the first epoch to measure: dense at the start, its end last.

    Point k of K comes after the fraction (k / K)^2 of the epoch.
    """
    if points < 1:
        raise ValueError(f"measuring_points: points must be at least 1, got {points}")
    return sorted(
        {max(1, round(updates_per_epoch * (k / points) ** 2)) for k in range(1, points + 1)}
    )


def train(
    experiment: Experiment,
    *,
    epochs: int,
    first_epoch_points: int = 20,
    checkpoint: Path | None = None,
    on_update: Callable[[int], None] | None = None,
) -> Iterator[dict[str, float]]:
    """Train, and yield what is measured: before the first update, within epoch 1, after each epoch.

    With ``checkpoint`` the state is saved after each epoch, in one atomic step. A call that finds
    the file goes on from there: it first yields what had been measured, then continues, and the
    whole is the curve of an unbroken run, bit for bit on one CPU and number of threads.

    Args:
        experiment: Model, optimizer, batches and measures.
        epochs: How many passes in all, counted from the very start.
        first_epoch_points: How often to measure within the first epoch.
        checkpoint: The file to resume from and save to. ``None`` keeps nothing.
        on_update: Called with the number of updates since its last call.

    Yields:
        ``epoch`` (a fraction within the first), ``batch_nll`` (mean training loss since the last
        point, as the optimizer saw it; NaN at the start), ``wall_s`` (seconds spent, resumed
        parts included) and what ``experiment.measure()`` returns.

    Raises:
        Diverged: If the loss is no longer finite.
        ValueError: If the checkpoint belongs to other settings or cannot be read.
    """
    experiment.model.train()
    points, done, wall = [], 0, 0.0
    if checkpoint is not None and checkpoint.exists():
        points, done, wall = _load(checkpoint, experiment)
        if on_update:
            on_update(done * experiment.updates_per_epoch)
    yield from points
    clock = time.perf_counter()

    def point(epoch: float, batch_nll: float) -> dict[str, float]:
        experiment.model.eval()
        with torch.inference_mode():
            measured = experiment.measure()
        experiment.model.train()
        points.append(
            {"epoch": epoch, "batch_nll": batch_nll, "wall_s": wall + time.perf_counter() - clock}
            | measured
        )
        return points[-1]

    if not points:
        yield point(0.0, math.nan)
    per_epoch = experiment.updates_per_epoch
    for epoch in range(done, epochs):
        stops = measuring_points(per_epoch, first_epoch_points) if epoch == 0 else [per_epoch]
        total, since, last_seen = None, 0, 0
        for update, batch in enumerate(experiment.batches(epoch), start=1):
            loss = experiment.loss(batch)
            # Zeroed where they lie: gradients may be views of one tensor.
            experiment.optimizer.zero_grad(set_to_none=False)
            loss.backward()
            experiment.optimizer.step()
            # Summed where it lies: reading a number here would stop a GPU at every update.
            total, since = loss.detach().double() + (0 if total is None else total), since + 1
            if on_update and (update - last_seen >= 50 or update == per_epoch):
                on_update(update - last_seen)
                last_seen = update
            if update in stops:
                batch_nll = float(total) / since
                if not math.isfinite(batch_nll):
                    raise Diverged(
                        f"the training loss is {batch_nll} after update {update} of epoch "
                        f"{epoch + 1}; a smaller learning rate is the likely cure"
                    )
                total, since = None, 0
                measured = point(epoch + update / per_epoch, batch_nll)
                if update == per_epoch and checkpoint is not None:
                    _save(checkpoint, experiment, points, epoch + 1, points[-1]["wall_s"])
                yield measured


def _save(path: Path, experiment: Experiment, points: list, done: int, wall: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    torch.save(
        {
            "settings": _identity(experiment),
            "model": experiment.model.state_dict(),
            "optimizer": experiment.optimizer.state_dict(),
            "points": points,
            "done": done,
            "wall_s": wall,
        },
        partial,
    )
    os.replace(partial, path)


def _load(path: Path, experiment: Experiment) -> tuple[list[dict[str, float]], int, float]:
    device = next(experiment.model.parameters()).device
    try:
        state = torch.load(path, map_location=device, weights_only=True)
        settings = state["settings"]
    except Exception as error:  # a torn or foreign file can fail in a dozen ways
        raise ValueError(
            f"the checkpoint {path} cannot be read ({type(error).__name__}); "
            "delete it to start this run over"
        ) from error
    if settings != _identity(experiment):
        raise ValueError(
            f"the checkpoint {path} belongs to other settings: {settings}, "
            f"not {_identity(experiment)}; delete it or choose another folder"
        )
    experiment.model.load_state_dict(state["model"])
    experiment.optimizer.load_state_dict(state["optimizer"])
    return state["points"], state["done"], state["wall_s"]


def _identity(experiment: Experiment) -> dict[str, Any]:
    # The number of epochs is how far to go, not what is trained: a longer run may go on.
    chosen = {k: v for k, v in experiment.settings.items() if k != "epochs"}
    return chosen | {"seed": experiment.seed}
