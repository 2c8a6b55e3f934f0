"""What records of section 6.4 come to: the bounds of the arms, and who was there first.

Runs that differ in norm, start, rate and seed alone are of one kind. In each the rate of an arm is
the one with the lowest mean of the runs' lowest bounds on validation. A run that exploded counts as
infinitely bad from there on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlib import compare
from lnlib.experiments.draw import ARMS, Settings

Record = dict[str, Any]
Arm = tuple[str, str]
PLAIN, CHOSEN, LAYER = ARMS
NAMES = {
    PLAIN: "none",
    CHOSEN: "none, chosen start",
    LAYER: "layer",
    ("layer", "chosen"): "layer, chosen start",
}
PAPER_BOUNDS = {PLAIN: 82.36, LAYER: 82.09}
_ARM = ("norm", "start", "learning_rate", "eps", "gain", "input_scale", "keep")


class Pairs(NamedTuple):
    """Two arms, seed by seed: ``layer``, and another in whose place it comes.

    Attributes:
        bound: What layer norm adds to the bound of all test images at the end, in nats.
        updates: Updates to the lowest validation bound of the other, as fractions of those that
            the other took; infinite where layer norm did not get there.
        seconds: The same of the time that was spent, measures included.
    """

    bound: np.ndarray
    updates: np.ndarray
    seconds: np.ndarray


def kinds(records: Sequence[Record]) -> list[tuple[dict[str, Any], list[Record]]]:
    """Return the records of each kind, and what its settings are that are not as usual."""
    found: dict[str, list[Record]] = {}
    for run in records:
        shared = {k: v for k, v in run["settings"].items() if k not in _ARM}
        found.setdefault(json.dumps(shared, sort_keys=True), []).append(run)
    usual = Settings().as_dict()
    odd = [{k: v for k, v in json.loads(kind).items() if v != usual[k]} for kind in found]
    return list(zip(odd, found.values(), strict=True))


def bounds(run: Record) -> np.ndarray:
    """Return the bound on validation at each point, in nats; infinite once it is none."""
    values = np.array(run["curves"]["val_bound"], float)
    return np.where(np.isfinite(values), values, np.inf)


def arm(run: Record) -> Arm:
    """Return the norm and the start of a run."""
    return run["settings"]["norm"], run["settings"]["start"]


def sweep(records: Sequence[Record]) -> dict[Arm, dict[float, float]]:
    """Return for each arm and rate the mean over seeds of each run's lowest bound."""
    best: dict[Arm, dict[float, list[float]]] = {}
    for run in records:
        rates = best.setdefault(arm(run), {})
        rates.setdefault(run["settings"]["learning_rate"], []).append(bounds(run).min())
    return {
        one: {rate: float(np.mean(rates[rate])) for rate in sorted(rates)}
        for one, rates in sorted(best.items(), key=lambda item: list(NAMES).index(item[0]))
    }


def at_best_rates(records: Sequence[Record]) -> dict[Arm, dict[int, Record]]:
    """Return the runs of each arm at its best rate, by seed.

    Raises:
        ValueError: If an arm has two runs of one rate and seed.
    """
    found = {}
    for one, rates in sweep(records).items():
        best = min(rates, key=rates.__getitem__)
        runs = [r for r in records if arm(r) == one and r["settings"]["learning_rate"] == best]
        found[one] = {run["seed"]: run for run in runs}
        if len(found[one]) < len(runs):
            raise ValueError(
                f"at_best_rates: records must differ in norm, start, rate or seed, got "
                f"{NAMES[one]}, {best:g} twice with one seed; read those of one kind of "
                "setting"
            )
    return found


def final(run: Record) -> float:
    """Return the bound of all test images at the end, in nats."""
    value = run["curves"]["test_bound_of_all"][-1]
    return math.inf if value is None or not math.isfinite(value) else value


def updates(run: Record) -> np.ndarray:
    """Return after how many updates each point was measured."""
    return (np.array(run["curves"]["epoch"]) * run["settings"]["updates_an_epoch"]).round()


def pairs(layer: Mapping[int, Record], other: Mapping[int, Record]) -> Pairs:
    """Compare layer norm with another arm, over the seeds that both have."""
    found = []
    for seed in sorted(layer.keys() & other.keys()):
        ours, theirs = layer[seed], other[seed]
        best = bounds(theirs).argmin()
        there = np.flatnonzero(bounds(ours) <= bounds(theirs)[best])
        ratios = [
            axis(ours)[there[0]] / axis(theirs)[best] if len(there) else math.inf
            for axis in (updates, _seconds)
        ]
        found.append((final(ours) - final(theirs), *ratios))
    return Pairs(*np.array(found, float).reshape(-1, 3).T)


def _seconds(run: Record) -> np.ndarray:
    return np.array(run["curves"]["wall_s"], float)


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed, one for each kind of run."""
    parts = []
    for odd, runs in kinds(records):
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in odd.items())
        parts.append("\n".join([f"Settings: {told or 'as usual'}", *_part(runs)]))
    return "\n\n".join(parts)


def _part(records: Sequence[Record]) -> list[str]:
    swept, runs = sweep(records), at_best_rates(records)
    lines = ["  Lowest bound on validation (nats), by learning rate:"]
    for one, rates in swept.items():
        best = min(rates.values())
        each = (f"{rate:g}: {value:.2f}{'*' * (value == best)}" for rate, value in rates.items())
        lines.append(f"    {NAMES[one]:<20} {'  '.join(each)}")
    lines.append("  At the rates marked (*), bound of all test images at the end (nats):")
    for one, of_seed in runs.items():
        ends = [final(run) for run in of_seed.values()]
        paper = f"; {PAPER_BOUNDS[one]} in the paper" if one in PAPER_BOUNDS else ""
        lines.append(
            f"    {NAMES[one]:<20} {np.mean(ends):.2f} "
            f"({min(ends):.2f} to {max(ends):.2f}), {_seeds(len(ends))}{paper}"
        )
    for other in (PLAIN, CHOSEN):
        if LAYER in runs and other in runs and runs[LAYER].keys() & runs[other].keys():
            lines += _compared(pairs(runs[LAYER], runs[other]), other)
    return lines


def _compared(found: Pairs, other: Arm) -> list[str]:
    count = len(found.bound)
    faster = _verdict(found.updates - 1)
    twice = _verdict(found.updates - 0.6)
    lines = [
        f"  Layer norm against {NAMES[other]}, {_seeds(count)} ({compare.bounds_name(count)}):",
        f"    bound at the end: {_spread(found.bound, '+.2f')} nats; "
        f"lower, as in the paper: {_verdict(found.bound)}",
        f"    updates to the other's lowest: {_percent(found.updates)}; fewer: {faster}; "
        f"almost half, as in the paper (at most 60 %): {twice}",
        f"    seconds to the same: {_percent(found.seconds)}; fewer: {_verdict(found.seconds - 1)}",
    ]
    if never := int(np.isinf(found.updates).sum()):
        lines.append(f"    never there in {never} of {count}")
    return lines


def _verdict(differences: np.ndarray) -> str:
    # Where runs never get there nothing can be averaged; as bad as any is enough to judge by.
    known = np.where(np.isposinf(differences), 1e9, np.where(np.isneginf(differences), -1e9, 0))
    usable = np.where(np.isfinite(differences), differences, known)
    return compare.verdict(usable)


def _spread(values: np.ndarray, form: str) -> str:
    if not np.isfinite(values).all():
        return ", ".join(format(value, form) for value in values)
    low, high = compare.bounds(values)
    return f"{values.mean():{form}} ({low:{form}} to {high:{form}})"


def _percent(shares: np.ndarray) -> str:
    return f"{_spread(100 * shares, '.0f')} %"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' * (count > 1)}"
