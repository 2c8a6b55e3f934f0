"""Train and record many runs, over settings and seeds, in one process or on several ranks."""

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
from lnlab.config import Settings, check_different, check_runs, cli_args
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
    """Run every pair of settings and seed that has no record yet, with checkpoints.

    The checkpoint of a run is in ``.checkpoints`` next to its record until the record is written; a
    call after an interruption resumes from it. Several processes that ``torchrun`` has started
    share the runs: see :mod:`lnlab.distributed`. If another call is training a run in the same
    folder, this call waits for it.

    Args:
        experiment: The experiment.
        settings: Settings to run, all with the same data set.
        seeds: Seeds to run each of the settings with.
        out: Folder of the records, which has a subfolder for each experiment.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Repeat runs that are recorded, and discard checkpoints that cannot be used.
        **options: Further arguments of the run: ``step``, if the experiment has several
            implementations; by default the fastest one that is available.

    Returns:
        The paths of all records, new or not, one per run.

    Raises:
        ValueError: If a record of the same name has other settings, and ``again`` is not given; if
            runs cannot be recorded together or their records cannot be written; and at the end,
            when all other runs are recorded, if a record is damaged.
        RuntimeError: At the end, with their names, if runs failed, for example by divergence.
    """
    run_class = experiment.run_class
    if experiment.steps:
        options = {"step": "auto"} | options
    run_class.check(settings, device, **options)
    check_runs(settings, seeds)
    team = distributed.join(resolve_device(device))
    runs = [
        (config, seed, records.path_of(out, experiment.name, experiment.stem(config, seed)))
        for seed in seeds
        for config in settings
    ]
    check_different("record_runs: records", [path.name for *_, path in runs])
    load_data = functools.cache(lambda: experiment.load(settings[0]))
    runs_hash = zlib.crc32(repr([run[:2] for run in runs]).encode())

    damaged: list[str] = []

    def is_due(*run: Any) -> bool:
        try:
            return not _is_recorded(*run)
        except records.BadRecord as error:  # reported at the end, after the other runs
            damaged.append(str(error))
            return False

    def paths() -> list[Path]:
        if damaged:
            raise records.BadRecord("\n".join(damaged))
        return [path for *_, path in runs]

    def select_due() -> list[int]:
        """On rank 0, clean up and return the hash of the runs and whether each is to be run."""
        for folder in {path.parent for *_, path in runs}:
            for pattern in ("*.json", "*.npz"):
                atomic_write.remove_stale(folder, pattern)
            atomic_write.remove_stale(folder / checkpoint.FOLDER, "*.pt")
        for *_, path in runs:
            checkpoint.remove_recorded(path, messages.info)
        due = [again or is_due(*run) for run in runs]
        for *_, path in itertools.compress(runs, due):
            records.check_writable(path)
            records.check_writable(checkpoint.path_of(path))
        if any(due):
            load_data()  # before the other ranks do, because it may download the data
        return [runs_hash, *map(int, due)]

    first_hash, *due = team.agree(select_due, 1 + len(runs))
    if runs_hash != first_hash:
        raise ValueError(
            f"rank {team.rank} was asked for other runs than rank 0; start all ranks with one "
            "command, and name --epochs and --seeds if not every machine has a GPU"
        )
    todo = list(itertools.compress(runs, due))
    if (done := len(runs) - len(todo) - len(damaged)) and team.rank == 0:
        messages.info(f"{done} of {len(runs)} runs are recorded already in {out}.")
    if not todo:
        return paths()
    for message in damaged:
        messages.warn(message)
    data = load_data()

    def num_updates(run: distributed.Run) -> int:
        return run[0].epochs * run_class.updates(run[0], data)

    def train_run(
        config: Settings, seed: int, path: Path, count: distributed.Count
    ) -> dict[str, Any]:
        bar.set_description(f"{team.label}{experiment.label.format(**vars(config))}, seed {seed}")
        bar.start_run()
        run = run_class(config, data, seed=seed, device=team.device, **options)
        points = []
        for point in train(
            run,
            epochs=config.epochs,
            first_epoch_points=config.first_epoch_points,
            checkpoint=checkpoint.path_of(path),
            again=again,
            on_update=count,
            on_resume=functools.partial(count, resumed=True),
        ):
            points.append(point)
            bar.set_postfix_str(_progress_text(experiment, point))
        return _record(run, data, points, team.device, out)

    def train_locked(run: distributed.Run, count: distributed.Count) -> Iterator[dict[str, Any]]:
        *_, path = run
        with checkpoint.acquire_lock(path, bar.set_description):
            # Another command may have recorded the run in the meantime.
            if not again and _is_recorded(*run):
                count(num_updates(run), resumed=True)
                yield records.read(path)
            else:
                yield train_run(*run, count)

    def on_written(path: Path) -> None:
        checkpoint.drop(*next(run for run in todo if run[2] == path))

    ordered = todo
    if team.size > 1:
        ordered = sorted(todo, key=num_updates, reverse=True)  # so that all ranks end together
    if team.rank == 0:
        estimate = _cpu_estimate(experiment, todo) if device == "auto" else ""
        count = f"{len(todo)} run{'s' * (len(todo) > 1)}"
        messages.info(f"{count} on {team}; records go to {out}.{estimate}")
    with Progress(total=sum(map(num_updates, todo)), disable=team.rank > 0) as bar:
        team.work(ordered, train_locked, on_written, bar)
    return paths()


def _progress_text(experiment: Experiment, point: Point) -> str:
    """Return the epoch of a run and the current value of its primary metric."""
    name, value = experiment.primary_metric, point[experiment.primary_metric]
    unit = experiment.unit(name)
    text = f"{value:.2%}" if unit == "fraction" else f"{value:.4g} {unit}"
    return f"epoch {point['epoch']:.2f}, {name.replace('_', ' ')} {text}"


def _is_recorded(settings: Settings, seed: int, path: Path) -> bool:
    """Return whether a run has its record; raise if the record has other settings."""
    if not os.path.exists(path):  # unlike Path.exists, False where a name is too long
        return False
    record = records.read(path)
    recorded = record["settings"] | {"seed": record["seed"]}
    requested = settings.as_dict() | {"seed": seed}
    if recorded != requested:
        differences = {
            k: f"{recorded.get(k)}, requested {v}"
            for k, v in requested.items()
            if recorded.get(k) != v
        }
        raise ValueError(
            f"{path} is recorded with other settings ({differences}); "
            "add --again to replace it, or choose another --out"
        )
    if (end := record["curves"]["epoch"][-1]) != settings.epochs:
        raise records.BadRecord(
            f"{path}: it ends at epoch {end:.4g} of {settings.epochs}; record the run again with "
            "--again, or delete the file"
        )
    return True


def _cpu_estimate(experiment: Experiment, todo: Sequence[distributed.Run]) -> str:
    """Without a GPU, return a message with the expected time, from the book's runs on a CPU."""
    if torch.cuda.is_available():
        return ""
    seconds = 0.0
    for config, *_ in todo:
        path = records.path_of(records.folder(), experiment.name, experiment.stem(config, 0))
        try:
            record = records.read(path)
        except records.BadRecord:
            record = None
        same = config.as_dict() | {"epochs": record and record["settings"]["epochs"]}
        if not record or record["settings"] != same or "CPU" not in record["provenance"]["device"]:
            return " No GPU was found: the bar says within a minute how long the CPU takes."
        seconds += record["provenance"]["wall_s"] / same["epochs"] * config.epochs
    time = datetime.timedelta(seconds=math.ceil(seconds))
    return f" No GPU was found: at the speed of the book's own CPU runs they take {time} (h:mm:ss)."


def _record(
    run: Run, data: Any, points: list[Point], device: torch.device, out: Path
) -> dict[str, Any]:
    experiment = run.experiment
    run_flags = [
        *cli_args("device", str(device)),
        *cli_args("threads", torch.get_num_threads()),
        # argparse would read a folder "--" as the end of all flags.
        *cli_args("out", f"./{out}" if str(out).startswith("-") else str(out)),
    ]
    command = shlex.join([*experiment.command(run.settings, run.seed, run.step), *run_flags])
    provenance = records.provenance(device=device, wall_s=points[-1]["wall_s"], command=command)
    segments = records.with_segment(run.segments, run.conditions, points[-1]["epoch"])
    provenance |= {name: value for name, value in segments[-1].items() if name != "epochs"}
    provenance |= {"step": run.step}
    if len(segments) > 1:
        provenance |= {"segments": segments}
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
        "provenance": provenance,
    }
