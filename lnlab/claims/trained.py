"""What recorded runs say on claims by the protocol of :mod:`lnlab.comparison`: targets and ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from lnlab.claims.finding import Finding, Record, Records
from lnlab.comparison import WORSENS
from lnlab.experiments import _arms
from lnlab.experiments._arms import Arm, Score
from lnlab.experiments._curves import TARGETS, end_value
from lnlab.experiments._task import CHOSEN, LAYER, NONE, curve, describe_non_default_config

Value = Callable[[Record], float]
Weigh = Callable[[Records], list[Finding]]
RECURRENT = ("order_embeddings", "attentive_reader", "skip_thoughts", "draw", "handwriting")
RATIO = "of its updates"
TASKS = {
    name: import_module(f"lnlab.experiments.{name}.results").TASK
    for name in (*RECURRENT, "convnet", "landscape")
}


class Kind(NamedTuple):
    """Runs of an experiment that differ in arm, rate and seed alone.

    Attributes:
        experiment: Its name.
        odd: What is not as usual in their settings; nothing in the head kind.
        arms: Each at its best rate.
    """

    experiment: str
    odd: dict[str, Any]
    arms: dict[str, Arm]

    @property
    def name(self) -> str:
        """Say what is odd."""
        return describe_non_default_config(self.odd)

    def has(self, *names: str) -> bool:
        """Say whether there are such arms with two seeds in common."""
        if not set(names) <= self.arms.keys():
            return False
        return len(set.intersection(*(set(self.arms[name].runs) for name in names))) > 1


def kinds(records: Records, experiment: str, arms: Iterable[str] = (NONE, LAYER)) -> list[Kind]:
    """Return the kinds of runs that have these arms, the usual settings first."""
    task = TASKS[experiment]
    results = [
        Kind(experiment, odd, task.at_best_rates(runs))
        for odd, runs in task.kinds(records.of(experiment))
    ]
    return [kind for kind in results if kind.has(*arms)]


def named(arm: str) -> str:
    """Say an arm as a person would."""
    words = {"layer": "layer norm", "batch": "batch norm", "rms": "RMS norm", "none": "no norm"}
    return words.get(arm, arm)


def describe(kind: Kind, text: str) -> str:
    """Say what is compared, and what is not as usual in the runs."""
    return f"{text}; {kind.name}" if kind.odd else text


def _runs(*arms: Arm) -> tuple[Record, ...]:
    return tuple(run for arm in arms for run in arm.runs.values())


def steps_to_target_ratio(
    kind: Kind,
    other: str = LAYER,
    plain: str = NONE,
    *,
    metric: str | None = None,
    at_most: float = 1.0,
    counts: bool = True,
) -> list[Finding]:
    """Return the ratio of updates of two arms to each fixed target, or why there are none.

    Args:
        kind: Of which runs.
        other: The arm that is to be faster.
        plain: The baseline, whose plateau sets the targets.
        metric: One of the task's ``scores``; the paper's own, the first, if ``None``.
        at_most: The ratio that the claim is about.
        counts: As in :class:`.Finding`.
    """
    task = TASKS[kind.experiment]
    metric = metric or task.seeks
    score, text = task.scores[metric], f"{metric}, {named(other)} against {named(plain)}"
    arms = kind.arms[plain], kind.arms[other]
    return to_targets(*arms, score, task.updates, describe(kind, text), at_most, counts)


def to_targets(
    plain: Arm,
    other: Arm,
    score: Score,
    updates: Score,
    what: str,
    at_most: float = 1.0,
    counts: bool = True,
) -> list[Finding]:
    """Return the ratio of updates of any two arms to each fixed target, or why there are none."""
    runs, seeds = _runs(plain, other), len(plain.runs.keys() & other.runs.keys())
    reason = _arms.no_plateau(plain, score, updates)
    if reason:
        nothing = np.full(seeds, np.nan)
        text = f"updates to the targets, {what}"
        return [Finding(text, nothing, RATIO, None, runs, counts, untestable=reason)]
    ratios = _arms.ratios(plain, other, score, updates)
    limit = "" if at_most == 1 else f", beyond {at_most:.0%}"
    return [
        Finding(f"updates to {part:.0%} of the way{limit}, {what}", values - at_most, RATIO,
                values - 1, runs, counts)
        for part, values in zip(TARGETS, ratios, strict=True)
    ]  # fmt: skip


def final_metric_difference(
    kind: Kind,
    name: str | Value,
    unit: str,
    what: str,
    other: str = LAYER,
    plain: str = NONE,
    *,
    factor: float = 1.0,
    share: bool = True,
    counts: bool = True,
    judged: Score | None = None,
) -> Finding:
    """Return by how much one arm's end lies below another's, seed by seed.

    Args:
        kind: Of which runs.
        name: The curve whose end it is, or what gives a run's value.
        unit: Of the value times ``factor``.
        what: What is compared, in words.
        other: The arm that is to be lower.
        plain: The arm that it is compared with.
        factor: -1 turns round what is better when it is higher; 100 makes percent.
        share: Whether the value has a zero, so that shares of it mean something.
        counts: As in :class:`.Finding`.
        judged: The curve that must have leveled off in both arms; the task's score if ``None``.
    """
    task, value = TASKS[kind.experiment], end(name) if isinstance(name, str) else name
    a, b = kind.arms[plain], kind.arms[other]
    with_norm, without = _arms.paired(b, a, value)
    differences = factor * (with_norm - without)
    shares = np.sign(factor) * (with_norm - without) / np.abs(without) if share else None
    return Finding(describe(kind, what), differences, unit, shares, _runs(a, b), counts,
                   turned=factor < 0, untestable=task.no_plateau(a, b, score=judged))  # fmt: skip


def at_best_of_validation(kind: Kind, value: Value, *args: Any, **kwargs: Any) -> Finding:
    """Return the difference of values where each run's validation was best: early stopping.

    Both arms may get worse after that, but must not be still improving.
    """
    result = final_metric_difference(kind, value, *args, **kwargs)
    late = result.untestable == WORSENS
    return dataclasses.replace(result, untestable="") if late else result


def no_plateau(arms: Iterable[Arm], name: str) -> str:
    """Return why a curve has not leveled off in one of some arms, over epochs."""
    reasons = (_arms.no_plateau(arm, lambda run: curve(run, name), epochs) for arm in arms)
    return next(filter(None, reasons), "")


def epochs(run: Record) -> np.ndarray:
    """Return after how many epochs each point was measured."""
    return curve(run, "epoch")


def equivalence_margin(finding: Finding, margin: float, unit: str | None = None) -> Finding:
    """Turn "lower" into "no different": within a margin, which is ours."""
    words, semicolon, kind = finding.what.partition("; ")
    return dataclasses.replace(
        finding,
        what=f"{words}, at most {margin:g} {unit or finding.unit} apart{semicolon}{kind}",
        differences=np.abs(finding.differences) - margin,
        unit=unit or finding.unit,
        shares=None,
        turned=False,
    )


def end(name: str) -> Value:
    """Return what gives the end of a curve; NaN where a run has no number there."""
    return lambda run: end_value(curve(run, name))


def at_best(kind: Kind, name: str) -> Value:
    """Return what gives a curve's value where a run's score is lowest."""
    return lambda run: TASKS[kind.experiment].at_best(run, name)


def best_rates(kind: Kind, records: Records, other: str = LAYER, plain: str = NONE) -> Finding:
    """Say whether an arm's best learning rate lies above another's, seed by seed."""
    task, result = TASKS[kind.experiment], []
    runs = next(runs for odd, runs in task.kinds(records.of(kind.experiment)) if odd == kind.odd)
    seeds = sorted(kind.arms[other].runs.keys() & kind.arms[plain].runs.keys())
    rates: dict[str, list[float]] = {}
    for name in (other, plain):
        mine = [run for run in runs if task.arms[name].items() <= run["settings"].items()]
        result += mine
        for seed in seeds:
            bests = {
                run["settings"]["learning_rate"]: np.nanmin(np.append(task.score(run), np.inf))
                for run in mine
                if run["seed"] == seed
            }
            rates.setdefault(name, []).append(min(bests, key=bests.__getitem__))
    a, b = (np.array(rates[name]) for name in (other, plain))
    typical = [f"{np.exp(np.log(one).mean()):.2g}" for one in (a, b)]
    text = f"{kind.experiment.replace('_', ' ')}: best rate {typical[0]} against {typical[1]}"
    reason = task.no_plateau(kind.arms[plain], kind.arms[other])
    return Finding(describe(kind, text), np.log10(b / a), "powers of ten", None, tuple(result),
                   untestable=reason)  # fmt: skip


def head(records: Records, experiment: str, *arms: str) -> list[Kind]:
    """Return the kind of runs with usual settings, first of all that have these arms."""
    return kinds(records, experiment, arms or (NONE, LAYER))


def beside(findings: list[Finding]) -> list[Finding]:
    """Let findings stand beside, without a say in the verdict."""
    return [dataclasses.replace(finding, counts=False) for finding in findings]


def speedup(experiment: str, *, at_most: float = 1.0) -> Weigh:
    """Judge updates to the targets; other metrics, a tuned start and other kinds stand beside."""

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for kind in head(records, experiment):
            one = []
            for metric in TASKS[experiment].scores:
                more = steps_to_target_ratio(kind, metric=metric, at_most=at_most)
                one += beside(more) if one else more
            if kind.has(CHOSEN, LAYER):
                one += beside(steps_to_target_ratio(kind, plain=CHOSEN, at_most=at_most))
            results += beside(one) if results else one
        return results

    return evaluate
