"""List the runs that are still to be recorded for the book, with their number and time.

Usage: python tools/plan.py [--time] [--record] [--out DIR] [--only NAME ...] [--grids N ...]
                            [--device DEVICE] [--jobs N]

The ``planned`` grids of each experiment define the runs to be recorded. The script lists all of
them by priority, with the number of runs that are recorded in ``--out``, in ``pending_runs`` or in
the book. ``pending_runs`` in the root of the clone holds the records of grids that are not
complete, or not yet on the pages of the book.

``--time`` trains each kind of run for some seconds on one thread and prints the remaining
core-hours, measured in CPU time, which other programs affect less. ``--record`` records the missing
runs into ``--out``, ``--jobs`` runs at a time, and resumes interrupted ones. On a GPU, several runs
at a time are faster, since networks of this size wait for Python most of the time.

When a grid is complete: move its records to ``book/runs``, move it from ``planned`` to ``grids``
and delete the grids that are marked ``replaced`` with their records, if none of their names is new.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lnlab import experiments, records
from lnlab.config import Settings
from lnlab.experiment import Experiment, Grid

# Each occurrence of a name stands for the next planned grid, the last one for all that are left.
PRIORITY = ("attentive_reader", "handwriting", "draw", "mnist", "skip_thoughts")
PENDING = Path(__file__).parents[1] / "pending_runs"
TIMING_S, NUM_WARMUP_UPDATES = 4.0, 20


class Planned(NamedTuple):
    """A planned grid and its runs."""

    number: int
    experiment: Experiment
    grid: Grid
    settings: list[Settings]

    def missing(self, folders: Sequence[Path]) -> list[tuple[Settings, int]]:
        """Return the runs for which no folder has a complete record."""
        runs = [(settings, seed) for seed in self.grid.seeds for settings in self.settings]
        return [run for run in runs if not any(_is_recorded(self.experiment, *run, f)
                                               for f in folders)]  # fmt: skip


def planned() -> Iterator[Planned]:
    """Yield all planned grids by priority."""
    order = [*PRIORITY, *(name for name in experiments.names() if name not in PRIORITY)]
    left = {name: list(experiments.find(name).planned) for name in order}
    number = 0
    for k, name in enumerate(order):
        count = 1 if name in order[k + 1 :] else len(left[name])
        grids, left[name] = left[name][:count], left[name][count:]
        for grid, settings, _ in experiments.find(name).runs_of(grids):
            yield Planned(number := number + 1, experiments.find(name), grid, settings)


def seconds(experiment: Experiment, settings: Settings, data: Any) -> float:
    """Return the approximate time of a run on one thread, from some updates and evaluations."""
    import torch

    from lnlab.training import _measure, measuring_points

    torch.set_num_threads(1)
    step = {"step": "auto"} if experiment.steps else {}
    run = experiment.run_class(settings, data, seed=0, device="cpu", **step)
    run.model.train()
    first = _timed(lambda: _measure(run))
    warm = min(NUM_WARMUP_UPDATES, run.updates_per_epoch // 2)
    list(run.advance(0, 0, warm))  # compilation and caches
    begin, taken = time.process_time(), 0
    for count, _ in run.advance(0, warm, run.updates_per_epoch):
        taken += count
        if time.process_time() - begin > TIMING_S:
            break
    update_s = (time.process_time() - begin) / max(1, taken)
    later = _timed(lambda: _measure(run))
    points = len(measuring_points(run.updates_per_epoch, settings.first_epoch_points))
    points += settings.epochs
    # Skip-thoughts evaluates its vectors only at some points, which include the first.
    num_evaluations = (
        settings.epochs // every if (every := getattr(settings, "evaluate_every", None)) else 0
    )
    return (
        settings.epochs * run.updates_per_epoch * update_s
        + points * later
        + num_evaluations * max(0.0, first - later)
    )


def _timed(call: Any) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _is_recorded(experiment: Experiment, settings: Settings, seed: int, folder: Path) -> bool:
    path = records.path_of(folder, experiment.name, experiment.stem(settings, seed))
    if not path.exists():
        return False
    try:
        record = records.read(path)
    except records.BadRecord:
        return False
    whole = record["curves"]["epoch"][-1] == settings.epochs
    return whole and record["settings"] == settings.as_dict() and record["seed"] == seed


def _hours(
    plan: Planned, missing: Sequence[tuple[Settings, int]], known: dict[Any, float]
) -> float:
    """Return the core-hours of runs, which do not depend on the learning rate and the seed."""
    total = 0.0
    for settings, _ in missing:
        kind = (plan.experiment.name,
                *sorted((k, str(v)) for k, v in settings.as_dict().items()
                        if k not in ("learning_rate", "gain", "initialization")))  # fmt: skip
        if kind not in known:
            known[kind] = seconds(plan.experiment, settings, plan.experiment.load(settings))
        total += known[kind] / 3600
    return total


def _describe(grid: Grid) -> str:
    overrides = ", ".join(
        f"{name}={' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in grid.overrides.items()
    )
    return f"seeds {min(grid.seeds)} to {max(grid.seeds)}; {overrides or 'as usual'}"


def main(arguments: list[str] | None = None) -> None:
    """List the planned runs; measure their time or record them if requested."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time", action="store_true", help="measure the remaining core-hours")
    parser.add_argument("--record", action="store_true", help="record the missing runs by priority")
    parser.add_argument("--out", default=str(PENDING), metavar="DIR",
                        help="folder of the new records (default: pending_runs)")  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these experiments")
    parser.add_argument(
        "--grids", nargs="+", type=int, metavar="N", help="only the grids with these numbers"
    )
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="number of runs to record at a time (default: 1)")  # fmt: skip
    args = parser.parse_args(arguments)
    selected = [
        plan for plan in planned()
        if (not args.only or plan.experiment.name in args.only)
        and (not args.grids or plan.number in args.grids)
    ]  # fmt: skip
    folders = list(dict.fromkeys([Path(args.out), PENDING, records.folder()]))
    known: dict[Any, float] = {}
    total = 0.0
    for plan in selected:
        missing = plan.missing(folders)
        count = len(plan.grid.seeds) * len(plan.settings)
        hours = ""
        if args.time:
            total += (left := _hours(plan, missing, known))
            hours = f"{left:6.2f} h  "
        print(f"{plan.number:2d}  {plan.experiment.name:<17} {count - len(missing):3d} of "
              f"{count:3d}  {hours}{_describe(plan.grid)}", flush=True)  # fmt: skip
    if args.time:
        print(f"{total:.1f} core-hours left")
    for name in experiments.names():
        for grid in experiments.find(name).grids:
            if grid.replaced:
                print(f"replaced: {name:<17} {_describe(grid)}")
    if args.record:
        try:
            failed = _record(selected, folders, args.device, args.jobs)
        except KeyboardInterrupt as stop:
            sys.exit(f"Stopped{stop}. Checkpoints are kept: run the same command to resume.")
        if failed:
            sys.exit("\n".join(failed))


def _record(
    selected: Sequence[Planned], folders: Sequence[Path], device: str, jobs: int
) -> list[str]:
    """Record the missing runs; return the errors of failed runs after all others are recorded."""
    import joblib

    # Grid by grid and seed by seed, so that complete seeds can be read before all are there.
    runs = [
        joblib.delayed(_record_run)(plan.experiment.name, settings, seed, folders[0], device)
        for plan in selected
        for settings, seed in plan.missing(folders)
    ]
    return [*filter(None, joblib.Parallel(n_jobs=jobs, pre_dispatch=jobs, batch_size=1)(runs))]


def _record_run(name: str, settings: Settings, seed: int, out: Path, device: str) -> str:
    import torch

    from lnlab.cli import stopped_by_signals
    from lnlab.runner import record_runs

    experiment = experiments.find(name)
    torch.set_num_threads(experiment.threads or 1)
    try:
        with stopped_by_signals():
            record_runs(experiment, [settings], [seed], out=out, device=device)
    except RuntimeError as error:  # for example, it diverged
        return str(error)
    return ""


if __name__ == "__main__":
    main()
