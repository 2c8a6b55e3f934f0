"""Comparison of the arms of an experiment, each at its own best learning rate.

An *arm* has some fixed settings, several learning rates and several seeds. Runs with the same seed
have the same initial weights and the same order of examples, so arms are compared seed by seed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlab.experiments import _curves

Record = dict[str, Any]
MIN_SEEDS = 3  # of a learning rate that is compared with others
Score = Callable[[Record], np.ndarray]  # score at each measuring point of a run; lower is better


class Arm(NamedTuple):
    """An arm at its best learning rate.

    Attributes:
        runs: Maps each seed to its record.
        rate: The best learning rate: that with the lowest mean of the best score, over the seeds
            that all rates have.
        rates: Maps each learning rate to that mean; rates with fewer seeds than
            :data:`MIN_SEEDS` are left out if another rate has more.
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
    """Divide records into arms, each at its best learning rate.

    Args:
        records: Records of any settings.
        named: Maps the name of an arm to the settings that select its records. An arm without
            records is left out.
        score: Score whose minimum over a run selects the learning rate.

    Raises:
        ValueError: If an arm has two records with the same learning rate and seed, or if its
            learning rates have no seed in common.
    """
    results = {}
    for name, required in named.items():
        by_rate: dict[float, dict[int, Record]] = {}
        for record in records:
            settings = record["settings"]
            if any(settings[k] != v for k, v in required.items()):
                continue
            runs = by_rate.setdefault(settings["learning_rate"], {})
            if record["seed"] in runs:
                raise ValueError(
                    f"arms: records must differ in arm, rate or seed, got {name}, "
                    f"{settings['learning_rate']:g} twice with seed {record['seed']}; pass only "
                    "records that have all other settings in common"
                )
            runs[record["seed"]] = record
        if not by_rate:
            continue
        # Rates with fewer seeds were only tried. Means over different seeds are not comparable.
        num_seeds = min(MIN_SEEDS, max(map(len, by_rate.values())))
        compared = {rate: runs for rate, runs in by_rate.items() if len(runs) >= num_seeds}
        common = set.intersection(*map(set, compared.values()))
        if not common:
            seeds = "; ".join(f"{rate:g}: {sorted(runs)}" for rate, runs in compared.items())
            raise ValueError(
                f"arms: the learning rates of {name} must have a seed in common to be compared, "
                f"got {seeds}; record the same seeds at each rate"
            )
        rates = {
            rate: float(np.mean([_lowest(score(compared[rate][seed])) for seed in common]))
            for rate in sorted(compared)
        }
        best = min(rates, key=rates.__getitem__)
        results[name] = Arm(dict(sorted(by_rate[best].items())), best, rates)
    return results


def _lowest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]  # after a divergence, values are NaN
    return float(known.min()) if len(known) else np.inf


def shared_seeds(*arms: Arm) -> list[int]:
    """Return the seeds that all arms have, in increasing order."""
    return sorted(set.intersection(*(set(arm.runs) for arm in arms)))


def paired(a: Arm, b: Arm, value: Callable[[Record], float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of both arms for the seeds that both have, in the same order."""
    seeds = shared_seeds(a, b)
    return tuple(np.array([value(arm.runs[s]) for s in seeds], float) for arm in (a, b))


def mean_curve(arm: Arm, score: Score) -> np.ndarray:
    """Return the mean over seeds at each measuring point, or NaN if no seed has a value."""
    values = np.array([score(run) for run in arm.runs.values()])
    known = ~np.isnan(values)
    sums = np.where(known, values, 0).sum(0)
    return np.where(known.any(0), sums / np.maximum(known.sum(0), 1), np.nan)


def no_plateau(arm: Arm, score: Score, updates: Score) -> str:
    """Return why an arm's mean over seeds has not reached a plateau, or ``""`` if it has."""
    run = next(iter(arm.runs.values()))
    return _curves.no_plateau(updates(run), mean_curve(arm, score))


def ratios(plain: Arm, other: Arm, score: Score, updates: Score) -> np.ndarray:
    """Return the ratio of updates to each target, other to plain, shape ``(targets, seeds)``.

    Args:
        plain: The baseline, whose mean over seeds defines the targets.
        other: The method.
        score: Returns the score at each measuring point; lower is better.
        updates: Returns the number of updates at each measuring point.
    """
    results = []
    for target in _curves.targets(mean_curve(plain, score)):

        def steps(run: Record, target: float = target) -> float:
            return _curves.steps_to_target(updates(run), score(run), target)

        pairs = zip(*paired(other, plain, steps), strict=True)
        results.append([_curves.steps_to_target_ratio(*pair) for pair in pairs])
    return np.array(results)
