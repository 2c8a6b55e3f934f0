"""How runs of an experiment are compared, and the tables that say what they come to.

Runs of one kind differ in arm, rate and seed alone; there is a table for each kind. Every arm
counts at its own best rate, every run where its own score was lowest, and arms are compared seed by
seed. What that says on the paper's claims is weighed in :mod:`lnlab.claims`, and there alone.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlab import comparison
from lnlab.experiments import _arms, _curves
from lnlab.experiments._arms import Arm, Record, Score, arms, paired

# What sets the runs of one kind apart, or changes nothing that is compared.
_FREE = {
    "norm", "start", "gain", "learning_rate", "initialization", "input_scale", "eps", "momentum",
}  # fmt: skip
_KEPT = {"keep", "pictures"}  # what a run keeps beside its curves
_MEASURED = {"first_epoch_points", "judge_every", "maps"}  # how often it measures, and what
NONE, CHOSEN, LAYER = "none", "none, tuned initialization", "layer"
#: The arms of most: without norm, from PyTorch's and from a tuned initialization; with layer norm.
STARTS: Mapping[str, Mapping[str, Any]] = {
    NONE: {"norm": "none", "start": "usual"},
    CHOSEN: {"norm": "none", "start": "chosen"},
    LAYER: {"norm": "layer", "start": "usual", "gain": 1.0},
}


def curve(run: Record, name: str) -> np.ndarray:
    """Return a curve; NaN where nothing was measured, or no number."""
    return np.array(run["curves"][name], float)


def lowest(name: str) -> Score:
    """Return the score that is a curve of which less is better."""
    return lambda run: curve(run, name)


def describe_non_default_config(odd: Mapping[str, Any]) -> str:
    """Say what is odd in the settings of runs; what they measure, only if nothing else is.

    Example:
        >>> describe_non_default_config({"batch_size": 4, "constant": False, "judge_every": None})
        'batch size 4, without constant'
    """
    texts = []
    for name in [name for name in odd if name not in _MEASURED] or odd:
        words, value = name.replace("_", " "), odd[name]
        if value is None or value is False:
            texts.append(f"without {words}")
        else:
            texts.append(words if value is True else f"{words} {value}")
    return ", ".join(texts)


class Measure(NamedTuple):
    """What is measured of a run where its score is lowest.

    Attributes:
        name: In words, with its unit.
        value: Of a run; NaN if it has none.
        better: 1 where more is better, -1 where less is.
        digits: After the point, where it is printed.
    """

    name: str
    value: Callable[[Record], float]
    better: int = -1
    digits: int = 2


class Row(NamedTuple):
    """A measure of two arms.

    Attributes:
        name: Of the measure.
        none: Of the arm that layer norm stands beside, one a seed.
        layer: With layer norm, of the same seeds.
        better: 1 where more is better, -1 where less is.
    """

    name: str
    none: np.ndarray
    layer: np.ndarray
    better: int

    @property
    def difference(self) -> np.ndarray:
        """What layer norm adds, seed by seed."""
        return self.layer - self.none


@dataclasses.dataclass(frozen=True)
class Task:
    """How runs of an experiment are compared.

    Args:
        settings: The experiment's; their defaults are "as usual".
        score: By which rates are chosen and updates to targets counted; the lower, the better.
        seeks: What the score is, in words.
        arms: From an arm's name to the settings that its runs have.
        measures: What is told of each arm.
        per_epoch: How many updates an epoch of a run has.
        unit: Of the score as it is printed.
        factor: From the score to that unit; below 0 where the score is turned round.
        others: What "faster" is told by beside the score, from words to scores.
    """

    settings: Callable[[], Any]
    score: Score
    seeks: str
    arms: Mapping[str, Mapping[str, Any]]
    measures: Sequence[Measure] = ()
    per_epoch: Callable[[Record], int] = lambda run: run["settings"]["updates_an_epoch"]
    unit: str = "nats"
    factor: float = 1.0
    others: Mapping[str, Score] = dataclasses.field(default_factory=dict)

    @property
    def scores(self) -> dict[str, Score]:
        """The paper's own metric, then the others, by their words."""
        return {self.seeks: self.score, **self.others}

    def updates(self, run: Record) -> np.ndarray:
        """Return after how many updates each point was measured."""
        return (curve(run, "epoch") * self.per_epoch(run)).round()

    def seconds(self, run: Record) -> np.ndarray:
        """Return after how many seconds each point was measured.

        Without the seconds that measuring took, where a record tells them apart.
        """
        if "update_ms" not in run["curves"]:
            return curve(run, "wall_s")
        ms = np.nan_to_num(curve(run, "update_ms"))
        return np.cumsum(ms * np.diff(self.updates(run), prepend=0)) / 1e3

    def at_best(self, run: Record, name: str) -> float:
        """Return a curve's value where the run's score is lowest; NaN if it has none."""
        values = self.score(run)
        missing = name not in run["curves"] or np.isnan(values).all()
        return np.nan if missing else float(curve(run, name)[np.nanargmin(values)])

    def kinds(self, records: Sequence[Record]) -> list[tuple[dict[str, Any], list[Record]]]:
        """Return what is not as usual in each kind of runs, and its runs; the usual kind first.

        Of runs that differ in what they keep alone, those that keep least count.
        """
        usual, result = self.settings().as_dict(), {}
        for run in records:
            odd = {k: v for k, v in run["settings"].items()
                   if k not in _FREE | _KEPT and v != usual.get(k)}  # fmt: skip
            result.setdefault(json.dumps(odd, sort_keys=True), []).append(run)
        parts = [(json.loads(odd), _drop_duplicates(runs)) for odd, runs in result.items()]
        return sorted(parts, key=lambda part: len(part[0]))

    def at_best_rates(self, records: Sequence[Record]) -> dict[str, Arm]:
        """Return the arms of one kind of runs, each at its best rate."""
        return arms(records, self.arms, self.score)

    def rows(self, other: Arm, layer: Arm) -> list[Row]:
        """Return what is told of two arms, of the measures that their runs have."""
        results = []
        for name, value, better, _ in self.measures:
            with_norm, without = paired(layer, other, value)
            if not np.isnan([with_norm, without]).all():
                results.append(Row(name, without, with_norm, better))
        return results

    def no_plateau(self, *arms: Arm, score: Score | None = None) -> str:
        """Return why one of some arms has not leveled off; ``""`` if all have."""
        reasons = (_arms.no_plateau(arm, score or self.score, self.updates) for arm in arms)
        return next(filter(None, reasons), "")

    def ratios(self, other: Arm, layer: Arm, score: Score | None = None) -> np.ndarray | None:
        """Return the updates of layer norm to each target by the other's, ``(targets, seeds)``.

        ``None`` where the other arm has no plateau from which the targets could be.
        """
        score = score or self.score
        if self.no_plateau(other, score=score):
            return None
        return _arms.ratios(other, layer, score, self.updates)

    def steps_to_targets(self, plain: Arm, arm: Arm) -> np.ndarray:
        """Return after how many updates an arm's runs are at each target, ``(targets, seeds)``.

        Args:
            plain: The baseline that sets the targets, by its mean over seeds.
            arm: Of any runs, the baseline's own too.
        """
        aims = _curves.targets(_arms.mean_curve(plain, self.score))
        return np.array([
            [_curves.steps_to_target(self.updates(run), self.score(run), aim)
             for run in arm.runs.values()]
            for aim in aims
        ])  # fmt: skip

    def text(self, records: Sequence[Record]) -> str:
        """Return the tables as they are printed, one for each kind of runs."""
        parts = []
        for odd, runs in self.kinds(records):
            parts.append(
                "\n".join(
                    [
                        f"Settings: {describe_non_default_config(odd) or 'as usual'}",
                        *self._table(runs),
                    ]
                )
            )
        return "\n\n".join(parts)

    def _table(self, records: Sequence[Record]) -> list[str]:
        result = self.at_best_rates(records)
        of_runs = f", {self.unit}" if self.unit else ""
        lines = [f"  Best {self.seeks}{of_runs}, mean over seeds, by learning rate:"]
        for name, arm in result.items():
            rates = {rate: self.factor * value for rate, value in arm.rates.items()}
            each = (f"{r:g}: {v:.4g}{'*' * (r == arm.rate)}" for r, v in rates.items())
            edge = "  (at the edge)" if arm.at_edge else ""
            lines.append(f"    {name:<22} {'  '.join(each)}{edge}")
        for name, arm in result.items():
            if name != LAYER and LAYER in result and arm.runs.keys() & result[LAYER].runs.keys():
                lines += self._compared(name, arm, result[LAYER])
        return lines

    def _compared(self, name: str, other: Arm, layer: Arm) -> list[str]:
        seeds = len(other.runs.keys() & layer.runs.keys())
        spread = f" ({comparison.limits_name(seeds)})" if seeds > 1 else ""
        lines = [
            f"  {name} and layer norm, each at its rate (*), mean over {seeds} "
            f"seed{'s' * (seeds > 1)}, and their difference{spread}:"
        ]
        digits = {measure.name: measure.digits for measure in self.measures}
        for row in self.rows(other, layer):
            d, (low, high) = digits[row.name], comparison.limits(row.difference)
            ends = f" ({low:+.{d}f} to {high:+.{d}f})" if seeds > 1 else ""
            lines.append(
                f"    {row.name:<32} {row.none.mean():8.{d}f} {row.layer.mean():8.{d}f}  "
                f"{row.difference.mean():+.{d}f}{ends}"
            )
        return lines


def _drop_duplicates(records: Sequence[Record]) -> list[Record]:
    twins: dict[str, list[Record]] = {}
    for run in records:
        told = {k: v for k, v in run["settings"].items() if k not in _KEPT}
        twins.setdefault(json.dumps([told, run["seed"]], sort_keys=True), []).append(run)

    def keeps(run: Record) -> bool:
        return any(run["settings"].get(name) for name in _KEPT)

    return [one for of in twins.values() for one in of if keeps(one) == min(map(keeps, of))]
