"""Train and record many runs, over settings and seeds, in one process or in several."""

import datetime
import math
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from lnlab import atomic_write, checkpoint, messages, parallel, records
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
    jobs: int = 1,
    engine: parallel.Engine = "loky",
    scheduler: str | None = None,
    **options: Any,
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with checkpoints.

    The checkpoint of a run is in ``.checkpoints`` next to its record until the record is written; a
    call after an interruption resumes from it. If another call is training a run in the same
    folder, this call waits for it.

    Args:
        experiment: The experiment.
        settings: Settings to run, all with the same data set.
        seeds: Seeds to run each of the settings with.
        out: Folder of the records, which has a subfolder for each experiment.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Repeat runs that are recorded, and discard checkpoints that cannot be used.
        jobs: Number of runs at a time, each in a process of its own if there are several; they
            share the CPU threads of this process.
        engine: ``loky`` for processes of this machine, ``dask`` for the workers of a cluster
            (:mod:`lnlab.parallel`).
        scheduler: Address of the cluster's scheduler.
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
    runs = [
        (config, seed, records.path_of(out, experiment.name, experiment.stem(config, seed)))
        for seed in seeds
        for config in settings
    ]
    check_different("record_runs: records", [path.name for *_, path in runs])
    todo, damaged = _due(runs, again)
    for *_, path in todo:
        records.check_writable(path)
        records.check_writable(checkpoint.path_of(path))
    if done := len(runs) - len(todo) - len(damaged):
        messages.info(f"{done} of {len(runs)} runs are recorded already in {out}.")
    if todo:
        for message in damaged:
            messages.warn(message)
        data = experiment.load(settings[0])  # first here, because it may download the data
        estimate = _cpu_estimate(experiment, todo) if device == "auto" else ""
        count = f"{len(todo)} run{'s' * (len(todo) > 1)}"
        device_names = {"loky": records.device_name(resolve_device(device)), "dask": scheduler}
        at_a_time = f", {jobs} at a time" if jobs > 1 else ""
        messages.info(
            f"{count} on {device_names[engine]}{at_a_time}; records go to {out}.{estimate}"
        )
        updates = {path: run.epochs * run_class.updates(run, data) for run, _, path in todo}
        context = _RecordingContext(experiment, out, device, again, options)
        with Progress(total=sum(updates.values())) as bar:
            if jobs == 1 and engine == "loky":
                failures = {
                    path: _try_record(context, *run, path, data, bar) for *run, path in todo
                }
            else:
                failures = _record_in_parallel(
                    context, todo, updates, bar, jobs=jobs, engine=engine, scheduler=scheduler
                )
        _raise_failures(failures)
    if damaged:
        raise records.BadRecord("\n".join(damaged))
    return [path for *_, path in runs]


Planned = tuple[Settings, int, Path]  # settings, seed, the record's path


class _RecordingContext(NamedTuple):
    """What is the same in all runs of a call."""

    experiment: Experiment
    out: Path
    device: str
    again: bool
    options: dict[str, Any]


def _due(runs: Sequence[Planned], again: bool) -> tuple[list[Planned], list[str]]:
    """Remove what earlier calls left behind; return the runs to train, and damaged records."""
    for folder in {path.parent for *_, path in runs}:
        for pattern in ("*.json", "*.npz"):
            atomic_write.remove_stale(folder, pattern)
        atomic_write.remove_stale(folder / checkpoint.FOLDER, "*.pt")
    todo, damaged = [], []
    for run in runs:
        checkpoint.remove_recorded(run[2], messages.info)
        try:
            if again or not _is_recorded(*run):
                todo.append(run)
        except records.BadRecord as error:  # reported at the end, after the other runs
            damaged.append(str(error))
    return todo, damaged


def _record_in_parallel(
    context: _RecordingContext,
    todo: Sequence[Planned],
    updates: dict[Path, int],
    bar: Progress,
    **pool: Any,
) -> dict[Path, str]:
    """Record runs in other processes, the longest first, so that all end together."""
    threads = max(1, torch.get_num_threads() // pool["jobs"])
    ordered = sorted(todo, key=lambda run: updates[run[2]], reverse=True)
    calls = [(context, threads, todo[0][0], *run) for run in ordered]
    failures = {}
    for path, failures[path] in parallel.run_all(_record_in_process, calls, **pool):
        bar.update(updates[path])
        bar.set_postfix_str(path.stem)
    return failures


def _record_in_process(
    context: _RecordingContext,
    threads: int,
    first: Settings,
    settings: Settings,
    seed: int,
    path: Path,
) -> tuple[Path, str]:
    """Record one run in a process of :func:`lnlab.parallel.run_all`; return why it failed."""
    torch.set_num_threads(threads)
    key = f"{context.experiment.name} {first}"
    if key not in _DATA:
        _DATA.clear()
        _DATA[key] = context.experiment.load(first)
    total = settings.epochs * context.experiment.run_class.updates(settings, _DATA[key])
    number = parallel.process_number()  # below the bar of all runs, on a terminal
    hidden = number is None or not messages.stderr().isatty()
    with Progress(total=total, position=number, leave=False, disable=hidden) as bar:
        return path, _try_record(context, settings, seed, path, _DATA[key], bar)


_DATA: dict[str, Any] = {}  # of this process, which trains many runs on the same data


def _try_record(
    context: _RecordingContext, settings: Settings, seed: int, path: Path, data: Any, bar: Progress
) -> str:
    """Train a run and write its record; return why it failed, or an empty string."""
    try:
        with checkpoint.acquire_lock(path, bar.set_description):
            # Another command may have recorded the run in the meantime.
            if not context.again and _is_recorded(settings, seed, path):
                bar.skip(settings.epochs * context.experiment.run_class.updates(settings, data))
                return ""
            record = _train(context, settings, seed, path, data, bar)
            records.check(record, path.name)
            records.write(record, path)
            checkpoint.drop(settings, seed, path)
    except (ValueError, RuntimeError) as error:
        # At once, above the progress bar; the others may take hours.
        messages.warn(f"{path.stem} has failed: {error}")
        return str(error)
    return ""


def _train(
    context: _RecordingContext, settings: Settings, seed: int, path: Path, data: Any, bar: Progress
) -> dict[str, Any]:
    """Train a run and return its record."""
    experiment = context.experiment
    device = parallel.device_of_process(resolve_device(context.device))
    bar.set_description(f"{experiment.label.format(**vars(settings))}, seed {seed}")
    bar.start_run()
    run = experiment.run_class(settings, data, seed=seed, device=device, **context.options)
    points = []
    for point in train(
        run,
        epochs=settings.epochs,
        first_epoch_points=settings.first_epoch_points,
        checkpoint=checkpoint.path_of(path),
        again=context.again,
        on_update=bar.update,
        on_resume=bar.skip,
    ):
        points.append(point)
        bar.set_postfix_str(_progress_text(experiment, point))
    return _record(run, data, points, device, context.out)


def _raise_failures(failures: dict[Path, str]) -> None:
    """Raise one error that names all failed runs, if there are any.

    Args:
        failures: Maps the path of each run to the reason of its failure, or to an empty string.
    """
    failed = [f"\n  {path.stem}: {reason}" for path, reason in failures.items() if reason]
    if failed:
        raise RuntimeError(
            f"{len(failed)} of {len(failures)} runs have no record yet:{''.join(failed)}\n"
            "Run the same command to resume them from their checkpoints."
        )


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


def _cpu_estimate(experiment: Experiment, todo: Sequence[Planned]) -> str:
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
            return " No GPU was found: the bar shows the estimated time on the CPU within a minute."
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
