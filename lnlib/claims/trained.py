"""What recorded runs say on claims: who is there sooner, who ends lower, by which kind of runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from lnlib.claims.finding import Finding, Record, Records
from lnlib.experiments import _arms
from lnlib.experiments._arms import Arm, Score
from lnlib.experiments._task import CHOSEN, LAYER, NONE, curve, told

Value = Callable[[Record], float]
Weigh = Callable[[Records], list[Finding]]
RECURRENT = ("order_embeddings", "attentive_reader", "skip_thoughts", "draw", "handwriting")
TASKS = {
    name: import_module(f"lnlib.experiments.{name}.results").TASK
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
        return told(self.odd)

    def has(self, *names: str) -> bool:
        """Say whether there are such arms with two seeds in common."""
        if not set(names) <= self.arms.keys():
            return False
        return len(set.intersection(*(set(self.arms[name].runs) for name in names))) > 1


def kinds(records: Records, experiment: str, arms: Iterable[str] = (NONE, LAYER)) -> list[Kind]:
    """Return the kinds of runs that have these arms, the usual settings first."""
    task = TASKS[experiment]
    found = [
        Kind(experiment, odd, task.at_best_rates(runs))
        for odd, runs in task.kinds(records.of(experiment))
    ]
    return [kind for kind in found if kind.has(*arms)]


def named(arm: str) -> str:
    """Say an arm as a person would."""
    words = {"layer": "layer norm", "batch": "batch norm", "rms": "RMS norm", "none": "no norm"}
    return words.get(arm, arm)


def _told(kind: Kind, text: str) -> str:
    return f"{text}; {kind.name}" if kind.odd else text


def _runs(*arms: Arm) -> tuple[Record, ...]:
    return tuple(run for arm in arms for run in arm.runs.values())


def sooner(
    kind: Kind,
    other: str = LAYER,
    plain: str = NONE,
    *,
    score: Score | None = None,
    axis: str = "updates",
    at_most: float = 1.0,
    what: str = "",
    counts: bool = True,
) -> Finding:
    """Say what share of the plain run's updates another arm needs to be as good.

    Args:
        kind: Of which runs.
        other: The arm that is to be sooner.
        plain: The arm whose best is the aim.
        score: The lower, the better; the task's own if ``None``.
        axis: ``updates`` or ``seconds``.
        at_most: The share that the claim is about.
        what: In place of the usual words.
        counts: As in :class:`.Finding`.
    """
    task = TASKS[kind.experiment]
    a, b = kind.arms[plain], kind.arms[other]
    shares = _arms.race(a, b, score or task.score, getattr(task, axis))
    text = what or f"{axis} of {named(other)} to the best {task.seeks} of {named(plain)}"
    unit = f"of its {axis}"
    return Finding(_told(kind, text), shares - at_most, unit, shares - 1, _runs(a, b), counts)


def lower(
    kind: Kind,
    value: Value,
    unit: str,
    what: str,
    other: str = LAYER,
    plain: str = NONE,
    *,
    factor: float = 1.0,
    share: bool = True,
    counts: bool = True,
) -> Finding:
    """Say by how much a value of one arm's runs lies below that of another's, seed by seed.

    Args:
        kind: Of which runs.
        value: Of a run.
        unit: Of the value times ``factor``.
        what: What is compared, in words.
        other: The arm that is to be lower.
        plain: The arm that it is compared with.
        factor: -1 turns round what is better when it is higher; 100 makes percent.
        share: Whether the value has a zero, so that shares of it mean something.
        counts: As in :class:`.Finding`.
    """
    a, b = kind.arms[plain], kind.arms[other]
    with_norm, without = _arms.paired(b, a, value)
    differences = factor * (with_norm - without)
    shares = np.sign(factor) * (with_norm - without) / np.abs(without) if share else None
    turned = factor < 0
    return Finding(_told(kind, what), differences, unit, shares, _runs(a, b), counts, turned=turned)


def alike(finding: Finding, margin: float, unit: str | None = None) -> Finding:
    """Turn "lower" into "no different": within a margin, which is ours."""
    return Finding(
        f"{finding.what}, at most {margin:g} {unit or finding.unit} apart",
        np.abs(finding.differences) - margin,
        unit or finding.unit,
        None,
        finding.runs,
        finding.counts,
    )


def at_best(kind: Kind, name: str) -> Value:
    """Return what gives a curve's value where a run's score is lowest."""
    return lambda run: TASKS[kind.experiment].at_best(run, name)


def best(kind: Kind) -> Value:
    """Return what gives the lowest score of a run."""
    score = TASKS[kind.experiment].score
    return lambda run: float(np.nanmin(score(run)))


def last(name: str, factor: float = 1.0) -> Value:
    """Return what gives a curve's last number; NaN where a run has none, as one that exploded."""

    def value(run: Record) -> float:
        values = curve(run, name)
        known = values[~np.isnan(values)]
        return factor * float(known[-1]) if len(known) else np.nan

    return value


def best_rates(kind: Kind, records: Records, other: str = LAYER, plain: str = NONE) -> Finding:
    """Say whether an arm's best learning rate lies above another's, seed by seed."""
    task, found = TASKS[kind.experiment], []
    runs = next(runs for odd, runs in task.kinds(records.of(kind.experiment)) if odd == kind.odd)
    seeds = sorted(kind.arms[other].runs.keys() & kind.arms[plain].runs.keys())
    rates: dict[str, list[float]] = {}
    for name in (other, plain):
        mine = [run for run in runs if task.arms[name].items() <= run["settings"].items()]
        found += mine
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
    return Finding(_told(kind, text), np.log10(b / a), "powers of ten", None, tuple(found))


def head(records: Records, experiment: str, *arms: str) -> list[Kind]:
    """Return the kind of runs with usual settings, first of all that have these arms."""
    return kinds(records, experiment, arms or (NONE, LAYER))


def beside(findings: list[Finding]) -> list[Finding]:
    """Let findings stand beside, without a say in the verdict."""
    return [dataclasses.replace(finding, counts=False) for finding in findings]


def speedup(experiment: str, *, axis: str = "updates", at_most: float = 1.0) -> Weigh:
    """Judge who is sooner at the plain arm's best; a chosen start and other kinds stand beside."""

    def weigh(records: Records) -> list[Finding]:
        found = []
        for kind in head(records, experiment):
            one = [sooner(kind, axis=axis, at_most=at_most)]
            if kind.has(CHOSEN, LAYER):
                one += beside([sooner(kind, plain=CHOSEN, axis=axis, at_most=at_most)])
            found += beside(one) if found else one
        return found

    return weigh
