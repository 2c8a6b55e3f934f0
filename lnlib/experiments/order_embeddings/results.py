"""What records of section 6.1 come to: Table 2's recalls and ranks, and Figure 1's updates.

As in the paper's public code a run counts where it was best: at the highest sum of Recall@1, 5 and
10 of images on validation. The rate of each norm is the one with the best mean of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lnlib import compare
from lnlib.experiments.order_embeddings import CUTS, NORMS, updates_per_epoch

Record = dict[str, Any]
WAYS = {"image": "image retrieval", "caption": "caption retrieval"}


class Row(NamedTuple):
    """A measure on the test images, with layer norm and without.

    Attributes:
        name: Of the measure, in words.
        none: One a seed, in percent or places.
        layer: Of the same seeds.
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

    @property
    def verdict(self) -> str:
        """Whether layer norm is better."""
        return compare.verdict(-self.better * self.difference)


class Race(NamedTuple):
    """Updates after which something was first measured, one a seed; NaN where it never was.

    Attributes:
        none_best: The best of the run without norm.
        layer_there: As good a run with layer norm.
        layer_best: The best of the run with layer norm.
    """

    none_best: np.ndarray
    layer_there: np.ndarray
    layer_best: np.ndarray


def scores(run: Record) -> np.ndarray:
    """Return the sum of Recall@1, 5 and 10 of images on validation at each point, in percent."""
    return 100 * sum(np.array(run["curves"][f"val_image_recall_{k}"], float) for k in CUTS)


def _compared(records: Sequence[Record]) -> list[Record]:
    """Leave out the runs that were made for what they keep: others are as good and longer."""
    return [run for run in records if not run["settings"].get("keep")]


def sweep(records: Sequence[Record]) -> dict[str, dict[float, float]]:
    """Return for each norm and rate the mean over seeds of each run's best score."""
    best: dict[str, dict[float, list[float]]] = {norm: {} for norm in NORMS}
    for run in _compared(records):
        rates = best[run["settings"]["norm"]]
        rates.setdefault(run["settings"]["learning_rate"], []).append(scores(run).max())
    return {n: {r: float(np.mean(rates[r])) for r in sorted(rates)} for n, rates in best.items()}


def at_best_rates(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the runs of each norm at its best rate, of the seeds that both have.

    Raises:
        ValueError: If there is none, or a norm has two runs of one rate and seed.
    """
    by_norm = {}
    for norm, rates in sweep(records).items():
        best = max(rates, key=rates.__getitem__, default=None)
        runs = [r for r in _compared(records) if (s := r["settings"])["norm"] == norm
                and s["learning_rate"] == best]  # fmt: skip
        by_norm[norm] = {run["seed"]: run for run in runs}
        if len(by_norm[norm]) < len(runs):
            raise ValueError(
                f"at_best_rates: records must differ in norm, rate or seed, got {norm}, {best:g} "
                "twice with one seed; read those of one kind of setting"
            )
    seeds = sorted(set.intersection(*(set(runs) for runs in by_norm.values())))
    if not seeds:
        raise ValueError(
            "at_best_rates: records must have a seed for both norms, got "
            f"{len(records)} of them without; record more"
        )
    return {norm: [runs[seed] for seed in seeds] for norm, runs in by_norm.items()}


def rows(records: Sequence[Record]) -> list[Row]:
    """Return Table 2: what is measured on the test images where validation was best."""
    runs = at_best_rates(records)

    def ends(norm: str, name: str) -> np.ndarray:
        return np.array([r["curves"][name][int(scores(r).argmax())] for r in runs[norm]])

    found = []
    for way, words in WAYS.items():
        for k in CUTS:
            both = (100 * ends(norm, f"test_{way}_recall_{k}") for norm in NORMS)
            found.append(Row(f"{words}, R@{k} (%)", *both, better=1))
        both = (ends(norm, f"test_{way}_mean_rank") for norm in NORMS)
        found.append(Row(f"{words}, mean rank", *both, better=-1))
    return found


def race(records: Sequence[Record]) -> Race:
    """Return when runs were best, and when those with layer norm were as good as those without."""
    runs = at_best_rates(records)
    found = []
    for none, layer in zip(runs["none"], runs["layer"], strict=True):
        best, there = scores(none), np.flatnonzero(scores(layer) >= scores(none).max())
        found.append((
            _updates(none)[best.argmax()],
            _updates(layer)[there[0]] if len(there) else np.nan,
            _updates(layer)[scores(layer).argmax()],
        ))  # fmt: skip
    return Race(*np.array(found, float).T)


def _updates(run: Record) -> np.ndarray:
    images = run["data"]["cases"]["train_images"]
    each = updates_per_epoch(images, run["settings"]["batch_size"])
    return (np.array(run["curves"]["epoch"]) * each).round()


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed.

    Args:
        records: Of one kind but for norm, rate and seed.
    """
    runs, found = at_best_rates(records), race(records)
    rates = {norm: runs[norm][0]["settings"]["learning_rate"] for norm in NORMS}
    seeds = [run["seed"] for run in runs["none"]]
    lines = ["Best on validation, R@1 + R@5 + R@10 of images, by learning rate:"]
    for norm, scored in sweep(records).items():
        each = (
            f"{rate:g}: {score:.1f}{'*' * (rate == rates[norm])}" for rate, score in scored.items()
        )
        lines.append(f"  {norm:<6} {'  '.join(each)}")
    spread = compare.bounds_name(len(seeds))
    count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    lines += [
        "",
        f"Test images, where validation was best, at the rates marked (*), by {count}:",
        f"  {'':<28} {'none':>6} {'layer':>6}  {'layer - none':<12} ({spread})",
    ]
    for row in rows(records):
        low, high = compare.bounds(row.difference)
        lines.append(
            f"  {row.name:<28} {row.none.mean():6.2f} {row.layer.mean():6.2f}  "
            f"{row.difference.mean():+6.2f} ({low:+.2f} to {high:+.2f})  better: {row.verdict}"
        )
    there = found.layer_there / found.none_best
    never = int(np.isnan(there).sum())
    lines += [
        "",
        f"Updates to the best without norm: {_list(found.none_best)}",
        f"  with layer norm to the same:    {_list(found.layer_there)}",
        f"  with layer norm to its own:     {_list(found.layer_best)}",
        f"In percent, to the same: {_list(100 * there)}; never in {never} of {len(seeds)}",
        f"In percent, to its own:  {_list(100 * found.layer_best / found.none_best)}"
        " (60 in the paper)",
    ]
    return "\n".join(lines)


def _list(values: np.ndarray) -> str:
    return ", ".join("never" if np.isnan(v) else f"{v:,.0f}" for v in values)
