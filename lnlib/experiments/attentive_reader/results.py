"""What records of section 6.2 come to: Figure 2's validation error, and the paper's claims on it.

Each arm, a norm with a start and a gain, counts at the rate with the lowest mean error on
validation; a run where its own error was lowest. Arms are compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlib import compare
from lnlib.experiments.attentive_reader import HEURISTICS

Record = dict[str, Any]
Arm = tuple[str, str, float]  # norm, start, gain
NONE, CHOSEN = ("none", "usual", 1.0), ("none", "chosen", 1.0)
LAYER, SMALL = ("layer", "usual", 1.0), ("layer", "usual", 0.1)
BATCH, EVERYWHERE = ("batch", "usual", 0.1), ("batch_everywhere", "usual", 0.1)
ARMS = {
    NONE: "none",
    CHOSEN: "none, chosen start",
    LAYER: "layer, gain 1",
    SMALL: "layer, gain 0.1",
    BATCH: "batch in the LSTM",
    EVERYWHERE: "batch everywhere",
}
# What sets runs of one kind apart from each other.
OF_AN_ARM = {
    "norm", "start", "gain", "learning_rate", "input_scale", "eps", "momentum", "pictures",
}  # fmt: skip


class Claim(NamedTuple):
    """What the paper says of two arms.

    Attributes:
        text: In words.
        differences: One a seed, below 0 where it is so.
        unit: Of these.
    """

    text: str
    differences: np.ndarray
    unit: str

    @property
    def verdict(self) -> str:
        """Whether it holds here."""
        return compare.verdict(self.differences)


def arm(run: Record) -> Arm:
    """Return the arm of a run."""
    told = run["settings"]
    return told["norm"], told["start"], told["gain"]


def curve(run: Record, name: str) -> np.ndarray:
    """Return one of a run's curves."""
    return np.array(run["curves"][name], float)


def kinds(records: Sequence[Record]) -> list[list[Record]]:
    """Part records that can be compared: of one kind in all but arm, rate and seed."""
    found: dict[str, list[Record]] = {}
    for run in records:
        told = {k: v for k, v in run["settings"].items() if k not in OF_AN_ARM}
        found.setdefault(repr(sorted(told.items())), []).append(run)
    return list(found.values())


def sweep(records: Sequence[Record]) -> dict[Arm, dict[float, float]]:
    """Return for each arm and rate the mean of its runs' lowest errors on validation.

    Over the seeds that all rates of an arm have: more at one of them would make it another task.
    """
    found: dict[Arm, dict[float, dict[int, float]]] = {}
    for run in records:
        rates = found.setdefault(arm(run), {})
        of_seeds = rates.setdefault(run["settings"]["learning_rate"], {})
        of_seeds[run["seed"]] = curve(run, "val_error").min()
    means = {}
    for a in [*(a for a in ARMS if a in found), *sorted(found.keys() - ARMS.keys())]:
        seeds = set.intersection(*(set(of_seeds) for of_seeds in found[a].values()))
        means[a] = {
            rate: float(np.mean([of_seeds[s] for s in sorted(seeds or of_seeds)]))
            for rate, of_seeds in sorted(found[a].items())
        }
    return means


def at_best_rates(records: Sequence[Record]) -> dict[Arm, list[Record]]:
    """Return the runs of each arm at its best rate, of the seeds that all arms have.

    Raises:
        ValueError: If there is no such seed, or an arm has two runs of one rate and seed.
    """
    found = {}
    for a, rates in sweep(records).items():
        best = min(rates, key=rates.__getitem__)
        runs = [r for r in records if arm(r) == a and r["settings"]["learning_rate"] == best]
        found[a] = {run["seed"]: run for run in runs}
        if len(found[a]) < len(runs):
            raise ValueError(
                f"at_best_rates: records must differ in arm, rate or seed, got {a}, {best:g} twice "
                "with one seed; read those of one kind of setting"
            )
    seeds = sorted(set.intersection(*(set(runs) for runs in found.values())))
    if not seeds:
        raise ValueError(
            f"at_best_rates: records must have a seed for all arms, got {len(records)} of them "
            "without; record more"
        )
    return {a: [runs[seed] for seed in seeds] for a, runs in found.items()}


def reached(runs: Sequence[Record], plain: Sequence[Record], axis: str) -> np.ndarray:
    """Return where each run is first as good on validation as its plain one ever is.

    Args:
        runs: One a seed.
        plain: Of the same seeds.
        axis: ``updates`` or ``wall_s``.

    Returns:
        One a seed; NaN where it never is.
    """
    found = []
    for run, other in zip(runs, plain, strict=True):
        there = np.flatnonzero(curve(run, "val_error") <= curve(other, "val_error").min())
        along = updates(run) if axis == "updates" else curve(run, axis)
        found.append(along[there[0]] if len(there) else np.nan)
    return np.array(found)


def updates(run: Record) -> np.ndarray:
    """Return after how many updates was measured."""
    each = run["data"]["cases"]["train_questions"] // run["settings"]["batch_size"]
    return (curve(run, "epoch") * each).round()


def lowest(runs: Sequence[Record]) -> np.ndarray:
    """Return each run's lowest error on validation, in percent."""
    return np.array([100 * curve(run, "val_error").min() for run in runs])


def tested(runs: Sequence[Record]) -> np.ndarray:
    """Return each run's error on the test questions where validation was best, in percent."""
    ends = [curve(run, "val_error").argmin() for run in runs]
    return np.array([100 * curve(run, "test_error")[k] for run, k in zip(runs, ends, strict=True)])


def claims(runs: dict[Arm, list[Record]]) -> list[Claim]:
    """Return the paper's claims for the arms that there are."""
    found = []
    for plain in (NONE, CHOSEN):
        if {plain, LAYER} <= runs.keys():
            there = reached(runs[LAYER], runs[plain], "updates")
            ends = np.array([updates(run)[-1] for run in runs[LAYER]])
            first = reached(runs[plain], runs[plain], "updates")
            text = f"layer norm trains faster than {ARMS[plain]}: updates to its best"
            found.append(Claim(text, np.where(np.isnan(there), ends, there) - first, "updates"))
    for one, other in ((LAYER, NONE), (LAYER, CHOSEN), (LAYER, BATCH), (LAYER, EVERYWHERE),
                       (LAYER, SMALL)):  # fmt: skip
        if {one, other} <= runs.keys():
            text = f"{ARMS[one]}, has a lower error on validation than {ARMS[other]}"
            found.append(Claim(text, lowest(runs[one]) - lowest(runs[other]), "points"))
    return found


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed, one for each kind of run."""
    return "\n\n".join("\n".join(_lines(runs)) for runs in kinds(records))


def _lines(records: Sequence[Record]) -> list[str]:
    runs = at_best_rates(records)
    told = next(iter(runs.values()))[0]
    s, seeds = told["settings"], [run["seed"] for run in next(iter(runs.values()))]
    lines = [
        f"{s['epochs']} epochs, batches of {s['batch_size']}, passages joined: {s['passages']}, "
        f"longest in training: {s['longest']}.",
        "Lowest error on validation (%), by learning rate:",
    ]
    best = {a: one[0]["settings"]["learning_rate"] for a, one in runs.items()}
    for a, rates in sweep(records).items():
        each = (f"{r:g}: {100 * e:.1f}{'*' * (r == best[a])}" for r, e in rates.items())
        lines.append(f"  {ARMS.get(a, a)!s:<20} {'  '.join(each)}")
    lines += [
        "",
        f"At the rates marked (*), by {len(seeds)} seed{'s' * (len(seeds) > 1)}:",
        f"  {'':<20} {'val (%)':>8} {'test (%)':>8}  updates and seconds to the best of none",
    ]
    for a, one in runs.items():
        there = (
            [reached(one, runs[NONE], axis) for axis in ("updates", "wall_s")]
            if NONE in runs
            else []
        )
        words = "; ".join(", ".join("never" if np.isnan(v) else f"{v:,.0f}" for v in each)
                          for each in there)  # fmt: skip
        lines.append(
            f"  {ARMS.get(a, a)!s:<20} {lowest(one).mean():8.1f} {tested(one).mean():8.1f}  {words}"
        )
    for name in HEURISTICS:
        val, test = (100 * curve(told, f"{split}_{name}_error")[0] for split in ("val", "test"))
        lines.append(f"  ({name:<18}) {val:8.1f} {test:8.1f}")
    lines += ["", f"Claims: mean difference ({compare.bounds_name(len(seeds))}):"]
    for claim in claims(runs):
        low, high = compare.bounds(claim.differences)
        lines.append(
            f"  {claim.text}: {claim.differences.mean():+.1f} ({low:+.1f} to {high:+.1f}) "
            f"{claim.unit}: {claim.verdict}"
        )
    return lines
