"""The one training loop: it measures as it goes, saves checkpoints and resumes from them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lnlab import checkpoint as checkpoints
from lnlab import messages
from lnlab.checkpoint import BadCheckpoint, Progress
from lnlab.run import Run

CHECKPOINT_S = 600.0  # seconds after which a checkpoint is saved within an epoch, too
Point = dict[str, Any]  # what is measured at one time: numbers, and arrays


class Diverged(RuntimeError):
    """The loss stopped being a number."""


def resolve_device(name: str) -> torch.device:
    """Turn ``auto`` into the GPU where there is one, and refuse a device that is not there.

    Raises:
        ValueError: If the device is unknown or not available on this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    known = re.fullmatch(r"cpu|cuda(?::(0|[1-9]\d?))?", name)
    if known is None:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}")
    if name != "cpu":
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(known[1] or 0) >= gpus:
            raise ValueError(
                f"device {name!r} was asked for, but PyTorch sees {gpus or 'no'} "
                f"GPU{'s' * (gpus > 1)}; use auto or cpu"
            )
    return torch.device(name)


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
    run: Run,
    *,
    epochs: int,
    first_epoch_points: int = 20,
    checkpoint: Path | None = None,
    again: bool = False,
    on_update: Callable[[int], None] | None = None,
    on_resume: Callable[[int], None] | None = None,
) -> Iterator[Point]:
    """Train, and yield what is measured: before the first update, within epoch 1, after each epoch.

    With ``checkpoint`` the state is saved after each epoch, and within an epoch when the last time
    was ten minutes ago, in one atomic step. A call that finds the file goes on from there: it first
    yields what had been measured, then continues, and the whole is the curve of an unbroken run,
    bit for bit on one CPU and number of threads. A checksum of its content is verified before
    anything of it is used.

    Args:
        run: Model, optimizer, batches and measures.
        epochs: How many passes in all, counted from the very start.
        first_epoch_points: How often to measure within the first epoch.
        checkpoint: The file to resume from and save to. ``None`` keeps nothing.
        again: Drop a checkpoint that this run cannot go on from, and start over.
        on_update: Called with the number of updates since its last call.
        on_resume: Called once with the number of updates that a checkpoint brings, if it does.

    Yields:
        ``epoch`` (a fraction within the first), the mean training loss since the last point, as
        the optimizer saw it, under the experiment's own name (NaN at the start), ``wall_s``
        (seconds spent, resumed parts included) and what ``run.measure()`` returns.

    Raises:
        Diverged: If the loss is no longer finite, and ``run.explodes`` is not set.
        BadCheckpoint: If the checkpoint is damaged, lacks a part, belongs to other settings or
            another seed, or is past the end that is to be measured, and ``again`` is not given.
        OSError: If it cannot be written, as where the disk is full.
    """
    run.model.train()
    at = Progress()
    per_epoch = run.updates_per_epoch
    if checkpoint is not None:
        _ = run.conditions  # taken before hours go by
    if checkpoint is not None and checkpoint.exists():
        try:
            at = checkpoints.load(checkpoint, run, epochs)
        except BadCheckpoint as error:
            if not again:
                raise BadCheckpoint(f"{error}; add --again to start this run over") from error
            messages.tell(f"{error}; this run starts over")
            checkpoint.unlink()
        if on_resume and (done := at.epochs * per_epoch + at.updates):
            on_resume(min(done, epochs * per_epoch))
        if at.epochs and not at.updates and run.measures_end:  # it was to reach another end
            run.at_end = at.epochs == epochs
            at.points[-1] |= _measure(run)
    yield from [point for point in at.points if point["epoch"] <= epochs]  # it may be further
    clock, wall, saved = time.perf_counter(), at.wall_s, time.monotonic()

    def point(epoch: float, loss: float) -> Point:
        measured = _measure(run)
        # Before the first update NaN says that there is nothing to average yet.
        wrong = _wrong(measured, measured if at.points else (), run.unmeasured)
        if wrong and not run.explodes:
            raise Diverged(
                f"after {epoch:.4g} epochs {wrong}; a smaller learning rate is the likely cure"
            )
        at.wall_s = wall + time.perf_counter() - clock
        new = {"epoch": epoch, run.experiment.loss[0]: loss, "wall_s": at.wall_s} | measured
        at.points.append(new)
        return new

    if not at.points:
        yield point(0.0, math.nan)
    for epoch in range(at.epochs, epochs):
        stops = measuring_points(per_epoch, first_epoch_points) if epoch == 0 else [per_epoch]
        for last in (stop for stop in stops if stop > at.updates):
            for count, losses in run.advance(epoch, at.updates, last):
                at.updates += count
                at.loss_sum = losses + at.loss_sum
                at.loss_count += count
                if on_update:
                    on_update(count)
                due = checkpoint is not None and time.monotonic() - saved >= CHECKPOINT_S
                if due and at.updates < last:
                    at.wall_s = wall + time.perf_counter() - clock
                    checkpoints.save(checkpoint, run, at)
                    saved = time.monotonic()
            loss = float(at.loss_sum) / at.loss_count
            if not (math.isfinite(loss) or run.explodes):
                raise Diverged(
                    f"the training loss is {loss} after update {last} of epoch "
                    f"{epoch + 1}; a smaller learning rate is the likely cure"
                )
            run.at_end = (epoch + 1, last) == (epochs, per_epoch)
            measured = point(epoch + last / per_epoch, loss)
            at.loss_sum, at.loss_count = 0.0, 0
            if last == per_epoch:
                at.epochs, at.updates = epoch + 1, 0
                if checkpoint is not None:
                    checkpoints.save(checkpoint, run, at)
                    saved = time.monotonic()
            yield measured


def _measure(run: Run) -> Point:
    """Return what a run measures, as numbers and NumPy arrays that the experiment speaks of."""
    run.model.eval()
    with torch.inference_mode():
        measured = run.measure()
    run.model.train()
    if strange := [name for name in measured if run.experiment.unit(name) is None]:
        raise TypeError(
            f"experiment {run.experiment.name}: what is measured must be among its measures and "
            f"arrays, got {', '.join(strange)}"
        )
    return {name: _plain(value) for name, value in measured.items()}


def _plain(value: Any) -> float | np.ndarray:
    value = value.cpu().numpy() if isinstance(value, torch.Tensor) else value
    return np.array(value) if np.ndim(value) else float(value)


def _wrong(measured: Point, strict: Container[str], unmeasured: Container[str]) -> str:
    """Say which measures are not finite; NaN may stand for "not measured"."""
    wrong = []
    for name, value in measured.items():
        may_be_nan = name not in strict or name in unmeasured
        bad = np.isinf(value) if may_be_nan else ~np.isfinite(value)
        if np.any(bad):
            wrong.append(f"{name} is {np.asarray(value)[np.asarray(bad)].flat[0]}")
    return ", ".join(wrong)


def train_together(runs: Mapping[Any, Run]) -> Iterator[dict[Any, Point]]:
    """Train side by side and yield where all stand, from name to a point of :func:`train`."""
    loops = [
        train(
            run,
            epochs=run.settings.epochs,
            first_epoch_points=run.settings.first_epoch_points,
        )
        for run in runs.values()
    ]
    for points in zip(*loops, strict=True):
        yield dict(zip(runs, points, strict=True))
