"""Recorded runs of recurrent networks on the claims of sections 1, 6.1 to 6.5 and 7."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from lnlab import comparison
from lnlab.claims import trained
from lnlab.claims.finding import Finding, Record, Records
from lnlab.claims.trained import (
    RATIO,
    RECURRENT,
    TASKS,
    Kind,
    Value,
    Weigh,
    beside,
    end,
    equivalence_margin,
    final_metric_difference,
    head,
    kinds,
    speedup,
)
from lnlab.experiments._arms import Arm
from lnlab.experiments._curves import TARGETS, smoothed
from lnlab.experiments._task import CHOSEN, LAYER, NONE, curve

# Of the other's updates: as fast as this counts as "almost twice as fast".
ALMOST_TWICE = 0.6
SAME_TIME, SAME_LOSS = 0.1, 0.1  # ours: a share of an update's time, nats per point
TEST = {
    "order_embeddings": ("test_{}_recall_{}", -100, "points", "all recalls, their sum"),
    "attentive_reader": ("test_error", 100, "points", "test error"),
    "skip_thoughts": ("val_nll", 1, "nats per word", "loss on held-out chapters"),
    "draw": ("test_bound", 1, "nats", "bound on test images"),
    "handwriting": ("test_new_nll", 1, "nats per point", "loss on test writers"),
}
#: What sets kinds with longer sequences or smaller batches apart from the usual one.
LONGER_OR_SMALLER = {"batch_size", "length", "glimpses", "passages"}


# Sections 1 and 7: over all recurrent experiments.


def recurrent_time(records: Records) -> list[Finding]:
    """Say that the seconds of recorded runs show nothing.

    The machine did other work, and PyTorch's own layers run the networks without a norm.
    """
    return [
        _untimed(kind, f"{name.replace('_', ' ')}: time to the targets")
        for name in RECURRENT
        for kind in head(records, name)[:1]
    ]


def _untimed(kind: Kind, what: str) -> Finding:
    runs = [run for name in (NONE, LAYER) for run in kind.arms[name].runs.values()]
    seeds = len(kind.arms[NONE].runs.keys() & kind.arms[LAYER].runs.keys())
    return Finding(what, np.full(seeds, np.nan), "of its time", None, tuple(runs),
                   untestable=comparison.BUSY)  # fmt: skip


def recurrent_generalization(records: Records) -> list[Finding]:
    """Compare the end on test data, one finding an experiment."""
    results = []
    for name in RECURRENT:
        curve_name, factor, unit, words = TEST[name]
        for kind in head(records, name)[:1]:
            names = [curve_name.format(way, k) for way in ("image", "caption") for k in (1, 5, 10)]
            values = [end(one) for one in dict.fromkeys(names)]
            what = f"{name.replace('_', ' ')}: {words} at the end"
            share = name != "handwriting"  # a density's loss has no zero
            results.append(
                final_metric_difference(kind, _sum(values), unit, what, factor=factor, share=share)
            )
    return results


def _sum(values: list[Value]) -> Value:
    return lambda run: sum(value(run) for value in values)


def long_and_small(records: Records) -> list[Finding]:
    """Compare the ratio of updates in kinds with longer sequences or smaller batches.

    Both kinds are cut to as many epochs as the shorter one has, and compared seed by seed.
    """
    results = []
    for name in RECURRENT:
        usual, *others = head(records, name) or [None]
        for kind in others:
            if kind.odd.keys() & LONGER_OR_SMALLER:
                results += _ratios_of_kinds(usual, kind)
    return results + _digits_by_pixel(records)


def _ratios_of_kinds(usual: Kind, kind: Kind) -> list[Finding]:
    task, name = TASKS[kind.experiment], kind.experiment.replace("_", " ")
    arms = [of.arms[arm] for of in (usual, kind) for arm in (NONE, LAYER)]
    shortest = min(run["curves"]["epoch"][-1] for arm in arms for run in arm.runs.values())
    seeds = sorted(set.intersection(*(set(arm.runs) for arm in arms)))
    if len(seeds) < 2:
        return []
    runs = tuple(arm.runs[seed] for arm in arms for seed in seeds)  # whole, as in their files
    arms = [_cut(arm, seeds, shortest) for arm in arms]
    what = f"{name}, {kind.name}, {shortest:g} epochs of both"
    reason = task.no_plateau(arms[0], arms[2])
    if reason:
        nothing = np.full(len(seeds), np.nan)
        return [Finding(f"a smaller ratio than usual: {what}", nothing, RATIO, None, runs,
                        untestable=reason)]  # fmt: skip
    ours, theirs = (task.ratios(arms[k], arms[k + 1]) for k in (0, 2))
    with np.errstate(invalid="ignore"):  # never in both leaves no number
        differences = theirs - ours
    return [
        Finding(f"a smaller ratio than usual to {part:.0%} of the way: {what}", d, RATIO, d, runs)
        for part, d in zip(TARGETS, differences, strict=True)
    ]


def _cut(arm: Arm, seeds: Sequence[int], epochs: float) -> Arm:
    """Return the first epochs of an arm's runs."""
    runs = {}
    for seed in seeds:
        run = arm.runs[seed]
        points = int((curve(run, "epoch") <= epochs + 1e-6).sum())
        curves = {k: v[:points] if isinstance(v, list) else v for k, v in run["curves"].items()}
        runs[seed] = run | {"curves": curves}
    return arm._replace(runs=runs)


def _digits_by_pixel(records: Records) -> list[Finding]:
    results = []
    for cell in ("lstm", "gru", "rnn"):
        arms = {
            (step, norm): Arm({
                run["seed"]: run
                for run in records.of("sequence", cell=cell, norm=norm, step=step, gain=1.0,
                                      form="paper", held_out=False)
            }, 0.0, {})
            for step in ("row", "pixel") for norm in ("none", "layer")
        }  # fmt: skip
        seeds = sorted(set.intersection(*(set(arm.runs) for arm in arms.values())))
        if len(seeds) < 2:
            continue
        ends = {key: np.array([end("test_nll")(arm.runs[seed]) for seed in seeds])
                for key, arm in arms.items()}  # fmt: skip
        d = ends["pixel", "layer"] - ends["pixel", "none"]
        d = d - (ends["row", "layer"] - ends["row", "none"])
        what = f"digits, {cell.upper()}: what the norm adds to test NLL, 64 steps minus 8"
        results.append(Finding(what, d, "nats", None,
                             tuple(run for arm in arms.values() for run in arm.runs.values()),
                             untestable=trained.no_plateau(arms.values(), "test_nll")))  # fmt: skip
    return results


# Section 6.1.


def recall_by_updates(records: Records) -> list[Finding]:
    """Compare the updates to targets of each of three recalls."""
    result, task = [], TASKS["order_embeddings"]
    for kind in head(records, "order_embeddings"):
        one = [
            finding
            for k in (1, 5, 10)
            for finding in trained.to_targets(
                kind.arms[NONE], kind.arms[LAYER],
                lambda run, k=k: -curve(run, f"val_image_recall_{k}"), task.updates,
                trained.describe(kind, f"R@{k}"),
            )
        ]  # fmt: skip
        result += beside(one) if result else one
    return result


def own_best(records: Records) -> list[Finding]:
    """Compare after how many updates each arm is at its own best, of smoothed curves."""
    task = TASKS["order_embeddings"]

    def when(run: Record) -> float:
        known = ~np.isnan(task.score(run))
        values = smoothed(task.score(run)[known])
        return float(task.updates(run)[known][values.argmin()]) if known.any() else np.nan

    what = "updates to its own best, against none's"
    return [
        trained.at_best_of_validation(kind, when, "updates", what)
        for kind in head(records, "order_embeddings")[:1]
    ]


def table_2(records: Records) -> list[Finding]:
    """Compare the eight measures of table 2 on test images, where validation was best."""
    results = []
    for kind in head(records, "order_embeddings")[:1]:
        for way in ("image", "caption"):
            for k in (1, 5, 10):
                value = trained.at_best(kind, f"test_{way}_recall_{k}")
                results.append(trained.at_best_of_validation(
                    kind, value, "points", f"R@{k} of {way}s", factor=-100))  # fmt: skip
            value = trained.at_best(kind, f"test_{way}_mean_rank")
            results.append(
                trained.at_best_of_validation(kind, value, "places", f"mean rank of {way}s")
            )
    return results


# Sections 6.2 to 6.5.


def reader_error(*others: str) -> Weigh:
    """Compare the error on validation at the end with that of other arms; the NLL beside."""

    def evaluate(records: Records) -> list[Finding]:
        results = []
        for kind in kinds(records, "attentive_reader", (LAYER,)):
            plains = [other for other in others if kind.has(other, LAYER)]
            one = [_reader_end(kind, "error", plain) for plain in plains]
            one += beside([_reader_end(kind, "NLL", plain) for plain in plains])
            if kind.has(CHOSEN, LAYER) and NONE in others:
                one += beside([_reader_end(kind, "error", CHOSEN)])
            results += beside(one) if results else one
        return results

    return evaluate


def _reader_end(kind: Kind, what: str, plain: str) -> Finding:
    name, unit, factor = {"error": ("val_error", "points", 100), "NLL": ("val_nll", "nats", 1)}[
        what
    ]
    words = f"{what} on validation at the end, against {plain}"
    return final_metric_difference(kind, name, unit, words, plain=plain, factor=factor,
                                   judged=lambda run: curve(run, name))  # fmt: skip


def longer_passages(records: Records) -> list[Finding]:
    """Compare how much the error grows on passages longer than those of training."""
    results = []
    for kind in kinds(records, "attentive_reader", ("batch norm in the LSTM", LAYER)):
        if kind.odd.get("longest") is not None:

            def grows(run: Record) -> float:
                return end("val_longer_error")(run) - end("val_error")(run)

            what, plain = "what longer passages add to the error", "batch norm in the LSTM"
            one = final_metric_difference(
                kind, grows, "points", what, plain=plain, factor=100, share=False
            )
            results.append(one)
    return results


def update_time(records: Records) -> list[Finding]:
    """Say that the times of updates in recorded runs show nothing."""
    return [_untimed(kind, "time of an update") for kind in head(records, "skip_thoughts")[:1]]


def sentence_tasks(records: Records) -> list[Finding]:
    """Compare what sentence vectors are worth at the end, task by task.

    Not testable where they are worth less than the mean of their own words, with layer norm too.
    """
    for kind in head(records, "skip_thoughts"):
        runs = [run for arm in kind.arms.values() for run in arm.runs.values()]
        tasks = [task for task in ("mr", "cr", "subj", "caption_pairs")
                 if all(task in run["curves"] for run in runs)]  # fmt: skip
        results = []
        for task in tasks:
            what = f"{task.replace('_', ' ')} at the end"
            one = final_metric_difference(kind, task, "points", what, factor=-100)
            above = [end(task)(run) - end(f"bag_{task}")(run)
                     for run in kind.arms[LAYER].runs.values()]  # fmt: skip
            if not np.nanmean(above) > 0:
                one = dataclasses.replace(one, untestable=comparison.TRIVIAL)
            results.append(one)
        if results:
            return results
    return []


def draw_twice(records: Records) -> list[Finding]:
    """Judge "almost twice as fast": at most so much of the plain arm's updates."""
    return speedup("draw", at_most=ALMOST_TWICE)(records)


def draw_bound(records: Records) -> list[Finding]:
    """Compare the bound of all test images at the end."""
    results = []
    for kind in head(records, "draw"):
        name, what = "test_bound_of_all", "bound of all test images at the end"
        one = [final_metric_difference(kind, name, "nats", what)]
        if kind.has(CHOSEN, LAYER):
            what = f"the same, against {CHOSEN}"
            one += beside([final_metric_difference(kind, name, "nats", what, plain=CHOSEN)])
        results += beside(one) if results else one
    return results


def comparable(records: Records) -> list[Finding]:
    """Judge whether the losses at the end are within a margin."""
    results = []
    for kind in head(records, "handwriting")[:1]:
        what = "loss on new writers at the end"
        one = final_metric_difference(kind, "val_new_nll", "nats per point", what, share=False)
        results += [equivalence_margin(one, SAME_LOSS), *beside([one])]
    return results
