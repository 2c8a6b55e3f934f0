"""What experiments share that compare ways to train, each at its own best learning rate.

An *arm* is one of these ways: some settings, at several rates and with several seeds. Runs of one
seed share their weights and the order of their cases, so arms are compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlab.experiments import _curves

Record = dict[str, Any]
Score = Callable[[Record], np.ndarray]  # at each point of a run; the lower, the better


class Arm(NamedTuple):
    """An arm at its best rate.

    Attributes:
        runs: From the seed to the record.
        rate: The best learning rate: the one with the lowest mean over seeds of each run's best.
        rates: From each rate to that mean.
    """

    runs: dict[int, Record]
    rate: float
    rates: dict[float, float]

    @property
    def at_edge(self) -> bool:
        """Whether the best rate is the lowest or the highest of several."""
        return len(self.rates) > 1 and self.rate in (min(self.rates), max(self.rates))


def arms(
    records: Sequence[Record], named: Mapping[str, Mapping[str, Any]], score: Score
) -> dict[str, Arm]:
    """Put records into arms, each at its best rate.

    Args:
        records: Of any settings.
        named: From an arm's name to settings that its records, and no others, have. An arm without
            a record is left out.
        score: What the rate is chosen by; of a run its lowest counts.

    Raises:
        ValueError: If an arm has two records of one rate and seed.
    """
    results = {}
    for name, given in named.items():
        by_rate: dict[float, dict[int, Record]] = {}
        for record in records:
            settings = record["settings"]
            if any(settings[k] != v for k, v in given.items()):
                continue
            runs = by_rate.setdefault(settings["learning_rate"], {})
            if record["seed"] in runs:
                raise ValueError(
                    f"arms: records must differ in arm, rate or seed, got {name}, "
                    f"{settings['learning_rate']:g} twice with seed {record['seed']}; read those "
                    "of one kind of setting"
                )
            runs[record["seed"]] = record
        if not by_rate:
            continue
        most = max(map(len, by_rate.values()))
        # A rate with fewer seeds than others was tried once and left; its mean is no such mean.
        rates = {
            rate: float(np.mean([_lowest(score(run)) for run in by_rate[rate].values()]))
            for rate in sorted(by_rate)
            if len(by_rate[rate]) == most
        }
        best = min(rates, key=rates.__getitem__)
        results[name] = Arm(dict(sorted(by_rate[best].items())), best, rates)
    return results


def _lowest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]  # a run that diverged measured nothing from there on
    return float(known.min()) if len(known) else np.inf


def paired(a: Arm, b: Arm, value: Callable[[Record], float]) -> tuple[np.ndarray, np.ndarray]:
    """Return a value of both arms' runs, of the seeds that both have, in one order."""
    seeds = [seed for seed in a.runs if seed in b.runs]
    return tuple(np.array([value(arm.runs[s]) for s in seeds], float) for arm in (a, b))


def mean_curve(arm: Arm, score: Score) -> np.ndarray:
    """Return the mean over seeds at each measuring point; NaN where no seed has a number."""
    values = np.array([score(run) for run in arm.runs.values()])
    known = ~np.isnan(values)
    sums = np.where(known, values, 0).sum(0)
    return np.where(known.any(0), sums / np.maximum(known.sum(0), 1), np.nan)


def no_plateau(arm: Arm, score: Score, updates: Score) -> str:
    """Return why an arm's mean over seeds has not leveled off; ``""`` if it has."""
    run = next(iter(arm.runs.values()))
    return _curves.no_plateau(updates(run), mean_curve(arm, score))


def ratios(plain: Arm, other: Arm, score: Score, updates: Score) -> np.ndarray:
    """Return the ratio of updates to each fixed target, other by plain, shape ``(targets, seeds)``.

    Args:
        plain: The baseline, from whose mean over seeds the targets are.
        other: The method.
        score: The lower, the better.
        updates: At each point of a run.
    """
    results = []
    for target in _curves.targets(mean_curve(plain, score)):

        def steps(run: Record, target: float = target) -> float:
            return _curves.steps_to_target(updates(run), score(run), target)

        pairs = zip(*paired(other, plain, steps), strict=True)
        results.append([_curves.steps_to_target_ratio(*pair) for pair in pairs])
    return np.array(results)
