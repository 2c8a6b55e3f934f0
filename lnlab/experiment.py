"""Declarative description of an experiment.

An experiment is a module of ``lnlab.experiments`` with a constant ``EXPERIMENT``, from which the
command line, the training loop, records and ``make replay`` learn about it. The module does not
import torch: ``run`` names the code that trains, which is imported when it is needed.
"""

from __future__ import annotations

import dataclasses
import itertools
import pkgutil
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lnlab import datasets
from lnlab.config import Settings, cli_args

if TYPE_CHECKING:
    from lnlab.run import Run


#: Former values of ``--step``, found in the commands of records, and their replacements.
FORMER_STEPS = {"manual": "plain", "graph": "plain"}


@dataclasses.dataclass(frozen=True)
class Grid:
    """A grid of runs of the book: every combination of these settings, with every seed.

    Args:
        seeds: The seeds; all settings are run with each of them.
        overrides: Maps a setting to its value, or to a list of values if it is a sweep axis. Other
            settings have the defaults of the command line.
        on_gpu: Values that differ on a GPU, also ``seeds``. ``None`` skips the grid on a GPU, where
            small networks are not faster.
        replaced: Whether planned runs will replace these runs, which are then deleted.
    """

    seeds: Sequence[int]
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    on_gpu: Mapping[str, Any] | None = None
    replaced: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """Declarative description of an experiment.

    Args:
        name: Name on the command line, in records and of their folder.
        about: One line for the list of experiments.
        paper: Where the paper describes it: at least the ``section``.
        settings: The dataclass of its settings, with at least ``data``, ``epochs`` and
            ``first_epoch_points``.
        key: Format of the names of records, such as ``{norm}-b{batch_size}``. Settings that differ
            from their defaults are appended.
        label: The same in words, for the progress bar.
        run: Import path ``module:class`` of the subclass of ``Run``, whose module may import
            PyTorch.
        loss: Name and unit of the curve of the training loss.
        measures: Maps each measured number to its unit; ``#`` stands for a number from 1, for
            example of a layer.
        arrays: The same for measured arrays.
        primary_metric: The measure that the progress bar and the default table show.
        sweep_axes: Settings of which the command line takes several values, with the values that
            are run by default: a list, or a function of the settings before it.
        defaults: Default values on the command line that differ from the dataclass's, and the
            number of ``seeds``.
        main: Settings of the book's main runs that differ from these defaults.
        on_gpu: Default values on the command line on a GPU.
        scales: Maps the name of a preset other than ``laptop``, such as ``paper``, to its settings.
        skip_combination: Returns whether to leave out a run, from its settings and those of all
            runs that were requested.
        steps: Implementations of an update, the readable one first; empty if there is only one.
        grids: The runs of the book.
        planned: Runs that are still to be recorded, the most useful first.
        threads: Number of CPU threads for the book's runs. ``None`` is PyTorch's choice.
        table: Import path of a function that returns a text which summarizes records. ``None`` is a
            table with one row per combination of settings and the primary metric.
        load: Returns the data for some settings, any object with a ``name`` and a ``sha256``: by
            default the data set that the setting ``data`` names.
    """

    name: str
    about: str
    paper: Mapping[str, str]
    settings: type[Settings]
    key: str
    label: str
    run: str
    loss: tuple[str, str]
    measures: Mapping[str, str]
    primary_metric: str
    arrays: Mapping[str, str] = dataclasses.field(default_factory=dict)
    sweep_axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"seeds": 3})
    main: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    on_gpu: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    skip_combination: Callable[[dict[str, Any], list[dict[str, Any]]], bool] = lambda run, runs: (
        False
    )
    steps: tuple[str, ...] = ()
    grids: Sequence[Grid] = ()
    planned: Sequence[Grid] = ()
    threads: int | None = None
    table: str | None = None
    load: Callable[[Any], Any] = lambda settings: datasets.load(settings.data)

    @property
    def run_class(self) -> type[Run]:
        """The subclass of ``Run`` that trains."""
        return pkgutil.resolve_name(self.run)

    def unit(self, name: str) -> str | None:
        """Return the unit of a curve or an array, or ``None`` for an unknown name.

        ``turn_2`` has the unit of ``turn_#``.
        """
        units = {"epoch": "epochs", "wall_s": "s", self.loss[0]: self.loss[1]}
        units |= {**self.measures, **self.arrays}
        return units.get(name, units.get(re.sub(r"(?<=_)\d+(?=_|$)", "#", name)))

    def _key(self) -> list[str]:
        return [name for _, name, *_ in string.Formatter().parse(self.key) if name]

    def stem(self, settings: Settings, seed: int) -> str:
        """Return the name of a run's record: its key and the settings that differ from defaults.

        Runs with other settings than the book's therefore have other names.
        """
        key_settings = {k: getattr(settings, k) for k in (*self._key(), "epochs", "data")}
        defaults, values = type(settings)(**key_settings).as_dict(), settings.as_dict()
        default_data = {field.name: field.default for field in dataclasses.fields(settings)}["data"]
        data = [settings.data] if settings.data != default_data else []
        key = self.key.format(**{k: _short(v) for k, v in key_settings.items()})
        changed = [f"{k.replace('_', '-')}-{v}" for k, v in values.items() if v != defaults.get(k)]
        return "-".join([self.name, *data, key, *changed, f"seed{seed}"])

    def command(self, settings: Settings, seed: int, step: str = "") -> list[str]:
        """Return the command that repeats a run, without ``--device``, ``--threads``, ``--out``."""
        # Sweep axes and settings with another default on the command line are always included.
        always = {*self._key(), *self.sweep_axes, *self.defaults, "epochs"} - {"seeds"}
        defaults = type(settings)(**{name: getattr(settings, name) for name in always})
        flags = [
            cli_args(name, value)
            for name, value in vars(settings).items()
            if name in always or value != getattr(defaults, name)
        ]
        start = ["python", "-m", "lnlab", "replay", self.name]
        step_flag = cli_args("step", step) if self.steps else []
        return [*start, *itertools.chain(*flags), "--seeds", str(seed), *step_flag]

    @property
    def main_command(self) -> str:
        """The command that records the book's main runs."""
        flags = itertools.chain(*(cli_args(name, value) for name, value in self.main.items()))
        return " ".join(["python -m lnlab replay", self.name, *flags])

    def settings_of(self, overrides: Mapping[str, Any], *, on_gpu: bool = False) -> list[Settings]:
        """Return the settings of all runs: the Cartesian product of the sweep axes.

        Args:
            overrides: As in :class:`Grid`; other settings have the defaults of the command line.
            on_gpu: Whether to use the defaults for a GPU.
        """
        defaults = {**self.defaults, **(self.on_gpu if on_gpu else {})}
        defaults.pop("seeds", None)
        runs = [defaults | {k: v for k, v in overrides.items() if k not in self.sweep_axes}]
        for name, values in self.sweep_axes.items():
            runs = [
                run | {name: value}
                for run in runs
                for value in overrides.get(name) or (values(run) if callable(values) else values)
            ]
        return [self.settings(**run) for run in runs if not self.skip_combination(run, runs)]

    def book(self, *, on_gpu: bool = False) -> Iterator[tuple[list[Settings], Sequence[int]]]:
        """Yield settings and seeds of the book's runs, one grid at a time."""
        yield from (runs[1:] for runs in self.runs_of(self.grids, on_gpu=on_gpu))

    def runs_of(
        self, grids: Sequence[Grid], *, on_gpu: bool = False
    ) -> Iterator[tuple[Grid, list[Settings], Sequence[int]]]:
        """Yield each grid with the settings and the seeds of its runs."""
        for grid in grids:
            if on_gpu and grid.on_gpu is None:
                continue
            overrides = {"seeds": grid.seeds, **grid.overrides, **(grid.on_gpu if on_gpu else {})}
            seeds = overrides.pop("seeds")
            yield grid, self.settings_of(overrides, on_gpu=on_gpu), seeds


def _short(value: Any) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
