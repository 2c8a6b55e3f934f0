"""Evaluation of claims about training speed and final metrics, from recorded runs.

The protocol is that of :mod:`lnlab.comparison`.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from lnlab import experiments
from lnlab.claims.finding import Finding, Record, Records
from lnlab.comparison import WORSENS
from lnlab.experiments import _arms
from lnlab.experiments._arms import Arm, Score, shared_seeds
from lnlab.experiments._curves import TARGETS, end_value
from lnlab.experiments._task import LAYER, NO_NORM, TUNED_INIT, curve, describe_non_default_config

Value = Callable[[Record], float]
Evaluator = Callable[[Records], list[Finding]]
RECURRENT = ("order_embeddings", "attentive_reader", "skip_thoughts", "draw", "handwriting")
RATIO = "of the updates"
#: From the name of an arm to its name in words; other names are in words already.
ARM_NAMES = {
    NO_NORM: "no norm",
    TUNED_INIT: "no norm (tuned initialization)",
    LAYER: "layer norm",
    "layer, gain 0.1": "layer norm, gain 0.1",
    "channel": "layer norm over channels",
    "batch": "batch norm",
    "group": "group norm",
    "instance": "instance norm",
    "rms": "RMS norm",
}
#: From the name of an experiment to its name in words, where these differ.
EXPERIMENT_NAMES = {
    "draw": "DRAW",
    "skip_thoughts": "skip-thoughts",
    "convnet": "convolutional network",
    "landscape": "feed-forward network on 8 × 8 digits",
}
TASKS = {
    name: experiments.module_of(name, "results").TASK
    for name in (*RECURRENT, "convnet", "landscape")
}


def experiment_name(experiment: str) -> str:
    """Return the name of an experiment in words."""
    return EXPERIMENT_NAMES.get(experiment, experiment.replace("_", " "))


class RunGroup(NamedTuple):
    """Runs of an experiment that differ only in arm, learning rate and seed.

    Attributes:
        experiment: Name of the experiment.
        changed: Settings that differ from the defaults; empty in the main group.
        arms: The arms, each at its best learning rate.
    """

    experiment: str
    changed: dict[str, Any]
    arms: dict[str, Arm]

    @property
    def name(self) -> str:
        """The changed settings in words."""
        return describe_non_default_config(self.changed)

    def has(self, *names: str) -> bool:
        """Return whether there are arms of these names with at least two common seeds."""
        known = set(names) <= self.arms.keys()
        return known and len(shared_seeds(*(self.arms[name] for name in names))) > 1


def run_groups(
    records: Records, experiment: str, *arms: str, metric: str | None = None,
    rate: float | None = None,
) -> list[RunGroup]:  # fmt: skip
    """Return the groups of runs that have these arms, the default settings first.

    Without ``arms``, the groups must have an arm without norm and one with layer norm. Learning
    rates are chosen by ``metric``, one of the task's ``scores``; by default the main one. With a
    ``rate``, all arms are at this learning rate.
    """
    task, selection = TASKS[experiment], {} if rate is None else {"learning_rate": rate}
    results = [
        RunGroup(experiment, changed, task.at_best_rates(runs, metric))
        for changed, runs in task.run_groups(records.select(experiment, **selection))
    ]
    return [group for group in results if group.has(*(arms or (NO_NORM, LAYER)))]


def arm_name(arm: str) -> str:
    """Return the name of an arm in words."""
    return ARM_NAMES.get(arm, arm)


def describe(group: RunGroup, text: str) -> str:
    """Return the text, followed by the changed settings of the group."""
    return f"{text}; {group.name}" if group.changed else text


def _runs(*arms: Arm) -> tuple[Record, ...]:
    return tuple(run for arm in arms for run in arm.runs.values())


def steps_to_target_ratio(
    group: RunGroup,
    other: str = LAYER,
    plain: str = NO_NORM,
    *,
    metric: str | None = None,
    at_most: float = 1.0,
    counts: bool = True,
) -> list[Finding]:
    """Return the ratio of updates of two arms to each target.

    Args:
        group: The group of runs.
        other: The arm that the claim says is faster.
        plain: The baseline, whose plateau defines the targets.
        metric: One of the task's ``scores``; by default the first, which is the paper's.
        at_most: The highest ratio for which the claim is true.
        counts: As in :class:`.Finding`.

    Returns:
        A finding for each target, or a single untestable one if the baseline has no plateau.
    """
    task = TASKS[group.experiment]
    metric = metric or task.score_name
    score, text = task.scores[metric], f"{metric}, {arm_name(other)} versus {arm_name(plain)}"
    arms = group.arms[plain], group.arms[other]
    return to_targets(*arms, score, task.updates, describe(group, text), at_most, counts)


def to_targets(
    plain: Arm,
    other: Arm,
    score: Score,
    updates: Score,
    what: str,
    at_most: float = 1.0,
    counts: bool = True,
) -> list[Finding]:
    """Return the ratio of updates of any two arms, as :func:`steps_to_target_ratio`."""
    runs, seeds = _runs(plain, other), len(shared_seeds(plain, other))
    reason = _arms.no_plateau(plain, score, updates)
    if reason:
        unknown = np.full(seeds, np.nan)
        text = f"updates to the targets, {what}"
        return [Finding(text, unknown, RATIO, None, runs, counts, untestable=reason)]
    ratios = _arms.ratios(plain, other, score, updates)
    share = f" as a share of the other network's, minus {at_most:.0%} (below 0: fewer)"
    limit = "" if at_most == 1 else share
    return [
        Finding(f"updates to {target:.0%} of the way{limit}, {what}", values - at_most, RATIO,
                values - 1, runs, counts)
        for target, values in zip(TARGETS, ratios, strict=True)
    ]  # fmt: skip


def final_metric_difference(
    group: RunGroup,
    name: str | Value,
    unit: str,
    what: str,
    other: str = LAYER,
    plain: str = NO_NORM,
    *,
    factor: float = 1.0,
    share: bool = True,
    counts: bool = True,
    plateau_score: Score | None = None,
) -> Finding:
    """Return the difference of a final value between two arms, for each seed.

    Args:
        group: The group of runs.
        name: Name of a curve whose end is the value, or a function that returns it for a run.
        unit: Unit of the value times ``factor``.
        what: Description of the comparison.
        other: The arm that the claim says is lower.
        plain: The arm that it is compared with.
        factor: Factor for the value: -1 if higher is better, 100 for percent.
        share: Whether the value is on a ratio scale, so that relative differences are meaningful.
        counts: As in :class:`.Finding`.
        plateau_score: The curve that must have a plateau in both arms; by default the task's score.
    """
    task, value = TASKS[group.experiment], end(name) if isinstance(name, str) else name
    a, b = group.arms[plain], group.arms[other]
    with_norm, without = _arms.paired(b, a, value)
    differences = factor * (with_norm - without)
    shares = np.sign(factor) * (with_norm - without) / np.abs(without) if share else None
    reason = task.no_plateau(a, b, score=plateau_score)
    return Finding(describe(group, what), differences, unit, shares, _runs(a, b), counts,
                   turned=factor < 0, untestable=reason)  # fmt: skip


def at_best_of_validation(group: RunGroup, value: Value, *args: Any, **kwargs: Any) -> Finding:
    """Return the difference of values where each run's validation score is best (early stopping).

    Both arms may get worse after that, but must no longer be improving.
    """
    result = final_metric_difference(group, value, *args, **kwargs)
    worsens = result.untestable == WORSENS
    return dataclasses.replace(result, untestable="") if worsens else result


def no_plateau(arms: Iterable[Arm], name: str) -> str:
    """Return why a curve has no plateau in one of the arms, or ``""`` if all have one."""
    reasons = (_arms.no_plateau(arm, lambda run: curve(run, name), epochs) for arm in arms)
    return next(filter(None, reasons), "")


def epochs(run: Record) -> np.ndarray:
    """Return the epoch at each measuring point."""
    return curve(run, "epoch")


def equivalence_margin(finding: Finding, margin: float) -> Finding:
    """Convert a finding on "lower" to one on "equal within a margin", which is our choice."""
    text, semicolon, group = finding.description.partition("; ")
    return dataclasses.replace(
        finding,
        description=f"{text}: absolute difference minus {margin:g} {finding.unit} "
        f"(below 0: comparable){semicolon}{group}",
        differences=np.abs(finding.differences) - margin,
        shares=None,
        turned=False,
    )


def end(name: str) -> Value:
    """Return a function for the end of a curve of a run, NaN if it has no value there."""
    return lambda run: end_value(curve(run, name))


def at_best(group: RunGroup, name: str) -> Value:
    """Return a function for the value of a curve where a run's score is lowest."""
    return lambda run: TASKS[group.experiment].at_best(run, name)


def best_rates(group: RunGroup, records: Records) -> Finding:
    """Compare the best learning rates with layer norm and without a norm, for each seed."""
    task, used = TASKS[group.experiment], []
    runs = next(
        runs
        for changed, runs in task.run_groups(records.select(group.experiment))
        if changed == group.changed
    )
    seeds = shared_seeds(group.arms[LAYER], group.arms[NO_NORM])
    rates: dict[str, list[float]] = {}
    for name in (LAYER, NO_NORM):
        arm_runs = [run for run in runs if task.arms[name].items() <= run["settings"].items()]
        used += arm_runs
        for seed in seeds:
            scores = {
                run["settings"]["learning_rate"]: np.nanmin(np.append(task.score(run), np.inf))
                for run in arm_runs
                if run["seed"] == seed
            }
            rates.setdefault(name, []).append(min(scores, key=scores.__getitem__))
    a, b = (np.array(rates[name]) for name in (LAYER, NO_NORM))
    typical = [f"{np.exp(np.log(values).mean()):.2g}" for values in (a, b)]
    text = f"{experiment_name(group.experiment)}: best rate {typical[0]} versus {typical[1]}"
    reason = task.no_plateau(group.arms[NO_NORM], group.arms[LAYER])
    return Finding(describe(group, text), np.log10(b / a), "powers of ten", None, tuple(used),
                   untestable=reason)  # fmt: skip


def secondary(findings: list[Finding]) -> list[Finding]:
    """Return findings that are shown but do not count for the label."""
    return [dataclasses.replace(finding, counts=False) for finding in findings]


def speedup(experiment: str, *, at_most: float = 1.0) -> Evaluator:
    """Return an evaluator of the updates to the targets.

    Each metric is compared at the learning rates that are best by it. Only the first metric of the
    main group counts, unless the task says that the others do, too; the baseline with tuned
    initialization and the other groups are secondary.
    """
    task = TASKS[experiment]

    def evaluate(records: Records) -> list[Finding]:
        results = []
        by_metric = [run_groups(records, experiment, metric=metric) for metric in task.scores]
        for groups in zip(*by_metric, strict=True):
            group, findings = groups[0], []
            for metric, at_rates in zip(task.scores, groups, strict=True):
                ratios = steps_to_target_ratio(at_rates, metric=metric, at_most=at_most)
                counts = task.others_count or not findings
                findings += ratios if counts else secondary(ratios)
            if group.has(TUNED_INIT, LAYER):
                findings += secondary(
                    steps_to_target_ratio(group, plain=TUNED_INIT, at_most=at_most)
                )
            results += secondary(findings) if results else findings
        return results

    return evaluate
