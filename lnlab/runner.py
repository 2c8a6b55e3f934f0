"""Many runs, each to its record: over settings and seeds, by one process or by several ranks."""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import os
import shlex
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from lnlab import atomic_write, checkpoint, distributed, messages, records
from lnlab.config import Settings, check_different, check_runs, words
from lnlab.experiment import Experiment
from lnlab.progress import Progress
from lnlab.run import Run
from lnlab.training import Point, resolve_device, train


def record_runs(
    experiment: Experiment,
    settings: Sequence[Settings],
    seeds: Sequence[int],
    *,
    out: Path,
    device: str = "auto",
    again: bool = False,
    **options: Any,
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with a bar and checkpoints.

    A checkpoint of each run under way lies in ``.checkpoints`` beside its record until that is
    written; a call after a break goes on from there. Several processes that ``torchrun`` has
    started share the runs: see :mod:`lnlab.distributed`. A run that another call in the same folder
    trains is waited for.

    Args:
        experiment: What is run.
        settings: One for each kind of run, all on the same data.
        seeds: Seeds for each of them.
        out: Folder of the records; each experiment has one of its own in it.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded, and drop checkpoints that cannot be used.
        **options: For the run, beside seed and device: ``step``, where an experiment has several,
            by default the fastest here.

    Returns:
        The records' paths, one for each run, new or not.

    Raises:
        ValueError: If a record of the same name has other settings, and ``again`` is not given; if
            runs cannot be asked for together or their records cannot be written; and at the end,
            when all other runs are recorded, if a record is damaged.
        RuntimeError: At the end, with their names, if runs failed: by divergence, say.
    """
    kind = experiment.run()
    if experiment.steps:
        options = {"step": "auto"} | options
    kind.check(settings, device, **options)
    check_runs(settings, seeds)
    team = distributed.join(resolve_device(device))
    runs = [
        (one, seed, records.place(out, experiment.name, experiment.stem(one, seed)))
        for seed in seeds
        for one in settings
    ]
    check_different("record_runs: records", [path.name for *_, path in runs])
    loaded = functools.cache(lambda: experiment.load(settings[0]))
    asked = zlib.crc32(repr([run[:2] for run in runs]).encode())

    damaged: list[str] = []

    def is_due(*run: Any) -> bool:
        try:
            return not _is_recorded(*run)
        except records.BadRecord as error:  # no reason to keep the others waiting
            damaged.append(str(error))
            return False

    def paths() -> list[Path]:
        if damaged:
            raise records.BadRecord("\n".join(damaged))
        return [path for *_, path in runs]

    def decide() -> list[int]:
        for folder in {path.parent for *_, path in runs}:
            for pattern in ("*.json", "*.npz"):
                atomic_write.sweep(folder, pattern)
            atomic_write.sweep(folder / checkpoint.FOLDER, "*.pt")
        for *_, path in runs:
            checkpoint.remove_recorded(path, messages.note)
        due = [again or is_due(*run) for run in runs]
        for *_, path in itertools.compress(runs, due):
            records.check_writable(path)
            records.check_writable(checkpoint.place(path))
        if any(due):
            loaded()  # before other ranks do: it may have to be downloaded
        return [asked, *map(int, due)]

    asked_first, *due = team.agree(decide, 1 + len(runs))
    if asked != asked_first:
        raise ValueError(
            f"rank {team.rank} was asked for other runs than rank 0; start all ranks with one "
            "command, and name --epochs and --seeds if not every machine has a GPU"
        )
    todo = list(itertools.compress(runs, due))
    if (done := len(runs) - len(todo) - len(damaged)) and team.rank == 0:
        messages.note(f"{done} of {len(runs)} runs are recorded already in {out}.")
    if not todo:
        return paths()
    for sentence in damaged:
        messages.tell(sentence)
    data = loaded()

    def updates(run: distributed.Run) -> int:
        return run[0].epochs * kind.updates(run[0], data)

    def train_run(one: Settings, seed: int, path: Path, count: distributed.Count) -> dict[str, Any]:
        bar.set_description(f"{team.label}{experiment.label.format(**vars(one))}, seed {seed}")
        bar.start_run()
        run = kind(one, data, seed=seed, device=team.device, **options)
        points = []
        for point in train(
            run,
            epochs=one.epochs,
            first_epoch_points=one.first_epoch_points,
            checkpoint=checkpoint.place(path),
            again=again,
            on_update=count,
            on_resume=functools.partial(count, resumed=True),
        ):
            points.append(point)
            bar.set_postfix_str(_head(experiment, point))
        return _record(run, data, points, team.device, out)

    def claim(run: distributed.Run, count: distributed.Count) -> Iterator[dict[str, Any]]:
        *_, path = run
        with checkpoint.acquire_lock(path, bar.set_description):
            # Another command may have recorded it meanwhile.
            if not again and _is_recorded(*run):
                count(updates(run), resumed=True)
                yield records.read(path)
            else:
                yield train_run(*run, count)

    def written(path: Path) -> None:
        checkpoint.drop(*next(run for run in todo if run[2] == path))

    ordered = todo
    if team.size > 1:
        ordered = sorted(todo, key=updates, reverse=True)  # so that all end together
    if team.rank == 0:
        alone = _without_gpu(experiment, todo) if device == "auto" else ""
        count = f"{len(todo)} run{'s' * (len(todo) > 1)}"
        messages.note(f"{count} on {team}; records go to {out}.{alone}")
    with Progress(total=sum(map(updates, todo)), disable=team.rank > 0) as bar:
        team.work(ordered, claim, written, bar)
    return paths()


def _head(experiment: Experiment, point: Point) -> str:
    """Say where a run stands: its epoch, and the measure that the experiment puts first."""
    name, value = experiment.primary_metric, point[experiment.primary_metric]
    unit = experiment.unit(name)
    shown = f"{value:.2%}" if unit == "fraction" else f"{value:.4g} {unit}"
    return f"epoch {point['epoch']:.2f}, {name.replace('_', ' ')} {shown}"


def _is_recorded(settings: Settings, seed: int, path: Path) -> bool:
    """Say whether a run has its record, and refuse a record of other settings."""
    if not os.path.exists(path):  # unlike Path.exists, False where a name is too long
        return False
    result = records.read(path)
    kept, asked = result["settings"] | {"seed": result["seed"]}, settings.as_dict() | {"seed": seed}
    if kept != asked:
        differs = {k: f"{kept.get(k)}, asked {v}" for k, v in asked.items() if kept.get(k) != v}
        raise ValueError(
            f"{path} is recorded with other settings ({differs}); "
            "add --again to replace it, or choose another --out"
        )
    if (end := result["curves"]["epoch"][-1]) != settings.epochs:
        raise records.BadRecord(
            f"{path}: it ends at epoch {end:.4g} of {settings.epochs}; record the run again with "
            "--again, or delete the file"
        )
    return True


def _without_gpu(experiment: Experiment, todo: Sequence[distributed.Run]) -> str:
    """Say that there is no GPU, and how long the runs took when the book's were made on a CPU."""
    if torch.cuda.is_available():
        return ""
    seconds = 0.0
    for one, *_ in todo:
        path = records.place(records.folder(), experiment.name, experiment.stem(one, 0))
        try:
            kept = records.read(path)
        except records.BadRecord:
            kept = None
        usual = one.as_dict() | {"epochs": kept and kept["settings"]["epochs"]}
        if not kept or kept["settings"] != usual or "CPU" not in kept["provenance"]["device"]:
            return " No GPU was found: the bar says within a minute how long the CPU takes."
        seconds += kept["provenance"]["wall_s"] / usual["epochs"] * one.epochs
    long = datetime.timedelta(seconds=math.ceil(seconds))
    return f" No GPU was found: at the speed of the book's own CPU runs they take {long} (h:mm:ss)."


def _record(
    run: Run, data: Any, points: list[Point], device: torch.device, out: Path
) -> dict[str, Any]:
    experiment = run.experiment
    where = [
        *words("device", str(device)),
        *words("threads", torch.get_num_threads()),
        # A folder "--" would be read as the end of all flags.
        *words("out", f"./{out}" if str(out).startswith("-") else str(out)),
    ]
    command = shlex.join([*experiment.command(run.settings, run.seed, run.step), *where])
    made = records.provenance(device=device, wall_s=points[-1]["wall_s"], command=command)
    segments = records.with_segment(run.segments, run.conditions, points[-1]["epoch"])
    made |= {name: value for name, value in segments[-1].items() if name != "epochs"}
    several = {"segments": segments} if len(segments) > 1 else {}
    return {
        "format": records.FORMAT,
        "experiment": experiment.name,
        "paper": dict(experiment.paper),
        "settings": run.settings.as_dict(),
        "seed": run.seed,
        "data": {"name": data.name, "sha256": data.sha256, "cases": dict(run.cases)},
        "curves": records.curves(points, x="epoch"),
        "arrays": records.arrays(points),
        "units": {name: experiment.unit(name) for name in points[0]},
        "provenance": made | {"step": run.step} | several,
    }
