"""The one training loop: it measures as it goes, checkpoints each epoch and resumes from there.

:func:`train` runs one experiment, :func:`record_runs` as many as are asked for, each to its record.
:class:`Classification` is what experiments share that put cases into classes.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from lnlib.data import Dataset, load
from lnlib.replay import record


class Experiment(Protocol):
    """What the loop needs to know of an experiment."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    updates_per_epoch: int
    settings: dict[str, Any]  # everything that was chosen, JSON values alone
    seed: int
    step: str  # how an update is computed

    def batches(self, epoch: int) -> Iterator[Any]:
        """Yield the epoch's batches in an order that depends on the seed and the epoch alone."""

    def update(self, batch: Any) -> torch.Tensor:
        """Take one step of the optimizer; return the batch's mean NLL before it, in nats."""

    def measure(self) -> dict[str, float]:
        """Measure the model as it is at test time."""


class Diverged(RuntimeError):
    """The loss stopped being a number."""


class Settings(Protocol):
    """What a classification reads of everything that was chosen."""

    data: str
    batch_size: int
    epochs: int
    train_cases: int
    measured_cases: int
    first_epoch_points: int

    def as_dict(self) -> dict[str, Any]:
        """Return all settings as JSON values."""


class Classification:
    """An :class:`Experiment` on cases and their classes; a subclass adds ``model``, ``optimizer``.

    The order of the cases depends on the seed and the epoch alone.

    Args:
        settings: What is chosen.
        data: Training and test cases.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, or ``seed`` is negative.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    step = "plain"

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        if seed < 0:
            raise ValueError(f"Replay: seed must be a whole number from 0, got {seed}")
        device = torch.device(device)
        self.chosen, self.settings, self.seed = settings, settings.as_dict(), seed
        data = self.split(settings, data)
        cases = len(data.x_train)
        if cases < settings.batch_size:
            raise ValueError(
                f"Replay: batch_size {settings.batch_size} needs as many training cases, "
                f"{data.name} gives {cases}; choose a smaller batch_size"
            )
        self.x, self.x_test = (torch.from_numpy(x).to(device) for x in (data.x_train, data.x_test))
        self.y, self.y_test = (torch.from_numpy(y).to(device) for y in (data.y_train, data.y_test))
        self.classes = int(data.y_train.max()) + 1
        self.updates_per_epoch = cases // settings.batch_size

    @staticmethod
    def split(settings: Any, data: Dataset) -> Dataset:
        """Return the cases to train on and those to measure on: here the first ``train_cases``."""
        n = settings.train_cases
        return dataclasses.replace(data, x_train=data.x_train[:n], y_train=data.y_train[:n])

    def batches(self, epoch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield ``x (B, D)`` and ``y (B,)``, each case at most once an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.x))
        order = torch.from_numpy(order).to(self.x.device)
        size = self.chosen.batch_size
        for chosen in order[: self.updates_per_epoch * size].split(size):
            yield self.x[chosen], self.y[chosen]

    def loss(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the batch's mean negative log likelihood, in nats."""
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def update(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Take one step of the optimizer; return the batch's mean NLL before it, in nats."""
        loss = self.loss(batch)
        # Zeroed where they lie: gradients may be views of one tensor.
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def measure(self) -> dict[str, float]:
        """Measure training NLL (nats), test NLL (nats) and test error (a fraction).

        The training NLL is on the first ``measured_cases`` training cases, and no more than there
        are test cases, with the model as it is at test time: batch norm uses its running averages
        here.
        """
        n = min(self.chosen.measured_cases, len(self.x_test))
        train_nll, _ = self._evaluate(self.x[:n], self.y[:n])
        test_nll, test_error = self._evaluate(self.x_test, self.y_test)
        return {"train_nll": train_nll, "test_nll": test_nll, "test_error": test_error}

    def _evaluate(self, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
        nll, wrong = 0.0, 0
        for part, labels in zip(x.split(2000), y.split(2000), strict=True):
            logits = self.model(part)
            nll += F.cross_entropy(logits, labels, reduction="sum").double()
            wrong += (logits.argmax(1) != labels).sum()
        return float(nll) / len(x), int(wrong) / len(x)


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
            loss = experiment.update(batch)
            # Summed where it lies: reading a number here would stop a GPU at every update.
            total, since = loss.double() + (0 if total is None else total), since + 1
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
    return chosen | {"seed": experiment.seed, "step": experiment.step}


def train_together(
    replays: Mapping[str, Classification],
) -> Iterator[dict[str, dict[str, float]]]:
    """Train side by side and yield where all stand, from name to a point of :func:`train`."""
    runs = [
        train(
            replay,
            epochs=replay.chosen.epochs,
            first_epoch_points=replay.chosen.first_epoch_points,
        )
        for replay in replays.values()
    ]
    for points in zip(*runs, strict=True):
        yield dict(zip(replays, points, strict=True))


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What :func:`record_runs` needs to know of an experiment.

    Args:
        experiment: Its name, as the records carry it.
        paper: Where the paper has it, or what it is about: at least the ``section``.
        replay: Makes one run of it.
        name: From settings and seed to the name of the record, without ``.json``.
        label: From settings to a few words on the progress bar.
        command: From settings and seed to the command line that repeats the run.
    """

    experiment: str
    paper: dict[str, str]
    replay: type[Classification]
    name: Callable[[Any, int], str]
    label: Callable[[Any], str]
    command: Callable[[Any, int], str]


def unusual(settings: Settings, base: Settings) -> list[str]:
    """Say where ``settings`` are not ``base``, in words for a file's name.

    What sets a run apart from the book's own goes into its name, so that both can be kept.
    """
    usual = base.as_dict()
    return [
        f"{key.replace('_', '-')}-{value}"
        for key, value in settings.as_dict().items()
        if value != usual[key]
    ]


def record_runs(
    recipe: Recipe,
    settings: list[Any],
    seeds: list[int],
    *,
    out: Path,
    device: str = "auto",
    again: bool = False,
    **options: Any,
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with a bar and checkpoints.

    A checkpoint of each run under way lies in ``out/.checkpoints`` until its record is written;
    a call after a break goes on from there.

    Args:
        recipe: The experiment.
        settings: One for each kind of run, all on the same data.
        seeds: Seeds for each of them.
        out: Folder of the records.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded.
        **options: For ``recipe.replay``, beside seed and device.

    Returns:
        The records' paths, one for each run, new or not.

    Raises:
        ValueError: If a record of the same name has other settings, and ``again`` is not given.
    """
    where = resolve_device(device)
    runs = [
        (chosen, seed, out / f"{recipe.name(chosen, seed)}.json")
        for seed in seeds
        for chosen in settings
    ]
    todo = []
    for run in runs:
        if again or not run[2].exists():
            todo.append(run)
        elif (kept := record.read(run[2]))["settings"] != run[0].as_dict():
            differs = {
                k: f"{kept['settings'].get(k)}, asked {v}"
                for k, v in run[0].as_dict().items()
                if kept["settings"].get(k) != v
            }
            raise ValueError(
                f"{run[2]} is recorded with other settings ({differs}); "
                "add --again to replace it, or choose another --out"
            )
    if len(todo) < len(runs):
        print(f"{len(runs) - len(todo)} of {len(runs)} runs are recorded already in {out}.")
    if not todo:
        return [path for *_, path in runs]
    data = load(todo[0][0].data)
    print(f"{len(todo)} runs on {record.device_name(where)}; records go to {out}.")
    total = sum(
        s.epochs * (len(recipe.replay.split(s, data).x_train) // s.batch_size) for s, *_ in todo
    )
    with tqdm(total=total, unit="update", smoothing=0.05, dynamic_ncols=True) as bar:
        for chosen, seed, path in todo:
            bar.set_description(f"{recipe.label(chosen)}, seed {seed}")
            checkpoint = out / ".checkpoints" / f"{path.stem}.pt"
            replay = recipe.replay(chosen, data, seed=seed, device=where, **options)
            points = []
            for point in train(
                replay,
                epochs=chosen.epochs,
                first_epoch_points=chosen.first_epoch_points,
                checkpoint=checkpoint,
                on_update=bar.update,
            ):
                points.append(point)
                bar.set_postfix_str(
                    f"epoch {point['epoch']:.2f}, test error {point['test_error']:.2%}"
                )
            record.write(_record(recipe, replay, data, points, where, out), path)
            checkpoint.unlink(missing_ok=True)
    return [path for *_, path in runs]


def _record(
    recipe: Recipe,
    replay: Classification,
    data: Dataset,
    points: list[dict[str, float]],
    device: torch.device,
    out: Path,
) -> dict[str, Any]:
    return {
        "format": record.FORMAT,
        "experiment": recipe.experiment,
        "paper": recipe.paper,
        "settings": replay.settings,
        "seed": replay.seed,
        "data": {
            "name": data.name,
            "sha256": data.sha256,
            "train_cases": len(replay.x),
            "test_cases": len(replay.x_test),
        },
        "curves": record.curves(points, x="epoch"),
        "provenance": record.provenance(
            device=device,
            wall_s=points[-1]["wall_s"],
            command=f"{recipe.command(replay.chosen, replay.seed)} --out {out}",
        )
        | {"step": replay.step},
    }
