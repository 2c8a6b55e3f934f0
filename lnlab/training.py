"""The training loop of all experiments, with measurements and resumable checkpoints."""

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

CHECKPOINT_S = 600.0  # seconds after which a checkpoint is saved also within an epoch
Point = dict[str, Any]  # the measurements at one time, by name: numbers and arrays


class Diverged(RuntimeError):
    """The loss is no longer finite."""


def resolve_device(name: str) -> torch.device:
    """Return the device of this name; ``auto`` is the GPU if there is one, else the CPU.

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
                f"device {name!r} was requested, but PyTorch sees {gpus or 'no'} "
                f"GPU{'s' * (gpus > 1)}; use auto or cpu"
            )
    return torch.device(name)


def measuring_points(updates_per_epoch: int, points: int) -> list[int]:
    """Return the updates of the first epoch after which to measure, denser at the start.

    Point k of K is after the fraction (k / K)^2 of the epoch; the last one is after its end.
    """
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
    """Train, and yield measurements before the first update, within epoch 1 and after each epoch.

    With ``checkpoint``, the state is saved atomically after each epoch, and within an epoch every
    ten minutes. A call that finds the file resumes: it first yields the earlier measurements, then
    continues. The curve equals that of an uninterrupted run, bit for bit on the same CPU and number
    of threads. The checksum of the file is verified before its content is used.

    Args:
        run: The run: model, optimizer, batches and measures.
        epochs: Total number of epochs, including those before a resume.
        first_epoch_points: Number of measurements within the first epoch.
        checkpoint: The file to resume from and save to. ``None`` saves nothing.
        again: Discard a checkpoint that this run cannot resume from, and start over.
        on_update: Called with the number of updates since its last call.
        on_resume: Called once, after a resume, with the number of updates before it.

    Yields:
        ``epoch`` (fractional within the first epoch), the mean training loss since the last point,
        computed before each update, under the name that the experiment gives it (NaN at the start),
        ``wall_s`` (training time in seconds, including that before a resume) and the results of
        ``run.measure()``.

    Raises:
        Diverged: If the loss is no longer finite, and ``run.allow_divergence`` is not set.
        BadCheckpoint: If the checkpoint is damaged, lacks a part, belongs to other settings or
            another seed, or is past an end that must be measured, and ``again`` is not given.
        OSError: If the checkpoint cannot be written, for example because the disk is full.
    """
    run.model.train()
    progress = Progress()
    per_epoch = run.updates_per_epoch
    if checkpoint is not None:
        _ = run.conditions  # cached now, because the code can change during training
    if checkpoint is not None and checkpoint.exists():
        try:
            progress = checkpoints.load(checkpoint, run, epochs)
        except BadCheckpoint as error:
            if not again:
                raise BadCheckpoint(f"{error}; add --again to start this run over") from error
            messages.warn(f"{error}; this run starts over")
            checkpoint.unlink()
        if on_resume and (done := progress.epochs * per_epoch + progress.updates):
            on_resume(min(done, epochs * per_epoch))
        # It may have had more epochs.
        if progress.epochs and not progress.updates and run.measures_at_end:
            run.at_end = progress.epochs == epochs
            progress.points[-1] |= _measure(run)
    # It may be past the end.
    yield from [point for point in progress.points if point["epoch"] <= epochs]
    started, earlier_s, saved = time.perf_counter(), progress.wall_s, time.monotonic()

    def point(epoch: float, loss: float) -> Point:
        measured = _measure(run)
        # Before the first update, any measure may be NaN, for "not measured yet".
        may_be_nan = run.optional_measures if progress.points else measured
        problem = _describe_non_finite(measured, may_be_nan)
        if problem and not run.allow_divergence:
            raise Diverged(f"after {epoch:.4g} epochs {problem}; try a smaller learning rate")
        progress.wall_s = earlier_s + time.perf_counter() - started
        new = {"epoch": epoch, run.experiment.loss[0]: loss, "wall_s": progress.wall_s} | measured
        progress.points.append(new)
        return new

    if not progress.points:
        yield point(0.0, math.nan)
    for epoch in range(progress.epochs, epochs):
        stops = measuring_points(per_epoch, first_epoch_points) if epoch == 0 else [per_epoch]
        for last in (stop for stop in stops if stop > progress.updates):
            for count, losses in run.advance(epoch, progress.updates, last):
                progress.updates += count
                progress.loss_sum = losses + progress.loss_sum
                progress.loss_count += count
                if on_update:
                    on_update(count)
                due = checkpoint is not None and time.monotonic() - saved >= CHECKPOINT_S
                if due and progress.updates < last:
                    progress.wall_s = earlier_s + time.perf_counter() - started
                    checkpoints.save(checkpoint, run, progress)
                    saved = time.monotonic()
            loss = float(progress.loss_sum) / progress.loss_count
            if not (math.isfinite(loss) or run.allow_divergence):
                raise Diverged(
                    f"the training loss is {loss} after update {last} of epoch "
                    f"{epoch + 1}; try a smaller learning rate"
                )
            run.at_end = (epoch + 1, last) == (epochs, per_epoch)
            measured = point(epoch + last / per_epoch, loss)
            progress.loss_sum, progress.loss_count = 0.0, 0
            if last == per_epoch:
                progress.epochs, progress.updates = epoch + 1, 0
                if checkpoint is not None:
                    checkpoints.save(checkpoint, run, progress)
                    saved = time.monotonic()
            yield measured


def _measure(run: Run) -> Point:
    """Return the measurements of a run as numbers and NumPy arrays."""
    run.model.eval()
    with torch.inference_mode():
        measured = run.measure()
    run.model.train()
    if unknown := [name for name in measured if run.experiment.unit(name) is None]:
        raise TypeError(
            f"experiment {run.experiment.name}: measurements must be among its measures and "
            f"arrays, got {', '.join(unknown)}"
        )
    return {name: _to_numpy(value) for name, value in measured.items()}


def _to_numpy(value: Any) -> float | np.ndarray:
    value = value.cpu().numpy() if isinstance(value, torch.Tensor) else value
    return np.array(value) if np.ndim(value) else float(value)


def _describe_non_finite(measured: Point, may_be_nan: Container[str]) -> str:
    """Return in words which measures are not finite; those in ``may_be_nan`` may be NaN."""
    problems = []
    for name, value in measured.items():
        bad = np.isinf(value) if name in may_be_nan else ~np.isfinite(value)
        if np.any(bad):
            problems.append(f"{name} is {np.asarray(value)[np.asarray(bad)].flat[0]}")
    return ", ".join(problems)


def train_together(runs: Mapping[Any, Run]) -> Iterator[dict[Any, Point]]:
    """Train several runs in lockstep; yield a dictionary from run name to its latest point."""
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
