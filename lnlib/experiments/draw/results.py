"""What records of section 6.4 come to: the bounds of the arms, and who was there first.

Runs that differ in arm, rate and seed alone are of one kind, and there is a table for each. Rates
are chosen by the bound on validation; what is told is the bound of all test images at the end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lnlib import compare
from lnlib.experiments._arms import (
    Arm,
    Record,
    arms,
    difference,
    faster,
    paired,
    race,
    shares,
)
from lnlib.experiments.draw import Settings

PLAIN, CHOSEN, LAYER = "none", "none, chosen start", "layer"
NAMED = {
    PLAIN: {"norm": "none", "start": "usual"},
    CHOSEN: {"norm": "none", "start": "chosen"},
    LAYER: {"norm": "layer", "start": "usual"},
}
PAPER_BOUNDS = {PLAIN: 82.36, LAYER: 82.09}  # nats, after 200 passes
ALMOST_TWICE = 0.6  # of the other's updates: as fast as this counts as "almost twice as fast"
_OF_ARMS = ("norm", "start", "learning_rate", "eps", "gain", "input_scale", "keep")


def kinds(records: Sequence[Record]) -> list[tuple[dict[str, Any], list[Record]]]:
    """Return the records of each kind, with its settings that are not as usual."""
    found: dict[str, list[Record]] = {}
    for run in records:
        shared = {k: v for k, v in run["settings"].items() if k not in _OF_ARMS}
        found.setdefault(json.dumps(shared, sort_keys=True), []).append(run)
    usual = Settings().as_dict()
    odd = [{k: v for k, v in json.loads(kind).items() if v != usual[k]} for kind in found]
    return list(zip(odd, found.values(), strict=True))


def bounds(run: Record) -> np.ndarray:
    """Return the bound on validation at each point, in nats; NaN once the run has exploded."""
    return np.array(run["curves"]["val_bound"], float)


def final(run: Record) -> float:
    """Return the bound of all test images at the end, in nats; NaN if the run has exploded."""
    value = run["curves"]["test_bound_of_all"][-1]
    return math.nan if value is None else value


def updates(run: Record) -> np.ndarray:
    """Return after how many updates each point was measured."""
    return (np.array(run["curves"]["epoch"]) * run["settings"]["updates_an_epoch"]).round()


def seconds(run: Record) -> np.ndarray:
    """Return after how many seconds each point was measured, what it took to measure included."""
    return np.array(run["curves"]["wall_s"], float)


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed, one for each kind of run."""
    parts = []
    for odd, runs in kinds(records):
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in odd.items())
        parts.append("\n".join([f"Settings: {told or 'as usual'}", *_part(runs)]))
    return "\n\n".join(parts)


def _part(records: Sequence[Record]) -> list[str]:
    found = arms(records, NAMED, bounds)
    lines = ["  Lowest bound on validation (nats), by learning rate:"]
    for name, arm in found.items():
        each = (f"{r:g}: {value:.2f}{'*' * (r == arm.rate)}" for r, value in arm.rates.items())
        edge = "  (at the edge)" if arm.at_edge else ""
        lines.append(f"    {name:<20} {'  '.join(each)}{edge}")
    lines.append("  At the rates marked (*), bound of all test images at the end (nats):")
    for name, arm in found.items():
        ends = np.array([final(run) for run in arm.runs.values()])
        paper = f"; {PAPER_BOUNDS[name]} in the paper" if name in PAPER_BOUNDS else ""
        low, high = ends.min(), ends.max()
        lines.append(
            f"    {name:<20} {ends.mean():.2f} ({low:.2f} to {high:.2f}), {_seeds(ends)}{paper}"
        )
    for name in (PLAIN, CHOSEN):
        if {name, LAYER} <= found.keys() and found[name].runs.keys() & found[LAYER].runs.keys():
            lines += _compared(found[name], found[LAYER], name)
    return lines


def _compared(other: Arm, layer: Arm, name: str) -> list[str]:
    with_norm, without = paired(layer, other, final)
    less = with_norm - without
    by_updates, by_seconds = (race(other, layer, bounds, axis) for axis in (updates, seconds))
    return [
        f"  Layer norm against {name}, {_seeds(less)} ({compare.bounds_name(len(less))}):",
        f"    bound at the end: {difference(less, ' nats', 2)}; "
        f"lower, as in the paper: {compare.verdict(less)}",
        f"    updates to the other's lowest: {_mean(by_updates)}; fewer: {faster(by_updates)}; "
        f"almost half, as in the paper (at most {ALMOST_TWICE:.0%}): "
        f"{faster(by_updates / ALMOST_TWICE)}",
        f"    seconds to the same: {_mean(by_seconds)}; fewer: {faster(by_seconds)}",
    ]


def _mean(of_seeds: np.ndarray) -> str:
    if np.isnan(of_seeds).any():
        return shares(of_seeds)
    low, high = compare.bounds(100 * of_seeds)
    return f"{shares(of_seeds)}, mean {100 * of_seeds.mean():.0f} % ({low:.0f} to {high:.0f})"


def _seeds(values: np.ndarray) -> str:
    return f"{len(values)} seed{'s' * (len(values) > 1)}"
