"""What an experiment says of itself: all that the engine knows of it.

An experiment is a module of ``lnlab.experiments`` that has an ``EXPERIMENT``; the command line, the
loop, records and ``make replay`` find it there. It loads no torch: what trains is loaded by ``run``
when something is to be trained.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lnlab.config import Settings, kinds, words

if TYPE_CHECKING:
    from lnlab.run import Run


#: Former names of ``--step`` in the commands of records, and what takes their place.
FORMER_STEPS = {"manual": "plain", "graph": "plain"}


@dataclasses.dataclass(frozen=True)
class Grid:
    """Runs that the book has, or is to have: what would be typed to record them.

    Args:
        seeds: A run of each of the settings for each.
        given: From a setting to its value; to its values where the experiment takes several.
        on_gpu: What is another value on a GPU, ``seeds`` too. ``None`` leaves such a machine out:
            small networks are no faster there.
        replaced: Whether planned runs are to take the place of these, which are deleted then.
    """

    seeds: Sequence[int]
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    on_gpu: Mapping[str, Any] | None = None
    replaced: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """What an experiment says of itself.

    Args:
        name: As it is typed; records and their folder carry it.
        about: A line for the list of all.
        paper: Where the paper has it, or what it is about: at least the ``section``.
        settings: The dataclass of everything that is chosen. It has ``data``, ``epochs`` and
            ``first_epoch_points``.
        key: How its records are named, as ``{norm}-b{batch_size}``; what else is not as usual is
            added.
        label: The same in words, for the progress bar.
        load: From settings to the data, of any kind, with a ``name`` and a ``sha256``.
        run: Returns the class of its runs, and may load PyTorch.
        loss: Name and unit of what the optimizer sees, as its curve is called.
        measures: From each number that a run measures to its unit; ``#`` stands for a number from
            1, of a layer say.
        arrays: Likewise of the arrays worth keeping, measured as the numbers are.
        primary_metric: The measure that heads the progress bar.
        sweep_axes: What the command line runs if a flag is not given, of the settings of which it
            takes several values. They may depend on those before: then it is a function of them.
        defaults: Other settings, and how many ``seeds``, if a flag is not given and the dataclass's
            default is not meant.
        on_gpu: The same on a GPU.
        scales: From another scale, such as ``paper``, to the settings that it has unless they are
            given; the usual ones are called ``laptop``.
        skip_combination: Whether a run is left out, from what is chosen for it and for all that
            are asked for.
        steps: Ways to compute an update, the readable one first; none where there is one alone.
        grids: The runs that the book has.
        planned: Runs that are still to be recorded, those first that are worth most.
        threads: Of the CPU, with which the book's runs are recorded. ``None`` is PyTorch's choice.
        table: From records to the text that tells what they come to. ``None`` is a row for each
            kind of run, with the measure that heads the progress bar.
    """

    name: str
    about: str
    paper: Mapping[str, str]
    settings: type[Settings]
    key: str
    label: str
    load: Callable[[Any], Any]
    run: Callable[[], type[Run]]
    loss: tuple[str, str]
    measures: Mapping[str, str]
    primary_metric: str
    arrays: Mapping[str, str] = dataclasses.field(default_factory=dict)
    sweep_axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"seeds": 3})
    on_gpu: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    skip_combination: Callable[[dict[str, Any], list[dict[str, Any]]], bool] = lambda run, runs: (
        False
    )
    steps: tuple[str, ...] = ()
    grids: Sequence[Grid] = ()
    planned: Sequence[Grid] = ()
    threads: int | None = None
    table: Callable[[Sequence[dict[str, Any]]], str] | None = None

    def __post_init__(self) -> None:
        """Refuse a description that the engine cannot work with."""
        named = set(kinds(self.settings))
        asked = {"data", "epochs", "first_epoch_points", *self._key(), *self.sweep_axes}
        asked |= {*self.defaults, *self.on_gpu} - {"seeds"}
        for grid in (*self.grids, *self.planned):
            asked |= {*grid.given, *(grid.on_gpu or ())} - {"seeds"}
        for scale in self.scales.values():
            asked |= {*scale}
        if missing := sorted(asked - named):
            raise ValueError(
                f"Experiment {self.name}: settings must have all fields that are spoken of, "
                f"{', '.join(missing)} are missing"
            )
        if not isinstance(self.defaults.get("seeds"), int):
            raise ValueError(f"Experiment {self.name}: defaults must say how many seeds there are")
        if self.steps and "step" in named:
            raise ValueError(
                f"Experiment {self.name}: no setting may be called step where --step chooses "
                "among several ways to compute an update"
            )
        if self.scales and "scale" in named:
            raise ValueError(
                f"Experiment {self.name}: no setting may be called scale where --scale chooses "
                "among several"
            )
        if self.unit(self.primary_metric) is None:
            raise ValueError(
                f"Experiment {self.name}: primary_metric must be one of the measures, "
                f"got {self.primary_metric!r}"
            )

    def unit(self, name: str) -> str | None:
        """Return the unit of a curve or an array; ``None`` if the experiment does not speak of it.

        ``turn_2`` has that of ``turn_#``.
        """
        units = {"epoch": "epochs", "wall_s": "s", self.loss[0]: self.loss[1]}
        units |= {**self.measures, **self.arrays}
        return units.get(name, units.get(re.sub(r"(?<=_)\d+(?=_|$)", "#", name)))

    def _key(self) -> list[str]:
        return [name for _, name, *_ in string.Formatter().parse(self.key) if name]

    def stem(self, settings: Settings, seed: int) -> str:
        """Name a run by its key and by what is not as usual in its settings.

        What sets a run apart from the book's own goes into its name, so that both can be kept.
        """
        given = {k: getattr(settings, k) for k in (*self._key(), "epochs", "data")}
        usual, kept = type(settings)(**given).as_dict(), settings.as_dict()
        first = {field.name: field.default for field in dataclasses.fields(settings)}["data"]
        data = [settings.data] if settings.data != first else []
        key = self.key.format(**{k: _short(v) for k, v in given.items()})
        odd = [f"{k.replace('_', '-')}-{v}" for k, v in kept.items() if v != usual.get(k)]
        return "-".join([self.name, *data, key, *odd, f"seed{seed}"])

    def command(self, settings: Settings, seed: int, step: str = "") -> list[str]:
        """Return the words that repeat a run, but for where it runs and where its record goes."""
        # What the command line would have several values of, or another default, is said always.
        always = {*self._key(), *self.sweep_axes, *self.defaults, "epochs"} - {"seeds"}
        usual = type(settings)(**{name: getattr(settings, name) for name in always})
        texts = [
            words(name, value)
            for name, value in vars(settings).items()
            if name in always or value != getattr(usual, name)
        ]
        start = ["python", "-m", "lnlab", "replay", self.name]
        by = words("step", step) if self.steps else []
        return [*start, *itertools.chain(*texts), "--seeds", str(seed), *by]

    def settings_of(self, given: Mapping[str, Any], *, on_gpu: bool = False) -> list[Settings]:
        """Return the settings of all runs: each value of a setting with each of the others.

        Args:
            given: As in :class:`Grid`; the others are as the command line has them.
            on_gpu: Whether they are to run on a GPU.
        """
        usual = {**self.defaults, **(self.on_gpu if on_gpu else {})}
        usual.pop("seeds", None)
        runs = [usual | {k: v for k, v in given.items() if k not in self.sweep_axes}]
        for name, values in self.sweep_axes.items():
            runs = [
                run | {name: value}
                for run in runs
                for value in given.get(name) or (values(run) if callable(values) else values)
            ]
        return [self.settings(**run) for run in runs if not self.skip_combination(run, runs)]

    def book(self, *, on_gpu: bool = False) -> Iterator[tuple[list[Settings], Sequence[int]]]:
        """Yield settings and seeds of the runs that the book has, a grid at a time."""
        yield from (runs[1:] for runs in self.runs_of(self.grids, on_gpu=on_gpu))

    def runs_of(
        self, grids: Sequence[Grid], *, on_gpu: bool = False
    ) -> Iterator[tuple[Grid, list[Settings], Sequence[int]]]:
        """Yield each grid with the settings and the seeds of its runs."""
        for grid in grids:
            if on_gpu and grid.on_gpu is None:
                continue
            given = {"seeds": grid.seeds, **grid.given, **(grid.on_gpu if on_gpu else {})}
            seeds = given.pop("seeds")
            yield grid, self.settings_of(given, on_gpu=on_gpu), seeds


def _short(value: Any) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
