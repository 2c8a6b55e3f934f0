"""Recorded runs of several arms, in the groups (kinds) in which a chapter compares them.

The arms are the networks of the paper's recurrent experiments: without normalization, without
normalization from a tuned initialization, and with layer norm; a chapter may add others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lnbook.figures import claims
from lnbook.figures.colors import COLORS
from lnbook.figures.table import Table
from lnlab.claims import ClaimResult
from lnlab.claims.trained import LAYER, NO_NORM, TUNED_INIT

#: Label, color and dash of each arm.
STYLES = {
    NO_NORM: ("no norm", COLORS["none"], "dot"),
    TUNED_INIT: ("no norm (tuned initialization)", COLORS["none"], "dash"),
    LAYER: ("layer norm", COLORS["layer"], "solid"),
}
SWEEP = "sweep"  # the group of the runs that chose the learning rates
MISSING = "not yet recorded"


class Runs:
    """The recorded runs of an experiment; a subclass for each chapter defines the groups.

    Args:
        records: Records of the experiment.
        task: Their comparison, the ``TASK`` of the experiment's ``results``.

    Attributes:
        kinds: Maps a name of :attr:`KINDS` to its arms, each at its best learning rate; groups
            without records are left out.
        records_by_kind: Maps a name of :attr:`KINDS` to all its records.
        sweep: The arms of the runs that chose the learning rates, empty if there are none.

    Raises:
        ValueError: If there are no records.
    """

    EXPERIMENT: ClassVar[str]
    MEASURE: ClassVar[str]  # the curve that is drawn
    KINDS: ClassVar[tuple[str, ...]]  # names of the groups, the main one first
    EARLY: ClassVar[int] = 0  # updates before which no ratio is shown
    STYLES: ClassVar[Mapping[str, tuple[str, str, str]]] = STYLES  # of the arms, layer norm last

    def __init__(self, records: Sequence[Mapping[str, Any]], task: Any) -> None:
        if not records:
            raise ValueError(
                "Runs: no records were given; record them with python -m lnlab replay "
                f"{self.EXPERIMENT}"
            )
        self.task, self.records = task, records
        self.kinds: dict[str, dict[str, Any]] = {}
        self.records_by_kind: dict[str, Sequence[Mapping[str, Any]]] = {}
        for _, runs in task.run_groups(records):
            result = task.at_best_rates(runs)
            own = {arm: result[arm] for arm in self.STYLES if arm in result}
            if own:
                name = self.kind(own, runs[0]["settings"])
                self.kinds[name], self.records_by_kind[name] = own, runs
        self.sweep = self.kinds.pop(SWEEP, {})

    def kind(self, arms: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the name of the group that has these arms, whose runs share these settings."""
        raise NotImplementedError

    @property
    def missing(self) -> list[str]:
        """Names of the groups without records."""
        return [name for name in self.KINDS if name not in self.kinds]

    def recorded(self) -> dict[str, str]:
        """Return the names of the recorded groups, as the options of a control."""
        return {name: name for name in self.KINDS if name in self.kinds}

    def others(self, kind: str) -> list[str]:
        """Return the arms of a group with which layer norm is compared."""
        return [arm for arm in self.STYLES if arm != LAYER and arm in self.kinds.get(kind, {})]

    def curves(
        self, kind: str, arm: str, axis: str, name: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a measure of an arm's runs, a row a seed.

        Args:
            kind: Of :attr:`KINDS`.
            arm: Of :attr:`STYLES`.
            axis: ``updates`` or ``seconds``. Runs have points at the same updates; for seconds
                they are put on one grid, by straight lines between their points.
            name: Of the measure; :attr:`MEASURE`, in the task's unit, if ``None``.

        Returns:
            Where, shape ``(points,)``, and the values, ``(seeds, points)``.
        """
        runs = self.kinds[kind][arm].runs.values()
        factor = self.task.factor if name is None else 1.0
        values = [factor * np.array(run["curves"][name or self.MEASURE], float) for run in runs]
        if axis == "updates":
            return self.task.updates(next(iter(runs))), np.array(values)
        all_times = [
            self.task.seconds(run)
            for other in self.kinds[kind].values()
            for run in other.runs.values()
        ]
        grid = np.linspace(0, min(times[-1] for times in all_times), 60)
        own = [self.task.seconds(run) for run in runs]
        return grid, np.array([np.interp(grid, t, v) for t, v in zip(own, values, strict=True)])

    def lead(
        self, kind: str, other: str, axis: str, name: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return layer norm's measure less that of another arm, of the seeds that both have."""
        arms = self.kinds[kind]
        where, own = self.curves(kind, LAYER, axis, name)
        _, others = self.curves(kind, other, axis, name)
        seeds = [seed for seed in arms[LAYER].runs if seed in arms[other].runs]
        rows = [[list(arms[name].runs).index(s) for s in seeds] for name in (LAYER, other)]
        return where, own[rows[0]] - others[rows[1]]

    def share(self, kind: str, other: str, axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Return what layer norm needs to be as good as another arm at each of its points.

        As a share of the other's own updates or seconds, by straight lines between layer norm's
        points, on validation data; NaN where it never is as good.

        Returns:
            Where the other is (mean of the seeds), and the shares, ``(seeds, points)``; from
            :attr:`EARLY` updates on.
        """
        arms, task = self.kinds[kind], self.task
        seeds = [seed for seed in arms[LAYER].runs if seed in arms[other].runs]
        where, result = [], []
        for seed in seeds:
            theirs, ours = arms[other].runs[seed], arms[LAYER].runs[seed]
            updates = task.updates(theirs)
            late = updates >= min(self.EARLY, updates[-1])
            times, own = (getattr(task, axis)(run) for run in (theirs, ours))
            targets, lowest = (np.fmin.accumulate(task.score(run)) for run in (theirs, ours))
            new = np.r_[True, np.diff(lowest) < 0]  # else it was as low before
            matched_times = np.interp(targets, lowest[new][::-1], own[new][::-1], left=np.nan)
            where.append(times[late])
            result.append((matched_times / np.maximum(times, 1e-9))[late])
        return np.mean(where, 0), np.array(result)

    def weighed(self, kind: str) -> dict[str, ClaimResult]:
        """Return what the paper's claims come to by a kind of runs, by their names."""
        result = claims.weighed(self.EXPERIMENT, self.records_by_kind[kind])
        return {claim_result.claim.name: claim_result for claim_result in result}

    def claims(self, *names: str) -> Table:
        """Return what the paper's claims come to, of those names if any, by the chapter's kind."""
        return claims.table(self.EXPERIMENT, self.records_by_kind[self.KINDS[0]], *names)

    def targets(self) -> Table:
        """Say after how many updates each network is at the targets that the claims are about."""
        names = {arm: style[0] for arm, style in self.STYLES.items()}
        return claims.targets(self.task, self.kinds[self.KINDS[0]], names)
