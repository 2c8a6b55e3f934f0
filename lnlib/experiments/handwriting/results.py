"""What records of section 6.5 come to: how soon, and how well, each network knows where a pen goes.

Runs of one kind differ in norm, start, rate and seed alone. The rate of an arm, a norm with a
start, is the one with the lowest mean over seeds of each run's best loss on lines of new writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlib import compare
from lnlib.experiments.handwriting import SPLITS, Settings

Record = dict[str, Any]
Arm = tuple[str, str]
ARMS: tuple[Arm, ...] = (("none", "usual"), ("none", "chosen"), ("layer", "usual"))
LAYER = ARMS[-1]
CHOSEN = "val_new_nll"  # by which rates are chosen
_FREE = ("norm", "start", "learning_rate", "gain", "input_scale", "keep")


class Row(NamedTuple):
    """A loss without and with layer norm, one a seed, where validation was best."""

    split: str
    none: np.ndarray
    layer: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        """What layer norm adds, seed by seed, in nats a point."""
        return self.layer - self.none


class Race(NamedTuple):
    """When runs with layer norm were as good as the best without: shares of its way, one a seed.

    ``inf`` where they never were.
    """

    updates: np.ndarray
    seconds: np.ndarray


def kinds(records: Sequence[Record]) -> dict[tuple[tuple[str, Any], ...], list[Record]]:
    """Return the records of each kind, named by what is not as usual in their settings."""
    usual = Settings().as_dict()
    found: dict[tuple[tuple[str, Any], ...], list[Record]] = {}
    for run in records:
        odd = tuple(
            (name, str(value))
            for name, value in run["settings"].items()
            if name in usual and name not in _FREE and value != usual[name]
        )
        found.setdefault(odd, []).append(run)
    return found


def losses(run: Record, split: str = "val_new") -> np.ndarray:
    """Return a run's loss at each point, in nats; infinite where it was no number."""
    values = np.array(run["curves"][f"{split}_nll"], float)
    return np.where(np.isfinite(values), values, np.inf)


def sweep(records: Sequence[Record]) -> dict[Arm, dict[float, float]]:
    """Return for each arm and rate the mean over seeds of each run's best loss."""
    best: dict[Arm, dict[float, list[float]]] = {}
    for run in records:
        s = run["settings"]
        rates = best.setdefault((s["norm"], s["start"]), {})
        rates.setdefault(s["learning_rate"], []).append(losses(run).min())
    return {
        arm: {rate: float(np.mean(best[arm][rate])) for rate in sorted(best[arm])}
        for arm in sorted(best, key=lambda arm: (*ARMS, arm).index(arm))
    }


def at_best_rates(records: Sequence[Record]) -> dict[Arm, dict[int, Record]]:
    """Return the runs of each arm at its best rate, by seed.

    Raises:
        ValueError: If an arm has two runs of one rate and seed.
    """
    found = {}
    for arm, rates in sweep(records).items():
        best = min(rates, key=rates.__getitem__)
        runs = [
            run
            for run in records
            if (s := run["settings"])["learning_rate"] == best and (s["norm"], s["start"]) == arm
        ]
        found[arm] = {run["seed"]: run for run in runs}
        if len(found[arm]) < len(runs):
            raise ValueError(
                "at_best_rates: records must differ in norm, start, rate or seed, got "
                f"{', '.join(arm)}, {best:g} twice with one seed; read those of one kind of setting"
            )
    return found


def rows(none: Sequence[Record], layer: Sequence[Record]) -> list[Row]:
    """Compare pairs of runs on each split, each run where its validation was best."""

    def ends(runs: Sequence[Record], split: str) -> np.ndarray:
        return np.array([losses(run, split)[losses(run).argmin()] for run in runs])

    splits = [split for split in SPLITS if f"{split}_nll" in layer[0]["curves"]]
    return [Row(split, ends(none, split), ends(layer, split)) for split in splits]


def race(none: Sequence[Record], layer: Sequence[Record]) -> Race:
    """Return how soon layer norm was as good as the best without, in pairs of runs."""
    found = []
    for a, b in zip(none, layer, strict=True):
        best, there = losses(a).argmin(), np.flatnonzero(losses(b) <= losses(a).min())
        for_a, for_b = ((updates(run), run["curves"]["wall_s"]) for run in (a, b))
        found.append([
            y[there[0]] / x[best] if len(there) else np.inf
            for x, y in zip(for_a, for_b, strict=True)
        ])  # fmt: skip
    return Race(*np.array(found, float).T)


def updates(run: Record) -> np.ndarray:
    """Return after how many updates a run was measured."""
    each = run["settings"]["updates_an_epoch"]
    return (np.array(run["curves"]["epoch"]) * each).round()


def verdict(shares: np.ndarray) -> str:
    """Judge whether layer norm is there sooner: the claim of figure 5."""
    if np.isfinite(shares).all():
        return compare.verdict(shares - 1)
    return compare.UNDECIDED if np.isfinite(shares).any() else compare.FAILS


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed: of each kind of runs, by what is odd in it."""
    parts = []
    for odd, runs in kinds(records).items():
        head = ", ".join(f"{name} {value}" for name, value in odd) or "settings as usual"
        parts.append("\n".join([f"== {head}", *_rates(runs), *_pairs(runs)]))
    return "\n\n".join(parts)


def _rates(records: Sequence[Record]) -> list[str]:
    lines = [f"Lowest {CHOSEN}, nats a point, by learning rate, mean over seeds:"]
    for arm, rates in sweep(records).items():
        best = min(rates, key=rates.__getitem__)
        each = (f"{rate:g}: {loss:.3f}{'*' * (rate == best)}" for rate, loss in rates.items())
        lines.append(f"  {' '.join(arm):<13} {'  '.join(each)}")
    return lines


def _pairs(records: Sequence[Record]) -> list[str]:
    runs, lines = at_best_rates(records), []
    for arm in ARMS[:-1]:
        seeds = sorted(set(runs.get(arm, ())) & set(runs.get(LAYER, ())))
        if not seeds:
            continue
        none, layer = ([runs[one][seed] for seed in seeds] for one in (arm, LAYER))
        spread = compare.bounds_name(len(seeds))
        lines.append(
            f"Layer norm beside none from the {arm[1]} start, at the rates marked (*), "
            f"seeds {', '.join(map(str, seeds))} ({spread}):"
        )
        for row in rows(none, layer):
            low, high = compare.bounds(row.difference)
            lines.append(
                f"  {row.split + '_nll':<14} {row.none.mean():7.3f} {row.layer.mean():7.3f}  "
                f"{row.difference.mean():+.3f} ({low:+.3f} to {high:+.3f})  "
                f"lower: {compare.verdict(row.difference)}"
            )
        for name, shares in race(none, layer)._asdict().items():
            each = ", ".join("never" if np.isinf(v) else f"{100 * v:.0f}" for v in shares)
            lines.append(
                f"  {name} to its best, in percent: {each}; sooner (figure 5): {verdict(shares)}"
            )
    return lines
