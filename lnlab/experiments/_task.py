"""Comparison of an experiment's runs, and tables of the results.

A group of runs differs only in arm, learning rate and seed; there is one table per group. Each arm
is evaluated at its own best learning rate and each run where its own score is lowest; arms are
compared seed by seed. The paper's claims are evaluated in :mod:`lnlab.claims`.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlab import comparison
from lnlab.experiments import _arms, _curves
from lnlab.experiments._arms import Arm, Record, Score, arms, paired, shared_seeds

# Settings that may differ within a group: they define the arms, or do not affect the comparison.
_ARM_SETTINGS = {
    "norm", "start", "gain", "learning_rate", "initialization", "input_scale", "eps", "momentum",
}  # fmt: skip
_OUTPUT_SETTINGS = {"keep", "attention_examples"}  # further outputs of a run, in its record
# What is measured, and when.
MEASURING_SETTINGS = {"first_epoch_points", "evaluate_every", "lines", "maps", "updates_per_epoch"}
#: How changed settings are described, if not by name and value.
_PHRASES = {
    "epochs": "{} epochs",
    "glimpses": "{} glimpses",
    "length": "sequences of at most {}",
    "max_length": "passages of at most {} words",
    "passages": "{} passages per question",
}
NO_NORM, TUNED_INIT, LAYER = "none", "none, tuned initialization", "layer"
#: Arms of most experiments: no norm, with PyTorch's or a tuned initialization, and layer norm.
STARTS: Mapping[str, Mapping[str, Any]] = {
    NO_NORM: {"norm": "none", "start": "usual"},
    TUNED_INIT: {"norm": "none", "start": "chosen"},
    LAYER: {"norm": "layer", "start": "usual", "gain": 1.0},
}


def curve(run: Record, name: str) -> np.ndarray:
    """Return a curve of a run, with NaN for values that are missing or not finite."""
    return np.array(run["curves"][name], float)


def lowest(name: str) -> Score:
    """Return a score that is a curve, of which lower values are better."""
    return lambda run: curve(run, name)


def describe_non_default_config(changed: Mapping[str, Any]) -> str:
    """Return changed settings in words; what is measured is left out if other settings changed.

    Example:
        >>> describe_non_default_config({"batch_size": 4, "bias": False, "evaluate_every": None})
        'batch size 4, without bias'
        >>> describe_non_default_config({"epochs": 32, "updates_per_epoch": 250, "glimpses": 16})
        '8,000 updates, measured every 250, 16 glimpses'
    """
    texts = []
    if changed.keys() >= {"epochs", "updates_per_epoch"}:
        updates = changed["epochs"] * changed["updates_per_epoch"]
        texts.append(f"{updates:,} updates, measured every {changed['updates_per_epoch']}")
    others = changed.keys() - MEASURING_SETTINGS - ({"epochs"} if texts else set())
    for name in [name for name in changed if name in others or not (others or texts)]:
        label, value = name.replace("_", " "), changed[name]
        if value is None or value is False:
            texts.append(f"without {label}")
        else:
            phrase = _PHRASES.get(name, f"{label} {{}}")
            texts.append(label if value is True else phrase.format(value))
    return ", ".join(texts)


def first_epochs(run: Record, epochs: float) -> Record:
    """Return a run that is cut to its first epochs; its learning rate must be constant."""
    count = int((curve(run, "epoch") <= epochs + 1e-6).sum())
    curves = {k: v if isinstance(v, str) else v[:count] for k, v in run["curves"].items()}
    return run | {"settings": run["settings"] | {"epochs": epochs}, "curves": curves}


class Measure(NamedTuple):
    """A quantity of a run, evaluated where the run's score is lowest unless its name says where.

    Attributes:
        name: Its name, with the unit.
        value: Returns the value for a run, or NaN.
        better: 1 if higher is better, -1 if lower is better.
        digits: Number of decimal places to print.
    """

    name: str
    value: Callable[[Record], float]
    better: int = -1
    digits: int = 2


class Row(NamedTuple):
    """The values of a measure in two arms.

    Attributes:
        name: Name of the measure.
        none: Values of the arm that layer norm is compared with, shape ``(seeds,)``.
        layer: Values with layer norm, for the same seeds.
        better: 1 if higher is better, -1 if lower is better.
    """

    name: str
    none: np.ndarray
    layer: np.ndarray
    better: int

    @property
    def difference(self) -> np.ndarray:
        """Layer norm minus the other arm, for each seed."""
        return self.layer - self.none


@dataclasses.dataclass(frozen=True)
class Task:
    """Definition of the comparison of an experiment's runs.

    Args:
        settings: Returns the settings of the main group of runs: the experiment's settings class,
            or a function of other values than its defaults.
        score: The score of a run at each measuring point; lower is better. Learning rates are
            chosen by its minimum, and updates to targets are counted on it.
        score_name: Name of the score.
        arms: Maps the name of an arm to the settings that its runs have.
        measures: Measures of the tables.
        per_epoch: Returns the number of updates per epoch of a run.
        unit: Unit of the score as printed.
        factor: Factor from the score to this unit, negative if the score has the opposite sign.
        others: Further scores for which updates to targets are compared, by name.
        others_count: Whether these enter the labels, too, because the paper names no metric.
        shorter: Epochs of runs that are compared with the beginning of the main runs, too.
    """

    settings: Callable[[], Any]
    score: Score
    score_name: str
    arms: Mapping[str, Mapping[str, Any]]
    measures: Sequence[Measure] = ()
    per_epoch: Callable[[Record], int] = lambda run: run["settings"]["updates_per_epoch"]
    unit: str = "nats"
    factor: float = 1.0
    others: Mapping[str, Score] = dataclasses.field(default_factory=dict)
    others_count: bool = False
    shorter: int | None = None

    @property
    def scores(self) -> dict[str, Score]:
        """The main score, which is the paper's metric, then the others, by name."""
        return {self.score_name: self.score, **self.others}

    def updates(self, run: Record) -> np.ndarray:
        """Return the number of updates at each measuring point."""
        return (curve(run, "epoch") * self.per_epoch(run)).round()

    def at_best(self, run: Record, name: str) -> float:
        """Return the value of a curve where the run's score is lowest, or NaN."""
        values = self.score(run)
        missing = name not in run["curves"] or np.isnan(values).all()
        return np.nan if missing else float(curve(run, name)[np.nanargmin(values)])

    def run_groups(self, records: Sequence[Record]) -> list[tuple[dict[str, Any], list[Record]]]:
        """Group runs by the settings that differ from the defaults.

        Of runs that differ only in their outputs, those with the fewest outputs are used. Main runs
        that are cut to ``shorter`` epochs join the runs of this length with the same seeds.

        Returns:
            For each group, the changed settings and the runs; the group with the fewest changes
            first.
        """
        defaults, result = self.settings().as_dict(), {}
        for run in records:
            settings = dict.fromkeys(defaults) | run["settings"]  # older records may lack some
            changed = {
                k: v
                for k, v in settings.items()
                if k not in _ARM_SETTINGS | _OUTPUT_SETTINGS and v != defaults.get(k)
            }
            result.setdefault(json.dumps(changed, sort_keys=True), []).append(run)
        if short_runs := result.get(json.dumps({"epochs": self.shorter})):
            seeds = {run["seed"] for run in short_runs}
            cut = [first_epochs(run, self.shorter) for run in result.get("{}", [])]
            short_runs += [run for run in cut if run["seed"] in seeds]
        parts = [(json.loads(changed), _drop_duplicates(runs)) for changed, runs in result.items()]
        return sorted(parts, key=lambda part: len(part[0]))

    def at_best_rates(self, records: Sequence[Record], metric: str | None = None) -> dict[str, Arm]:
        """Return the arms of a group of runs, each at its best learning rate.

        Args:
            records: The runs.
            metric: One of ``scores``, by which the rates are chosen; by default the main one.
        """
        return arms(records, self.arms, self.scores[metric] if metric else self.score)

    def rows(self, other: Arm, layer: Arm) -> list[Row]:
        """Return the values of two arms for all measures that their runs have."""
        results = []
        for name, value, better, _ in self.measures:
            with_norm, without = paired(layer, other, value)
            if not np.isnan([with_norm, without]).all():
                results.append(Row(name, without, with_norm, better))
        return results

    def no_plateau(self, *arms: Arm, score: Score | None = None) -> str:
        """Return why an arm has not reached a plateau, or ``""`` if all have."""
        reasons = (_arms.no_plateau(arm, score or self.score, self.updates) for arm in arms)
        return next(filter(None, reasons), "")

    def ratios(self, other: Arm, layer: Arm, score: Score | None = None) -> np.ndarray | None:
        """Return the ratio of updates to each target, layer norm to other, ``(targets, seeds)``.

        ``None`` if the other arm has no plateau, which defines the targets.
        """
        score = score or self.score
        if self.no_plateau(other, score=score):
            return None
        return _arms.ratios(other, layer, score, self.updates)

    def steps_to_targets(self, plain: Arm, arm: Arm) -> np.ndarray:
        """Return the number of updates of an arm's runs to each target, ``(targets, seeds)``.

        Args:
            plain: The baseline, whose mean over seeds defines the targets.
            arm: Any arm, also the baseline.
        """
        targets = _curves.targets(_arms.mean_curve(plain, self.score))
        return np.array([
            [_curves.steps_to_target(self.updates(run), self.score(run), target)
             for run in arm.runs.values()]
            for target in targets
        ])  # fmt: skip

    def text(self, records: Sequence[Record]) -> str:
        """Return the tables as text, one for each group of runs."""
        parts = []
        for changed, runs in self.run_groups(records):
            title = f"Settings: {describe_non_default_config(changed) or 'defaults'}"
            parts.append("\n".join([title, *self._table(runs)]))
        return "\n\n".join(parts)

    def _table(self, records: Sequence[Record]) -> list[str]:
        groups = self.at_best_rates(records)
        unit = f", {self.unit}" if self.unit else ""
        lines = [f"  Best {self.score_name}{unit}, mean over seeds, by learning rate:"]
        for name, arm in groups.items():
            rates = {rate: self.factor * value for rate, value in arm.rates.items()}
            score_texts = (
                f"{r:g}: {_minus(f'{v:.4g}')}{'*' * (r == arm.rate)}" for r, v in rates.items()
            )
            edge = "  (at the edge)" if arm.at_edge else ""
            lines.append(f"    {name:<22} {'  '.join(score_texts)}{edge}")
        for name, arm in groups.items():
            if name != LAYER and LAYER in groups and shared_seeds(arm, groups[LAYER]):
                lines += self._compared(name, arm, groups[LAYER])
        return lines

    def _compared(self, name: str, other: Arm, layer: Arm) -> list[str]:
        seeds = len(shared_seeds(other, layer))
        spread = f" ({comparison.limits_name(seeds)})" if seeds > 1 else ""
        best = "lowest" if self.factor > 0 else "highest"
        lines = [
            f"  {name} and layer norm, each at its rate (*), mean over {seeds} "
            f"seed{'s' * (seeds > 1)}, and their difference{spread};",
            f"  unless a row says otherwise, each run where its {self.score_name} is {best}:",
        ]
        digits = {measure.name: measure.digits for measure in self.measures}
        rows = self.rows(other, layer)
        width = max((len(row.name) for row in rows), default=0)
        for row in rows:
            d, (low, high) = digits[row.name], comparison.limits(row.difference)
            ends = f" ({low:+.{d}f} to {high:+.{d}f})" if seeds > 1 else ""
            numbers = (
                f"{row.none.mean():8.{d}f} {row.layer.mean():8.{d}f}  "
                f"{row.difference.mean():+.{d}f}{ends}"
            )
            lines.append(f"    {row.name:<{width}} {_minus(numbers)}")
        return lines


def _minus(numbers: str) -> str:
    return numbers.replace("-", "−")


def _drop_duplicates(records: Sequence[Record]) -> list[Record]:
    """Of runs that are equal except for their outputs, return those without outputs if any."""
    duplicates: dict[str, list[Record]] = {}
    for run in records:
        settings = {k: v for k, v in run["settings"].items() if k not in _OUTPUT_SETTINGS}
        duplicates.setdefault(json.dumps([settings, run["seed"]], sort_keys=True), []).append(run)

    def has_outputs(run: Record) -> bool:
        return any(run["settings"].get(name) for name in _OUTPUT_SETTINGS)

    return [
        run
        for runs in duplicates.values()
        for run in runs
        if has_outputs(run) == min(map(has_outputs, runs))
    ]
