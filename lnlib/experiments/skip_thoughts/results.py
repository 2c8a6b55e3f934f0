"""What records of section 6.3 come to: Figure 3's race, Table 3's tasks, the time of an update.

Three arms: without norm from the code's start, without from a scaled one, and with layer norm. The
rate of each is the one with the lowest validation loss, as the mean over the seeds of each run's
best. Differences are taken seed by seed; one task more or less is no claim of its own, and the
paper's "better on all tasks" is judged task by task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlib import compare
from lnlib.experiments.skip_thoughts import TASKS

Record = dict[str, Any]
Arm = tuple[str, str]
LAYER: Arm = ("layer", "code")
ARMS: dict[Arm, str] = {
    ("none", "code"): "none",
    ("none", "scaled"): "none, scaled start",
    LAYER: "layer",
}
TITLES = {"mr": "MR", "cr": "CR", "subj": "SUBJ", "caption_pairs": "captions, AUC"}


class Claim(NamedTuple):
    """A statement, and what speaks for it.

    Attributes:
        text: The statement.
        differences: One a seed, below 0 where it is true.
    """

    text: str
    differences: np.ndarray

    @property
    def verdict(self) -> str:
        """Whether it holds."""
        return compare.verdict(self.differences)


def arm(run: Record) -> Arm:
    """Return norm and start of a run."""
    return run["settings"]["norm"], run["settings"]["start"]


def kinds(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Sort records by what else is chosen, in the order in which it comes first.

    The rate, the norm and the start are what is compared, and ``keep`` changes nothing.
    """
    found: dict[str, list[Record]] = {}
    for run in records:
        s = run["settings"]
        name = f"{s['batch_size']} sentences of at most {s['length']} words"
        name += f", {s['epochs'] * s['updates_an_epoch']:,} updates"
        if s["condition"] == "every":
            name += ", the vector at each step"
        found.setdefault(name, []).append(run)
    return found


def lowest(run: Record) -> float:
    """Return the lowest validation loss of a run."""
    return float(np.min(np.array(run["curves"]["val_nll"], float)))


def sweep(records: Sequence[Record]) -> dict[Arm, dict[float, float]]:
    """Return for each arm and rate the mean over seeds of each run's lowest validation loss."""
    losses: dict[Arm, dict[float, list[float]]] = {}
    for run in records:
        rates = losses.setdefault(arm(run), {})
        rates.setdefault(run["settings"]["learning_rate"], []).append(lowest(run))
    return {
        a: {r: float(np.mean(losses[a][r])) for r in sorted(losses[a])} for a in ARMS if a in losses
    }


def at_best_rates(records: Sequence[Record]) -> dict[Arm, list[Record]]:
    """Return the runs of each arm at its best rate, of the seeds that all arms have.

    Raises:
        ValueError: If layer norm or both arms without are missing, no seed is common, or an arm has
            two runs of one rate and seed.
    """
    chosen: dict[Arm, dict[int, Record]] = {}
    for which, rates in sweep(records).items():
        best = min(rates, key=rates.__getitem__)
        runs = [r for r in records if arm(r) == which and r["settings"]["learning_rate"] == best]
        chosen[which] = {run["seed"]: run for run in runs}
        if len(chosen[which]) < len(runs):
            raise ValueError(
                f"at_best_rates: records must differ in norm, start, rate or seed, got "
                f"{ARMS[which]}, {best:g} twice with one seed; read those of one kind of setting"
            )
    seeds = sorted(set.intersection(*map(set, chosen.values()))) if chosen else []
    if LAYER not in chosen or len(chosen) < 2 or not seeds:
        raise ValueError(
            "at_best_rates: records must have a seed for layer norm and for none, got "
            f"{len(records)} of them without; record more"
        )
    return {which: [runs[seed] for seed in seeds] for which, runs in chosen.items()}


def updates(run: Record) -> np.ndarray:
    """Return after how many updates each point was measured."""
    return (np.array(run["curves"]["epoch"]) * run["settings"]["updates_an_epoch"]).round()


def seconds(run: Record) -> np.ndarray:
    """Return the seconds that the updates before each point took, without what is measured."""
    ms = np.nan_to_num(np.array(run["curves"]["update_ms"], float))
    return np.cumsum(ms * np.diff(updates(run), prepend=0)) / 1e3


def update_ms(run: Record) -> float:
    """Return the milliseconds of an update, the mean of the whole run."""
    return 1e3 * float(seconds(run)[-1] / updates(run)[-1])


def reached(run: Record, goal: float) -> tuple[float, float]:
    """Return updates and seconds after which a validation loss was first measured; else NaN."""
    there = np.flatnonzero(np.array(run["curves"]["val_nll"], float) <= goal)
    return (updates(run)[there[0]], seconds(run)[there[0]]) if len(there) else (np.nan, np.nan)


def scored(run: Record, name: str) -> np.ndarray:
    """Return what a task measured where it was, in percent: first the untrained encoder's."""
    values = np.array(run["curves"].get(name, []), float)
    return 100 * values[~np.isnan(values)]


def claims(runs: dict[Arm, list[Record]]) -> list[Claim]:
    """Return the paper's claims, against each arm without norm.

    "Speedup": updates to the other's lowest validation loss, in fractions of its own; what is never
    reached counts as the whole run.
    """
    found = []
    for which in (a for a in runs if a != LAYER):
        pairs = list(zip(runs[which], runs[LAYER], strict=True))
        beside = "" if which[1] == "code" else " with a scaled start"
        shares = []
        for none, layer in pairs:
            own, there = reached(none, lowest(none))[0], reached(layer, lowest(none))[0]
            shares.append((updates(layer)[-1] if np.isnan(there) else there) / own - 1)
        found.append(Claim(f"faster to the best loss of none{beside} (share)", np.array(shares)))
        gains = np.array([lowest(layer) - lowest(none) for none, layer in pairs])
        found.append(Claim(f"lower best loss than none{beside} (nats)", gains))
        for task in TASKS:
            ends = [[scored(run, task) for run in pair] for pair in pairs]
            if all(len(one) for pair in ends for one in pair):
                points = np.array([none[-1] - layer[-1] for none, layer in ends])
                text = f"better on {TITLES[task]} at the end than none{beside} (points)"
                found.append(Claim(text, points))
    return found


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed, one for each kind of run that can be compared."""
    parts = []
    for name, runs in kinds(records).items():
        try:
            parts.append("\n".join([f"{name}:", *_lines(runs)]))
        except ValueError as error:
            parts.append(f"{name}: {error}")
    return "\n\n".join(parts)


def _lines(records: Sequence[Record]) -> list[str]:
    runs = at_best_rates(records)
    rates = {which: of[0]["settings"]["learning_rate"] for which, of in runs.items()}
    lines = ["  Lowest validation loss (nats a word), by learning rate:"]
    for which, losses in sweep(records).items():
        each = (f"{r:g}: {v:.3f}{'*' * (r == rates[which])}" for r, v in losses.items())
        edge = rates[which] in (min(losses), max(losses)) and len(losses) > 1
        lines.append(f"    {ARMS[which]:<20} {'  '.join(each)}{'  (at the edge)' * edge}")
    count = len(runs[LAYER])
    lines.append(f"  At the rates marked (*), mean of {count} seed{'s' * (count > 1)}:")
    for which, of in runs.items():
        ms = np.mean([update_ms(run) for run in of])
        lines.append(
            f"    {ARMS[which]:<20} best loss {np.mean([*map(lowest, of)]):.3f}, {ms:.1f} ms an "
            f"update, {np.mean([seconds(run)[-1] for run in of]):,.0f} s in all"
        )
    for task in (t for t in TASKS if len(scored(runs[LAYER][0], t))):
        lines.append(f"  {TITLES[task]} (%), 10-fold, before training and at the end:")
        case = runs[LAYER][0]["data"]["cases"]
        if task != "caption_pairs":
            lines.append(f"    {'larger class':<20} {100 * case[f'{task}_most'] / case[task]:.1f}")
        for which, of in runs.items():
            values, bags = (np.array([scored(run, k + task) for run in of]) for k in ("", "bag_"))
            lines.append(
                f"    {ARMS[which]:<20} {values[:, 0].mean():.1f} -> {values[:, -1].mean():.1f}; "
                f"mean of its words' vectors {bags[:, 0].mean():.1f} -> {bags[:, -1].mean():.1f}"
            )
    for which, of in runs.items():
        if which != LAYER:
            pairs = list(zip(of, runs[LAYER], strict=True))
            own = np.array([reached(none, lowest(none)) for none, _ in pairs])
            there = np.array([reached(layer, lowest(none)) for none, layer in pairs])
            lines.append(f"  To the best loss of {ARMS[which]}, updates and seconds:")
            lines.append(f"    itself {_list(own)}; layer {_list(there)}")
    lines.append(f"  The paper's claims for layer norm ({compare.bounds_name(count)}):")
    for claim in claims(runs):
        low, high = compare.bounds(claim.differences)
        mean = claim.differences.mean()
        lines.append(
            f"    {claim.text}: {-mean:+.3g} ({-high:+.3g} to {-low:+.3g}): {claim.verdict}"
        )
    ms = {which: np.array([update_ms(run) for run in of]) for which, of in runs.items()}
    for which in (a for a in runs if a != LAYER):
        ratio = ms[LAYER] / ms[which]
        lines.append(
            f"    an update takes as long as of {ARMS[which]}: {ratio.mean():.2f} times "
            f"({ratio.min():.2f} to {ratio.max():.2f})"
        )
    lines.append("    a month's training improves further: open, not run here")
    return lines


def _list(values: np.ndarray) -> str:
    return ", ".join("never" if np.isnan(u) else f"{u:,.0f} ({s:,.0f} s)" for u, s in values)
