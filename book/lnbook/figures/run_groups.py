"""Recorded runs of several arms, in the groups in which a chapter compares them.

The arms are the networks of the paper's recurrent experiments: without normalization, without
normalization from a tuned initialization, and with layer norm; a chapter may add others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lnbook.figures import claims
from lnbook.figures.colors import COLORS
from lnbook.figures.table import Table
from lnlab.claims import ClaimResult
from lnlab.claims.trained import LAYER, NO_NORM, TUNED_INIT
from lnlab.experiments._arms import paired, shared_seeds
from lnlab.experiments._task import curve

#: Label, color and dash of each arm.
STYLES = {
    NO_NORM: ("no norm", COLORS["none"], "dot"),
    TUNED_INIT: ("no norm (tuned initialization)", COLORS["none"], "dash"),
    LAYER: ("layer norm", COLORS["layer"], "solid"),
}
MAIN = "standard settings"  # the group of the runs with the default settings
SWEEP = "sweep"  # the group of the runs that chose the learning rates


class Runs:
    """The recorded runs of an experiment; a subclass for each chapter defines the groups.

    Args:
        records: Records of the experiment.
        task: Their comparison, the ``TASK`` of the experiment's ``results``.

    Attributes:
        groups: Maps a name of :attr:`GROUPS` to its arms, each at its best learning rate; groups
            without records are left out.
        records_by_group: Maps a name of :attr:`GROUPS` to all its records.
        sweep: The arms of the runs that chose the learning rates, empty if there are none.
    """

    EXPERIMENT: ClassVar[str]
    MEASURE: ClassVar[str]  # the curve that is drawn
    #: Maps the name of a group to settings that only its runs have, first :data:`MAIN` to none.
    GROUPS: ClassVar[Mapping[str, Mapping[str, Any]]]
    EARLY: ClassVar[int] = 0  # updates before which no relative number of updates is shown
    STYLES: ClassVar[Mapping[str, tuple[str, str, str]]] = STYLES  # of the arms, layer norm last

    def __init__(self, records: Sequence[Mapping[str, Any]], task: Any) -> None:
        self.task, self.records = task, records
        self.groups: dict[str, dict[str, Any]] = {}
        self.records_by_group: dict[str, Sequence[Mapping[str, Any]]] = {}
        for changed, runs in task.run_groups(records):
            result = task.at_best_rates(runs)
            own = {arm: result[arm] for arm in self.STYLES if arm in result}
            name = self.group_name(changed, own)
            if own and name:
                self.groups[name], self.records_by_group[name] = own, runs
        self.sweep = self.groups.pop(SWEEP, {})

    def group_name(self, changed: Mapping[str, Any], arms: Mapping[str, Any]) -> str | None:
        """Return the name of a group, or ``None`` if no figure shows it.

        Args:
            changed: The settings of its runs that differ from the defaults.
            arms: Its arms.
        """
        if not changed:
            return MAIN
        for name, settings in self.GROUPS.items():
            if settings and settings.items() <= changed.items():
                return name
        return SWEEP if any(len(arm.rates) > 2 for arm in arms.values()) else None

    def recorded(self) -> dict[str, str]:
        """Return the names of the recorded groups, as the options of a control."""
        return {name: name for name in self.GROUPS if name in self.groups}

    def others(self, group: str) -> list[str]:
        """Return the arms of a group with which layer norm is compared."""
        return [arm for arm in self.STYLES if arm != LAYER and arm in self.groups.get(group, {})]

    def curves(
        self, group: str, arm: str, name: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a measure of an arm's runs, one row per seed.

        Args:
            group: One of :attr:`GROUPS`.
            arm: A key of :attr:`STYLES`.
            name: Name of the measure. ``None``: :attr:`MEASURE`, in the task's unit.

        Returns:
            The updates, shape ``(points,)``, and the values, ``(seeds, points)``.
        """
        runs = list(self.groups[group][arm].runs.values())
        factor = self.task.factor if name is None else 1.0
        values = [curve(run, name or self.MEASURE) for run in runs]
        return self.task.updates(runs[0]), factor * np.array(values)

    def difference(self, group: str, other: str) -> tuple[np.ndarray, np.ndarray]:
        """Return :attr:`MEASURE` of layer norm minus that of another arm.

        Returns:
            The updates, shape ``(points,)``, and the differences for the seeds that both arms have,
            ``(seeds, points)``.
        """
        arms = self.groups[group]
        own, others = paired(arms[LAYER], arms[other], lambda run: curve(run, self.MEASURE))
        return self.curves(group, LAYER)[0], self.task.factor * (own - others)

    def relative_training_time(self, group: str, other: str) -> tuple[np.ndarray, np.ndarray]:
        """Return how many updates layer norm needs to match another arm, relative to that arm.

        At each point of the other arm, the target is its lowest validation value so far. The number
        of updates at which layer norm reaches it is interpolated linearly between its points.

        Returns:
            The other arm's updates, shape ``(points,)``, from :attr:`EARLY` on, and the ratio of
            the two numbers of updates, ``(seeds, points)``; NaN where layer norm never reaches the
            target.
        """
        arms, task = self.groups[group], self.task
        updates = task.updates(next(iter(arms[other].runs.values())))
        late = updates >= min(self.EARLY, updates[-1])
        result = []
        for seed in shared_seeds(arms[LAYER], arms[other]):
            theirs, ours = arms[other].runs[seed], arms[LAYER].runs[seed]
            targets, lowest = (np.fmin.accumulate(task.score(run)) for run in (theirs, ours))
            improves = np.r_[True, np.diff(lowest) < 0]  # a plateau counts once
            own = task.updates(ours)[improves]
            matched = np.interp(targets, lowest[improves][::-1], own[::-1], left=np.nan)
            result.append((matched / np.maximum(updates, 1e-9))[late])
        return updates[late], np.array(result)

    def claim_results(self, group: str) -> dict[str, ClaimResult]:
        """Return the results of the paper's claims on a group of runs, by the claims' names."""
        result = claims.evaluate_records(self.EXPERIMENT, self.records_by_group[group])
        return {claim_result.claim.name: claim_result for claim_result in result}

    def claims(self, *names: str) -> Table:
        """Return a table of the paper's claims on the main group, or of those with the names."""
        return claims.table(self.EXPERIMENT, self.records_by_group[MAIN], *names)

    def targets(self) -> Table:
        """Return a table of the updates that each network needs to reach the claims' targets."""
        names = {arm: style[0] for arm, style in self.STYLES.items()}
        return claims.targets(self.task, self.groups[MAIN], names)
