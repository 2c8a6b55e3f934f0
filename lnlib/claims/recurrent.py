"""Recorded runs of recurrent networks on the claims of sections 1, 6.1 to 6.5 and 7."""

from __future__ import annotations

import dataclasses

import numpy as np

from lnlib.claims import trained
from lnlib.claims.finding import Finding, Record, Records
from lnlib.claims.trained import (
    RECURRENT,
    Kind,
    Value,
    Weigh,
    beside,
    head,
    kinds,
    lower,
    sooner,
    speedup,
)
from lnlib.experiments._arms import Score
from lnlib.experiments._task import CHOSEN, LAYER, NONE, curve

# Of the other's updates: as fast as this counts as "almost twice as fast".
ALMOST_TWICE = 0.6
SAME_TIME, SAME_LOSS = 0.1, 0.1  # ours: a share of an update's time, nats a point
TEST = {
    "order_embeddings": ("test_{}_recall_{}", -100, "points", "all recalls, their sum"),
    "attentive_reader": ("test_error", 100, "points", "test error"),
    "skip_thoughts": ("val_nll", 1, "nats a word", "loss on held-out chapters"),
    "draw": ("test_bound", 1, "nats", "bound on test images"),
    "handwriting": ("test_new_nll", 1, "nats a point", "loss on test writers"),
}


# Sections 1 and 7: over all recurrent experiments.


def recurrent_time(records: Records) -> list[Finding]:
    """Time to the plain arm's best, one finding an experiment."""
    return [
        dataclasses.replace(found, what=f"{name.replace('_', ' ')}: {found.what}")
        for name in RECURRENT
        for kind in head(records, name)[:1]
        for found in [sooner(kind, axis="seconds")]
    ]


def recurrent_generalization(records: Records) -> list[Finding]:
    """What is measured on test data, one finding an experiment."""
    found = []
    for name in RECURRENT:
        curve_name, factor, unit, words = TEST[name]
        for kind in head(records, name)[:1]:
            names = [curve_name.format(way, k) for way in ("image", "caption") for k in (1, 5, 10)]
            values = [trained.at_best(kind, one) for one in dict.fromkeys(names)]
            what = f"{name.replace('_', ' ')}: {words}"
            share = name != "handwriting"  # a density's loss has no zero
            found.append(lower(kind, _sum(values), unit, what, factor=factor, share=share))
    return found


def _sum(values: list[Value]) -> Value:
    return lambda run: sum(value(run) for value in values)


def long_and_small(records: Records) -> list[Finding]:
    """Compare the share of updates in kinds with longer sequences or smaller batches."""
    found = []
    for name in RECURRENT:
        usual, *others = head(records, name) or [None]
        for kind in others:
            if not kind.odd.keys() & {"batch_size", "length", "glimpses", "passages"}:
                continue
            ours, theirs = sooner(usual), sooner(kind)
            if ours.seeds != theirs.seeds or not np.isfinite(ours.differences).all():
                continue
            d = theirs.differences - ours.differences
            what = f"{name.replace('_', ' ')}, {kind.name}: a smaller share than usual"
            found.append(Finding(what, d, "of its updates", d, ours.runs + theirs.runs))
    return found + _digits_by_pixel(records)


def _digits_by_pixel(records: Records) -> list[Finding]:
    found = []
    for cell in ("lstm", "gru", "rnn"):
        gains, runs = [], []
        for step in ("row", "pixel"):
            ends = []
            for norm in ("none", "layer"):
                of = {
                    run["seed"]: run
                    for run in records.of("sequence", cell=cell, norm=norm, step=step, gain=1.0,
                                          form="paper", held_out=False)
                }  # fmt: skip
                ends.append({seed: curve(run, "test_nll")[-1] for seed, run in of.items()})
                runs += of.values()
            seeds = sorted(ends[0].keys() & ends[1].keys())
            gains.append({seed: ends[1][seed] - ends[0][seed] for seed in seeds})
        seeds = sorted(gains[0].keys() & gains[1].keys())
        if len(seeds) > 1:
            d = np.array([gains[1][seed] - gains[0][seed] for seed in seeds])
            what = f"digits, {cell.upper()}: what the norm adds to test NLL, 64 steps minus 8"
            found.append(Finding(what, d, "nats", None, tuple(runs)))
    return found


# Section 6.1.


def recall_by_updates(records: Records) -> list[Finding]:
    """Race to the plain arm's best by each of three recalls."""
    found = []
    for kind in head(records, "order_embeddings"):
        one = [
            sooner(kind, score=lambda run, k=k: -curve(run, f"val_image_recall_{k}"),
                   what=f"updates to the best R@{k} of none")
            for k in (1, 5, 10)
        ]  # fmt: skip
        found += beside(one) if found else one
    return found


def own_best(records: Records) -> list[Finding]:
    """Compare when each arm is at its own best, in updates and in seconds."""
    found = []
    task = trained.TASKS["order_embeddings"]
    for kind in head(records, "order_embeddings")[:1]:
        for unit, axis in (("updates", task.updates), ("s", task.seconds)):

            def when(run: Record, axis: Score = axis) -> float:
                values = task.score(run)
                known = not np.isnan(values).all()
                return float(axis(run)[np.nanargmin(values)]) if known else np.nan

            words = {"s": "seconds by the clock, other work included,"}.get(unit, unit)
            what = f"{words} to its own best, beside none's"
            found.append(lower(kind, when, unit, what, counts=unit == "updates"))
    return found


def table_2(records: Records) -> list[Finding]:
    """Compare the eight measures of table 2 on test images, where validation was best."""
    found = []
    for kind in head(records, "order_embeddings")[:1]:
        for way in ("image", "caption"):
            for k in (1, 5, 10):
                value = trained.at_best(kind, f"test_{way}_recall_{k}")
                found.append(lower(kind, value, "points", f"R@{k} of {way}s", factor=-100))
            value = trained.at_best(kind, f"test_{way}_mean_rank")
            found.append(lower(kind, value, "places", f"mean rank of {way}s"))
    return found


# Sections 6.2 to 6.5.


def reader_error(*others: str) -> Weigh:
    """Compare the lowest error on validation with that of other arms."""

    def weigh(records: Records) -> list[Finding]:
        found = []
        for kind in kinds(records, "attentive_reader", (LAYER,)):
            value = trained.best(kind)
            one = [
                lower(kind, value, "points", f"lowest error on validation, against {other}",
                      plain=other, factor=100)
                for other in others
                if kind.has(other, LAYER)
            ]  # fmt: skip
            if kind.has(CHOSEN, LAYER) and NONE in others:
                what = f"lowest error on validation, against {CHOSEN}"
                one += beside([lower(kind, value, "points", what, plain=CHOSEN, factor=100)])
            found += beside(one) if found else one
        return found

    return weigh


def longer_passages(records: Records) -> list[Finding]:
    """Compare how much the error grows on passages longer than those of training."""
    found = []
    for kind in kinds(records, "attentive_reader", ("batch norm in the LSTM", LAYER)):
        if kind.odd.get("longest") is not None:

            def grows(run: Record, kind: Kind = kind) -> float:
                at = trained.at_best
                return at(kind, "val_longer_error")(run) - at(kind, "val_error")(run)

            what, plain = "what longer passages add to the error", "batch norm in the LSTM"
            one = lower(kind, grows, "points", what, plain=plain, factor=100, share=False)
            found.append(one)
    return found


def update_time(records: Records) -> list[Finding]:
    """Compare the time of an update, as a share of the plain one's."""
    found, task = [], trained.TASKS["skip_thoughts"]
    for kind in head(records, "skip_thoughts")[:1]:
        one = lower(kind, lambda run: task.seconds(run)[-1], "of its time", "time of an update")
        found.append(trained.alike(dataclasses.replace(one, differences=one.shares), SAME_TIME))
    return found


def sentence_tasks(records: Records) -> list[Finding]:
    """Compare what sentence vectors are worth at the end, task by task."""
    found = []
    for kind in head(records, "skip_thoughts"):
        for task in ("mr", "cr", "subj", "caption_pairs"):
            runs = [run for arm in kind.arms.values() for run in arm.runs.values()]
            if all(task in run["curves"] for run in runs):
                what = f"{task.replace('_', ' ')} at the end"
                found.append(lower(kind, trained.last(task), "points", what, factor=-100))
        if found:
            break
    return found


def draw_twice(records: Records) -> list[Finding]:
    """Judge "almost twice as fast": at most so much of the plain arm's updates."""
    return speedup("draw", at_most=ALMOST_TWICE)(records)


def draw_bound(records: Records) -> list[Finding]:
    """Compare the bound of all test images at the end."""
    found = []
    for kind in head(records, "draw"):

        def last(run: Record) -> float:
            return float(curve(run, "test_bound_of_all")[-1])

        one = [lower(kind, last, "nats", "bound of all test images at the end")]
        if kind.has(CHOSEN, LAYER):
            one += beside([lower(kind, last, "nats", f"the same, against {CHOSEN}", plain=CHOSEN)])
        found += beside(one) if found else one
    return found


def comparable(records: Records) -> list[Finding]:
    """Judge whether the losses at the best points are alike."""
    found = []
    for kind in head(records, "handwriting")[:1]:
        value = trained.best(kind)
        one = lower(kind, value, "nats a point", "lowest loss on new writers", share=False)
        found += [trained.alike(one, SAME_LOSS), *beside([one])]
    return found
