"""Paint a digit: the recorded runs, in the kinds and arms in which the chapter compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lnbook.show.colors import COLORS

PLAIN, CHOSEN, LAYER = "none", "none, chosen start", "layer"
#: Label, color and dash of each arm.
LOOKS = {
    PLAIN: ("no norm", COLORS["none"], "dot"),
    CHOSEN: ("no norm, chosen start", COLORS["none"], "dash"),
    LAYER: ("layer norm", COLORS["layer"], "solid"),
}
MAIN, LONGER, SMALLER = "as in the picture", "16 glimpses", "batch size 8"
KINDS = (MAIN, LONGER, SMALLER)
MISSING = "not yet recorded"
EARLY = 500  # updates before which all arms only clear the background


class Runs:
    """What has been recorded of section 6.4.

    Args:
        records: Of the experiment ``draw``.
        judge: Compares them, ``lnlib.experiments.draw.results.TASK``.

    Attributes:
        kinds: From a name of :data:`KINDS` to its arms, each at its best learning rate; a kind
            without a record is left out.
        sweep: The arms of the runs that were to find the rates, or nothing.

    Raises:
        ValueError: If there are no records.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]], judge: Any) -> None:
        if not records:
            raise ValueError(
                "Runs: no records were given; record them with python -m lnlib replay draw"
            )
        self.judge, self.records = judge, records
        self.kinds: dict[str, dict[str, Any]] = {}
        self.sweep: dict[str, Any] = {}
        for _, runs in judge.kinds(records):
            found, first = judge.at_best_rates(runs), runs[0]["settings"]
            if any(len(arm.rates) > 2 for arm in found.values()):
                self.sweep = found
            elif first["glimpses"] > 8:
                self.kinds[LONGER] = found
            elif first["batch_size"] < 64:
                self.kinds[SMALLER] = found
            else:
                self.kinds[MAIN] = found

    @property
    def missing(self) -> list[str]:
        """Names of the kinds that are not recorded."""
        return [name for name in KINDS if name not in self.kinds]

    def recorded(self) -> dict[str, str]:
        """Return the kinds that are recorded, for a choice."""
        return {name: name for name in KINDS if name in self.kinds}

    def curves(
        self, kind: str, arm: str, axis: str, name: str = "test_bound"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a measure of an arm's runs, a row a seed.

        Args:
            kind: Of :data:`KINDS`.
            arm: Of :data:`LOOKS`.
            axis: ``updates`` or ``seconds``. Runs have points at the same updates; for seconds
                they are put on one grid, by straight lines between their points.
            name: Of the measure.

        Returns:
            Where, shape ``(points,)``, and the values, ``(seeds, points)``.
        """
        runs = self.kinds[kind][arm].runs.values()
        values = [np.array(run["curves"][name], float) for run in runs]
        if axis == "updates":
            return self.judge.updates(next(iter(runs))), np.array(values)
        every = [
            self.judge.seconds(run)
            for other in self.kinds[kind].values()
            for run in other.runs.values()
        ]
        grid = np.linspace(0, min(times[-1] for times in every), 60)
        own = [self.judge.seconds(run) for run in runs]
        return grid, np.array([np.interp(grid, t, v) for t, v in zip(own, values, strict=True)])

    def lead(self, kind: str, other: str, axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Return layer norm's bound less that of another arm, of the seeds that both have."""
        arms = self.kinds[kind]
        where, own = self.curves(kind, LAYER, axis)
        _, others = self.curves(kind, other, axis)
        seeds = [seed for seed in arms[LAYER].runs if seed in arms[other].runs]
        rows = [[list(arms[name].runs).index(s) for s in seeds] for name in (LAYER, other)]
        return where, own[rows[0]] - others[rows[1]]

    def share(self, kind: str, other: str, axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Return what layer norm needs to be as good as another arm at each of its points.

        As a share of the other's own updates or seconds, by straight lines between layer norm's
        points, on validation images; NaN where it never is as good.

        Returns:
            Where the other is (mean of the seeds), and the shares, ``(seeds, points)``; from
            :data:`EARLY` updates on.
        """
        arms, judge = self.kinds[kind], self.judge
        seeds = [seed for seed in arms[LAYER].runs if seed in arms[other].runs]
        where, found = [], []
        for seed in seeds:
            theirs, ours = arms[other].runs[seed], arms[LAYER].runs[seed]
            updates = judge.updates(theirs)
            late = updates >= min(EARLY, updates[-1])
            times, own = (getattr(judge, axis)(run) for run in (theirs, ours))
            targets, bounds = (np.fmin.accumulate(judge.score(run)) for run in (theirs, ours))
            new = np.r_[True, np.diff(bounds) < 0]  # else it was as low before
            there = np.interp(targets, bounds[new][::-1], own[new][::-1], left=np.nan)
            where.append(times[late])
            found.append((there / np.maximum(times, 1e-9))[late])
        return np.mean(where, 0), np.array(found)
