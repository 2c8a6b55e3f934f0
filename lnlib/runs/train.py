"""The one training loop: it measures as it goes, checkpoints each epoch and resumes from there.

:func:`train` runs one experiment, :func:`record_runs` as many as are asked for, each to its record.
:class:`Classification` is what experiments share that put cases into classes.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import glob
import hashlib
import io
import itertools
import math
import os
import re
import shlex
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from lnlib import _files
from lnlib.data import Dataset, load
from lnlib.experiments.mnist.steps import graph
from lnlib.runs import ranks, record
from lnlib.runs.settings import check_different, check_runs, words


class Experiment(Protocol):
    """What the loop needs to know of an experiment."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    updates_per_epoch: int
    settings: dict[str, Any]  # everything that was chosen, JSON values alone
    seed: int
    step: str  # how an update is computed
    unmeasured: tuple[str, ...]  # what can be NaN, for "not measured", in the midst of training

    def batches(self, epoch: int) -> Iterator[Any]:
        """Yield the epoch's batches in an order that depends on the seed and the epoch alone."""

    def update(self, batch: Any) -> torch.Tensor:
        """Take one step of the optimizer; return the batch's mean NLL before it, in nats."""

    def advance(self, epoch: int, first: int, last: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Take updates ``first + 1`` to ``last`` of an epoch; yield a few at a time.

        Yields how many were taken, and the sum of their batches' mean NLL in float64.
        """

    def measure(self) -> dict[str, float]:
        """Measure the model as it is at test time."""


class Diverged(RuntimeError):
    """The loss stopped being a number."""


class BadCheckpoint(ValueError):
    """A checkpoint that this run cannot go on from."""


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
    unmeasured: tuple[str, ...] = ()

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
        self.x, self.x_test = (torch.from_numpy(x).to(device) for x in (data.x_train, data.x_test))
        self.y, self.y_test = (torch.from_numpy(y).to(device) for y in (data.y_train, data.y_test))
        self.classes = int(data.y_train.max()) + 1
        self.updates_per_epoch = len(data.x_train) // settings.batch_size

    @staticmethod
    def split(settings: Any, data: Dataset) -> Dataset:
        """Return the cases to train on and those to measure on: here the first ``train_cases``.

        Raises:
            ValueError: If there are fewer training cases than ``batch_size``.
        """
        n = settings.train_cases
        cases = len(data.x_train[:n])
        if cases < settings.batch_size:
            raise ValueError(
                f"Replay: batch_size {settings.batch_size} needs as many training cases, "
                f"{data.name} gives {cases}; choose a smaller batch_size"
            )
        return dataclasses.replace(data, x_train=data.x_train[:n], y_train=data.y_train[:n])

    def batches(self, epoch: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield ``x (B, D)`` and ``y (B,)``, each case at most once an epoch."""
        order = torch.from_numpy(self.order(epoch)).to(self.x.device)
        for chosen in order.split(self.chosen.batch_size):
            yield self.x[chosen], self.y[chosen]

    def order(self, epoch: int) -> np.ndarray:
        """Return the cases of an epoch's full batches, in their order."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.x))
        return order[: self.updates_per_epoch * self.chosen.batch_size]

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

    def advance(self, epoch: int, first: int, last: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Take updates ``first + 1`` to ``last`` of an epoch, in turn; yield 50 at a time."""
        if first == 0:
            self._batches = self.batches(epoch)
        while first < last:
            count, total = min(50, last - first), 0
            for batch in itertools.islice(self._batches, count):
                # Summed where it lies: reading a number here would stop a GPU at every update.
                total = self.update(batch).double() + total
            yield count, total
            first += count

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
    experiment: Experiment,
    *,
    epochs: int,
    first_epoch_points: int = 20,
    checkpoint: Path | None = None,
    again: bool = False,
    on_update: Callable[[int], None] | None = None,
) -> Iterator[dict[str, float]]:
    """Train, and yield what is measured: before the first update, within epoch 1, after each epoch.

    With ``checkpoint`` the state is saved after each epoch, in one atomic step. A call that finds
    the file goes on from there: it first yields what had been measured, then continues, and the
    whole is the curve of an unbroken run, bit for bit on one CPU and number of threads. A checksum
    of its content is verified before anything of it is used.

    Args:
        experiment: Model, optimizer, batches and measures.
        epochs: How many passes in all, counted from the very start.
        first_epoch_points: How often to measure within the first epoch.
        checkpoint: The file to resume from and save to. ``None`` keeps nothing.
        again: Drop a checkpoint that this run cannot go on from, and start over.
        on_update: Called with the number of updates since its last call.

    Yields:
        ``epoch`` (a fraction within the first), ``batch_nll`` (mean training loss since the last
        point, as the optimizer saw it; NaN at the start), ``wall_s`` (seconds spent, resumed
        parts included) and what ``experiment.measure()`` returns.

    Raises:
        Diverged: If the loss is no longer finite.
        BadCheckpoint: If the checkpoint is damaged, lacks a part, or belongs to other settings or
            another seed, and ``again`` is not given.
        OSError: If it cannot be written, as where the disk is full.
    """
    experiment.model.train()
    points, done, wall = [], 0, 0.0
    if checkpoint is not None and checkpoint.exists():
        try:
            points, done, wall = _load(checkpoint, experiment)
        except BadCheckpoint as error:
            if not again:
                raise BadCheckpoint(f"{error}; add --again to start this run over") from error
            tqdm.write(f"{error}; this run starts over", file=sys.stderr)
            checkpoint.unlink()
        points = [point for point in points if point["epoch"] <= epochs]  # it may be further
        if done and on_update:
            on_update(min(done, epochs) * experiment.updates_per_epoch)
    yield from points
    clock = time.perf_counter()

    def point(epoch: float, batch_nll: float) -> dict[str, float]:
        experiment.model.eval()
        with torch.inference_mode():
            measured = experiment.measure()
        experiment.model.train()
        wrong = [
            f"{name} is {value}"
            for name, value in measured.items()
            # Before the first update NaN says that there is nothing to average yet.
            if math.isinf(value)
            or (math.isnan(value) and points and name not in experiment.unmeasured)
        ]
        if wrong:
            raise Diverged(
                f"after {epoch:.4g} epochs {', '.join(wrong)}; a smaller learning rate is the "
                "likely cure"
            )
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
        first = 0
        for last in stops:
            total = 0
            for count, losses in experiment.advance(epoch, first, last):
                total = losses + total
                if on_update:
                    on_update(count)
            batch_nll = float(total) / (last - first)
            if not math.isfinite(batch_nll):
                raise Diverged(
                    f"the training loss is {batch_nll} after update {last} of epoch "
                    f"{epoch + 1}; a smaller learning rate is the likely cure"
                )
            first, measured = last, point(epoch + last / per_epoch, batch_nll)
            if last == per_epoch and checkpoint is not None:
                _save(checkpoint, experiment, points, epoch + 1, points[-1]["wall_s"])
            yield measured


_CHECKPOINTS = ".checkpoints"  # a folder beside the records
_SEAL = b"lnlib checkpoint, SHA-256 %s of what follows\n"


def _save(path: Path, experiment: Experiment, points: list, done: int, wall: float) -> None:
    content = io.BytesIO()
    torch.save(
        {
            **_identity(experiment),
            "model": _copied(experiment.model.state_dict()),
            "optimizer": _copied(experiment.optimizer.state_dict()["state"]),
            "points": points,
            "done": done,
            "wall_s": wall,
        },
        content,
    )
    _files.write(path, _sealed(content.getvalue()))


def _sealed(content: bytes) -> bytes:
    return _SEAL % hashlib.sha256(content).hexdigest().encode() + content


def _copied(state: Any) -> Any:
    # A view is saved with all that it is a view of: the parameters of every seed side by side.
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    return state.clone() if isinstance(state, torch.Tensor) else state


def _read(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return what a checkpoint holds, if it is whole and as it was written."""
    try:
        _files.check_regular(path)
        sealed = path.read_bytes()
        content = sealed[len(_SEAL % bytes(64)) :]
        if sealed.startswith(b"PK\3\4"):
            raise ValueError("it is of an older lnlib, without a checksum")
        if sealed != _sealed(content):
            raise ValueError("it is damaged, or no checkpoint: its checksum is another")
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it holds a {type(state).__name__}, not the parts of a run")
        return state
    except Exception as error:  # a torn or foreign file can fail in a dozen ways
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: {_files.printable(str(error))}"
        ) from error


def _load(path: Path, experiment: Experiment) -> tuple[list[dict[str, float]], int, float]:
    state = _read(path, next(experiment.model.parameters()).device)
    for part, asked in _identity(experiment).items():
        if (kept := state.get(part)) != asked:
            raise BadCheckpoint(
                f"the checkpoint {path} belongs to other settings: {part} {kept}, not {asked}"
            )
    if wrong := _misfit(state, experiment):
        raise BadCheckpoint(f"the checkpoint {path} cannot be used: {wrong}")
    experiment.model.load_state_dict(state["model"])
    # What Adam was told is of the settings: only its moments are of the file.
    told = experiment.optimizer.state_dict()["param_groups"]
    experiment.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": told})
    return state["points"], state["done"], state["wall_s"]


def _misfit(state: dict[str, Any], experiment: Experiment) -> str:
    """Say which parts are missing or do not fit the run; nothing if all is well."""
    optimizer, kept = experiment.optimizer, state.get("points")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if not isinstance(optimizer, torch.optim.Adam):
        parameters = []  # plain gradient descent keeps nothing
    step = torch.zeros((), dtype=torch.float32)
    point = dict.fromkeys(("epoch", "batch_nll", "wall_s"), 0.0)
    wanted = {
        "model": experiment.model.state_dict(),
        "optimizer": {
            k: {"step": step, "exp_avg": p, "exp_avg_sq": p} for k, p in enumerate(parameters)
        },
        "points": [point | dict.fromkeys(p, 0.0) for p in kept] if _are_points(kept) else [point],
        "done": 1,
        "wall_s": 0.0,
    }
    wrong = [name for name, value in wanted.items() if _form(state.get(name)) != _form(value)]
    return ", ".join(
        f"its part {name!r} {'does not fit' if name in state else 'is missing'}" for name in wrong
    )


def _form(value: Any) -> Any:
    """Return what must agree before anything is loaded: names, types, shapes."""
    if isinstance(value, dict):
        return {key: _form(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_form(part) for part in value]
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else type(value)


def _are_points(kept: Any) -> bool:
    return isinstance(kept, list) and len(kept) > 0 and all(isinstance(p, dict) for p in kept)


def _identity(experiment: Experiment) -> dict[str, Any]:
    settings = _trained(experiment.settings)
    return {"settings": settings, "seed": experiment.seed, "step": experiment.step}


def _trained(settings: dict[str, Any]) -> dict[str, Any]:
    # The number of epochs is how far to go, not what is trained: a longer run may go on.
    return {k: v for k, v in settings.items() if k != "epochs"}


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
        command: From a run to the words that repeat it, but for where it runs and where its record
            goes.
    """

    experiment: str
    paper: dict[str, str]
    replay: type[Classification]
    name: Callable[[Any, int], str]
    label: Callable[[Any], str]
    command: Callable[[Any], list[str]]


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
    a call after a break goes on from there. Several processes that ``torchrun`` has started share
    the runs: see :mod:`lnlib.runs.ranks`.

    Args:
        recipe: The experiment.
        settings: One for each kind of run, all on the same data.
        seeds: Seeds for each of them.
        out: Folder of the records.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded, and drop checkpoints that cannot be used.
        **options: For ``recipe.replay``, beside seed and device.

    Returns:
        The records' paths, one for each run, new or not.

    Raises:
        ValueError: If a record of the same name has other settings, and ``again`` is not given; if
            runs cannot be asked for together or their records cannot be written; and at the end,
            when all other runs are recorded, if a record is damaged.
    """
    check_runs(settings, seeds)
    team = ranks.join(resolve_device(device))
    runs = [
        (chosen, seed, out / f"{recipe.name(chosen, seed)}.json")
        for seed in seeds
        for chosen in settings
    ]
    check_different("record_runs: records", [path.name for *_, path in runs])
    loaded = functools.cache(lambda: load(settings[0].data))
    asked = zlib.crc32(repr([run[:2] for run in runs]).encode())

    damaged: list[str] = []

    def is_due(*run: Any) -> bool:
        try:
            return not _is_recorded(*run)
        except record.BadRecord as error:  # no reason to keep the others waiting
            damaged.append(str(error))
            return False

    def paths() -> list[Path]:
        if damaged:
            raise record.BadRecord("\n".join(damaged))
        return [path for *_, path in runs]

    def decide() -> list[int]:
        _files.sweep(out, "*.json")
        _files.sweep(out / _CHECKPOINTS, "*.pt")
        for *_, path in runs:
            _drop_outlived(path)
        due = [again or is_due(*run) for run in runs]
        for *_, path in itertools.compress(runs, due):
            record.check_writable(path)
            record.check_writable(_checkpoint(path))
        if any(due):
            loaded()  # before other ranks do: it may have to be downloaded
        # Seeds that a GPU trains side by side must be equally far.
        most = _side_by_side(team.device, **options)
        epochs = (_epochs_kept(*run) if most > 1 else 0 for run in runs)
        stands = [1 + done if is_due else 0 for is_due, done in zip(due, epochs, strict=True)]
        return [asked, most, *stands]

    asked_first, most, *stands = team.agree(decide, 2 + len(runs))
    if asked != asked_first:
        raise ValueError(
            f"rank {team.rank} was asked for other runs than rank 0; start all ranks with one "
            "command, and name --epochs and --seeds if not every machine has a GPU"
        )
    todo = [run for run, stand in zip(runs, stands, strict=True) if stand]
    if (done := len(runs) - len(todo) - len(damaged)) and team.rank == 0:
        print(f"{done} of {len(runs)} runs are recorded already in {out}.")
    if not todo:
        return paths()
    for sentence in damaged:
        print(sentence, file=sys.stderr)
    data = loaded()

    def updates(unit: ranks.Unit) -> int:
        return sum(
            s.epochs * (len(recipe.replay.split(s, data).x_train) // s.batch_size) for s, *_ in unit
        )

    def train_unit(unit: ranks.Unit, count: ranks.Count) -> Iterator[tuple[Path, dict[str, Any]]]:
        chosen, seeds = unit[0][0], " ".join(str(seed) for _, seed, _ in unit)
        bar.set_description(f"{team.label}{recipe.label(chosen)}, seed {seeds}")
        replays = [
            recipe.replay(chosen, data, seed=seed, device=team.device, **options)
            for _, seed, _ in unit
        ]
        if len(unit) > 1:
            graph.Together(replays)
        loops = [
            train(
                replay,
                epochs=chosen.epochs,
                first_epoch_points=chosen.first_epoch_points,
                checkpoint=_checkpoint(path),
                again=again,
                on_update=count,
            )
            for replay, (*_, path) in zip(replays, unit, strict=True)
        ]
        curves = []
        for points in zip(*loops, strict=True):
            curves.append(points)
            bar.set_postfix_str(
                f"epoch {points[0]['epoch']:.2f}, test error {points[0]['test_error']:.2%}"
            )
        for replay, points, (*_, path) in zip(
            replays, zip(*curves, strict=True), unit, strict=True
        ):
            yield path, _record(recipe, replay, data, list(points), team.device, out, len(unit))

    most = min(most, math.ceil(len(todo) / team.size))  # work for all ranks
    units = _units(todo, [stand for stand in stands if stand], most)
    if team.size > 1:
        units.sort(key=updates, reverse=True)  # the longest first, so that all end together
    if team.rank == 0:
        alone = _without_gpu(recipe, todo) if device == "auto" else ""
        print(f"{len(todo)} runs on {team}; records go to {out}.{alone}")
    with tqdm(
        total=updates(todo),
        unit="update",
        smoothing=0.05,
        dynamic_ncols=True,
        disable=team.rank > 0,
    ) as bar:
        team.work(units, train_unit, _drop_checkpoint, bar)
    return paths()


def _side_by_side(device: torch.device, step: str = "plain", **_: Any) -> int:
    """Return how many seeds to train in one batched model: several in a CUDA graph alone."""
    captured = device.type == "cuda" and step in ("auto", "graph") and not graph.problem(device)
    return graph.seeds_together(device) if captured else 1


def _units(todo: ranks.Unit, stands: list[int], most: int) -> list[ranks.Unit]:
    """Put runs together that differ in the seed alone and are equally far, at most so many."""
    alike: dict[Any, ranks.Unit] = {}
    for (chosen, seed, path), stand in zip(todo, stands, strict=True):
        alike.setdefault((chosen, stand) if most > 1 else path, []).append((chosen, seed, path))
    return [runs[k : k + most] for runs in alike.values() for k in range(0, len(runs), most)]


def _epochs_kept(chosen: Any, seed: int, path: Path) -> int:
    try:
        state = _read(_checkpoint(path))
    except BadCheckpoint:  # or there is none: the run itself will say so
        return 0
    own = (state.get("settings"), state.get("seed")) == (_trained(chosen.as_dict()), seed)
    return state["done"] if own and isinstance(state.get("done"), int) else 0


def _is_recorded(chosen: Any, seed: int, path: Path) -> bool:
    """Say whether a run has its record, and refuse a record of other settings."""
    if not os.path.exists(path):  # unlike Path.exists, False where a name is too long
        return False
    found = record.read(path)
    kept, asked = found["settings"] | {"seed": found["seed"]}, chosen.as_dict() | {"seed": seed}
    if kept != asked:
        differs = {k: f"{kept.get(k)}, asked {v}" for k, v in asked.items() if kept.get(k) != v}
        raise ValueError(
            f"{path} is recorded with other settings ({differs}); "
            "add --again to replace it, or choose another --out"
        )
    return True


def _checkpoint(path: Path) -> Path:
    return path.parent / _CHECKPOINTS / f"{path.stem}.pt"


def _drop_checkpoint(path: Path) -> None:
    # With what a process left that was killed while it saved.
    for file in _checkpoint(path).parent.glob(f"{glob.escape(path.stem)}.pt*"):
        file.unlink(missing_ok=True)


def _drop_outlived(path: Path) -> None:
    # A process can end after it has written the record and before it has dropped the checkpoint.
    kept = _checkpoint(path)
    both = os.path.exists(path) and os.path.exists(kept)
    if both and kept.stat().st_mtime <= path.stat().st_mtime:
        _drop_checkpoint(path)


def _without_gpu(recipe: Recipe, todo: ranks.Unit) -> str:
    """Say that there is no GPU, and how long the runs took when the book's were made on a CPU."""
    if torch.cuda.is_available():
        return ""
    seconds = 0.0
    for chosen, *_ in todo:
        path = record.folder() / f"{recipe.name(chosen, 0)}.json"
        try:
            kept = record.read(path)
        except record.BadRecord:
            kept = None
        usual = chosen.as_dict() | {"epochs": kept and kept["settings"]["epochs"]}
        if not kept or kept["settings"] != usual or "CPU" not in kept["provenance"]["device"]:
            return " No GPU was found: the bar says within a minute how long the CPU takes."
        seconds += kept["provenance"]["wall_s"] / usual["epochs"] * chosen.epochs
    long = datetime.timedelta(seconds=math.ceil(seconds))
    return f" No GPU was found: at the speed of the book's own CPU runs they take {long} (h:mm:ss)."


def _record(
    recipe: Recipe,
    replay: Classification,
    data: Dataset,
    points: list[dict[str, float]],
    device: torch.device,
    out: Path,
    together: int,
) -> dict[str, Any]:
    # The wall time of runs that were trained together is that of them all.
    shared = {"seeds_together": together} if together > 1 else {}
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
            command=shlex.join(
                [
                    *recipe.command(replay),
                    *words("device", str(device)),
                    *words("threads", torch.get_num_threads()),
                    *words("out", str(out)),
                ]
            ),
        )
        | {"step": replay.step}
        | shared,
    }
