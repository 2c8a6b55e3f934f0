"""Evaluation of claims about recurrent networks (sections 1, 6.1 to 6.5 and 7), from records."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lnlab import comparison
from lnlab.claims import trained
from lnlab.claims.finding import Finding, Record, Records
from lnlab.claims.trained import (
    RATIO,
    RECURRENT,
    TASKS,
    Evaluator,
    RunGroup,
    Value,
    end,
    equivalence_margin,
    experiment_name,
    final_metric_difference,
    run_groups,
    secondary,
    speedup,
)
from lnlab.experiments._arms import Arm, arms, shared_seeds
from lnlab.experiments._curves import TARGETS, smoothed
from lnlab.experiments._task import (
    LAYER,
    MEASURING_SETTINGS,
    NO_NORM,
    TUNED_INIT,
    curve,
    first_epochs,
)
from lnlab.experiments.attentive_reader.results import RELEASED_TASK
from lnlab.experiments.order_embeddings import PAPER_RATE

ALMOST_TWICE = 0.6  # the highest ratio of updates that counts as "almost twice as fast"
SAME_TIME, SAME_LOSS = 0.1, 0.1  # our margins: relative time of an update, nats per point
TEST = {
    "order_embeddings": ("test_{}_recall_{}", -100, "points", "sum of all recalls"),
    "attentive_reader": ("test_error", 100, "points", "test error"),
    "skip_thoughts": ("val_nll", 1, "nats per word", "loss on held-out chapters"),
    "draw": ("test_bound", 1, "nats", "bound on test images"),
    "handwriting": ("test_new_nll", 1, "nats per point", "loss on test writers"),
}
#: Arms for the sensitivity to the initial gain, by norm and gain.
_GAINS = {
    (norm, gain): {"norm": norm, "gain": gain, "start": "usual"}
    for norm in ("layer", "batch", "batch_everywhere")
    for gain in (1.0, 0.1)
}
#: Settings that are changed in groups with longer sequences or smaller batches.
LONGER_OR_SMALLER = {"batch_size", "length", "glimpses", "passages"}
#: Settings that may differ between such a group and the one that it is compared with.
NOT_COMPARED = {"epochs", *MEASURING_SETTINGS}


# Sections 1 and 7: all recurrent experiments.


def recurrent_time(records: Records) -> list[Finding]:
    """Return untestable findings on training time.

    The machine had other work, and networks without a norm use PyTorch's own layers.
    """
    return [
        _untimed(group, f"{experiment_name(name)}: time to the targets")
        for name in RECURRENT
        for group in run_groups(records, name)[:1]
    ]


def _untimed(group: RunGroup, what: str) -> Finding:
    arms = group.arms[NO_NORM], group.arms[LAYER]
    runs = tuple(run for arm in arms for run in arm.runs.values())
    return Finding(what, np.full(len(shared_seeds(*arms)), np.nan), "of its time", None, runs,
                   untestable=comparison.BUSY)  # fmt: skip


def recurrent_generalization(records: Records) -> list[Finding]:
    """Compare the final value on test data, with one finding per experiment."""
    results = []
    for name in RECURRENT:
        curve_name, factor, unit, description = TEST[name]
        for group in run_groups(records, name)[:1]:
            names = [curve_name.format(way, k) for way in ("image", "caption") for k in (1, 5, 10)]
            values = [end(curve) for curve in dict.fromkeys(names)]
            what = f"{experiment_name(name)}: {description} at the end"
            share = name != "handwriting"  # the negative log of a density has no natural zero
            results.append(
                final_metric_difference(group, _sum(values), unit, what, factor=factor, share=share)
            )
    return results


def _sum(values: list[Value]) -> Value:
    return lambda run: sum(value(run) for value in values)


def long_and_small(records: Records) -> list[Finding]:
    """Compare the ratio of updates of groups with longer sequences or smaller batches.

    Runs are cut to the number of epochs of the shorter ones and compared for each seed.
    """
    results = []
    for name in RECURRENT:
        groups = run_groups(records, name)
        for group in groups:
            if group.changed.keys() & LONGER_OR_SMALLER:
                results += _compare_ratios(_matching_group(groups, group), group)
    return results + _digits_by_pixel(records)


def _matching_group(groups: Sequence[RunGroup], group: RunGroup) -> RunGroup:
    """Return the group with default lengths and batch size that is measured like the given one.

    If there is none, return the main group.
    """

    def measuring(group: RunGroup) -> dict[str, Any]:
        return {k: group.changed.get(k) for k in ("lines", "updates_per_epoch")}

    matching = [
        other
        for other in groups
        if measuring(other) == measuring(group) and other.changed.keys() <= NOT_COMPARED
    ]
    return (matching or groups)[0]


def _compare_ratios(main: RunGroup, group: RunGroup) -> list[Finding]:
    task, name = TASKS[group.experiment], experiment_name(group.experiment)
    arms = [x.arms[arm] for x in (main, group) for arm in (NO_NORM, LAYER)]
    shortest = min(run["curves"]["epoch"][-1] for arm in arms for run in arm.runs.values())
    seeds = shared_seeds(*arms)
    if len(seeds) < 2:
        return []
    runs = tuple(arm.runs[seed] for arm in arms for seed in seeds)  # not cut, as in their files
    arms = [
        arm._replace(runs={seed: first_epochs(arm.runs[seed], shortest) for seed in seeds})
        for arm in arms
    ]
    what = f"{name}, {group.name}, {shortest:g} epochs of both"
    reason = task.no_plateau(arms[0], arms[2])
    if reason:
        unknown = np.full(len(seeds), np.nan)
        what = f"ratio of updates, minus that with the standard settings: {what}"
        return [Finding(what, unknown, RATIO, None, runs, untestable=reason)]
    main_ratios, ratios = (task.ratios(arms[k], arms[k + 1]) for k in (0, 2))
    with np.errstate(invalid="ignore"):  # inf - inf if the target was reached in neither
        differences = ratios - main_ratios
    return [
        Finding(
            f"ratio of updates to {target:.0%} of the way, minus that with the standard settings: "
            f"{what}",
            d,
            RATIO,
            d,
            runs,
        )
        for target, d in zip(TARGETS, differences, strict=True)
    ]


def _digits_by_pixel(records: Records) -> list[Finding]:
    results = []
    for cell in ("lstm", "gru", "rnn"):
        arms = {
            (step, norm): Arm({
                run["seed"]: run
                for run in records.select("sequence", cell=cell, norm=norm, step=step, gain=1.0,
                                      form="paper", held_out=False)
            }, 0.0, {})
            for step in ("row", "pixel") for norm in ("none", "layer")
        }  # fmt: skip
        seeds = shared_seeds(*arms.values())
        if len(seeds) < 2:
            continue
        ends = {key: np.array([end("test_nll")(arm.runs[seed]) for seed in seeds])
                for key, arm in arms.items()}  # fmt: skip
        d = ends["pixel", "layer"] - ends["pixel", "none"]
        d = d - (ends["row", "layer"] - ends["row", "none"])
        what = f"digits, {cell.upper()}: change of the test NLL by the norm, 64 steps minus 8"
        results.append(Finding(what, d, "nats", None,
                             tuple(run for arm in arms.values() for run in arm.runs.values()),
                             untestable=trained.no_plateau(arms.values(), "test_nll")))  # fmt: skip
    return results


# Section 6.1.


def recall_by_updates(records: Records) -> list[Finding]:
    """Compare the updates to the targets of each of three recalls.

    The updates to the targets of their sum count, too, with both arms at the paper's learning rate;
    with both at another one they are secondary.
    """
    results, task = [], TASKS["order_embeddings"]
    for group in run_groups(records, "order_embeddings"):
        findings = [
            finding
            for k in (1, 5, 10)
            for finding in trained.to_targets(
                group.arms[NO_NORM], group.arms[LAYER],
                lambda run, k=k: -curve(run, f"val_image_recall_{k}"), task.updates,
                trained.describe(group, f"R@{k}"),
            )
        ]  # fmt: skip
        results += secondary(findings) if results else findings
    for rate, group in _at_one_rate(records, "order_embeddings"):
        what = f"sum of R@1, R@5, and R@10, both at rate {rate:g}"
        arms = group.arms[NO_NORM], group.arms[LAYER]
        counts = rate == PAPER_RATE
        results += trained.to_targets(*arms, task.score, task.updates, what, counts=counts)
    return results


def _at_one_rate(records: Records, experiment: str) -> list[tuple[float, RunGroup]]:
    """Return the main group at the paper's learning rate, and at the best one of each arm."""
    groups = run_groups(records, experiment)[:1]
    best = [arm.rate for group in groups for arm in (group.arms[LAYER], group.arms[NO_NORM])]
    rates = dict.fromkeys([PAPER_RATE, *best])
    return [
        (rate, group)
        for rate in rates
        for group in run_groups(records, experiment, rate=rate)
        if group.changed == groups[0].changed
    ]


def own_best(records: Records) -> list[Finding]:
    """Compare the number of updates at which the score of each arm is best.

    The paper saves the model whenever the score improves. Near the top a curve is flat, so that
    noise decides; the same with the smoothed score counts, too.
    """
    task = TASKS["order_embeddings"]

    def updates_at_best(run: Record, smooth: bool) -> float:
        known = ~np.isnan(task.score(run))
        values = task.score(run)[known]
        values = smoothed(values) if smooth else values
        return float(task.updates(run)[known][values.argmin()]) if known.any() else np.nan

    what = "updates to its own best score, compared with the baseline's"
    return [
        trained.at_best_of_validation(
            group, functools.partial(updates_at_best, smooth=smooth), "updates",
            what + ", smoothed over three measurements" * smooth,
        )
        for group in run_groups(records, "order_embeddings")[:1]
        for smooth in (False, True)
    ]  # fmt: skip


def table_2(records: Records) -> list[Finding]:
    """Compare the eight measures of table 2 on test images, where the validation score is best.

    The sum of the recalls counts, too, with both arms at the paper's learning rate; with both at
    another one it is secondary.
    """
    results = []
    for group in run_groups(records, "order_embeddings")[:1]:
        for way in ("image", "caption"):
            for k in (1, 5, 10):
                value = trained.at_best(group, f"test_{way}_recall_{k}")
                results.append(trained.at_best_of_validation(
                    group, value, "points", f"R@{k} of {way} retrieval", factor=-100))  # fmt: skip
            value = trained.at_best(group, f"test_{way}_mean_rank")
            results.append(
                trained.at_best_of_validation(
                    group, value, "places", f"mean rank of {way} retrieval"
                )
            )
    names = [f"test_{way}_recall_{k}" for way in ("image", "caption") for k in (1, 5, 10)]
    for rate, group in _at_one_rate(records, "order_embeddings"):
        value = _sum([trained.at_best(group, name) for name in names])
        what = f"sum of all recalls, both at rate {rate:g}"
        finding = trained.at_best_of_validation(group, value, "points", what, factor=-100)
        results += [finding] if rate == PAPER_RATE else secondary([finding])
    return results


# Sections 6.2 to 6.5.


def _public_code(records: Records) -> list[RunGroup]:
    """Return the runs of section 6.2 with the settings of the public code."""
    task, changed = RELEASED_TASK, {"settings": "of the public code"}
    groups = task.run_groups(records.select("attentive_reader"))
    groups = [RunGroup("attentive_reader", changed, task.at_best_rates(runs))
              for differing, runs in groups if not differing]  # fmt: skip
    return [group for group in groups if group.has(NO_NORM, LAYER)]


def reader_faster(records: Records) -> list[Finding]:
    """Compare the updates to the targets; those with the settings of the public code count, too."""
    results = speedup("attentive_reader")(records)
    for group in _public_code(records):
        results += trained.steps_to_target_ratio(group)
    return results


def reader_error(*others: str) -> Evaluator:
    """Return an evaluator of the final validation error, compared with other arms.

    Each of them is compared in the first group that has it; one that no group has counts as not
    recorded. With the settings of the public code, the comparison counts, too. The NLL, and the
    error compared with a tuned initialization, are secondary, like all comparisons in a later
    group.
    """

    def evaluate(records: Records) -> list[Finding]:
        results, missing = [], list(others)
        for group in (groups := run_groups(records, "attentive_reader", LAYER)):
            baselines = [other for other in others if group.has(other, LAYER)]
            errors = {plain: _reader_end(group, "error", plain) for plain in baselines}
            results += [x if plain in missing else secondary([x])[0] for plain, x in errors.items()]
            results += secondary([_reader_end(group, "NLL", plain) for plain in baselines])
            if group.has(TUNED_INIT, LAYER) and NO_NORM in others:
                results += secondary([_reader_end(group, "error", TUNED_INIT)])
            missing = [plain for plain in missing if plain not in baselines]
        if groups:
            results += [_not_recorded(_END.format("error", trained.arm_name(x))) for x in missing]
        if NO_NORM in others:
            results += [_reader_end(group, "error", NO_NORM) for group in _public_code(records)]
        return results

    return evaluate


_READER_ENDS = {"error": ("val_error", "points", 100), "NLL": ("val_nll", "nats", 1)}
_END = "validation {} at the end, versus {}"
_GAIN_CHANGE = "change of the validation error by the initial gain, versus {}"


def _reader_end(group: RunGroup, what: str, plain: str) -> Finding:
    name, unit, factor = _READER_ENDS[what]
    text = _END.format(what, trained.arm_name(plain))
    return final_metric_difference(group, name, unit, text, plain=plain, factor=factor,
                                   plateau_score=lambda run: curve(run, name))  # fmt: skip


def _not_recorded(text: str) -> Finding:
    return Finding(text, np.array([np.nan]), "points", untestable=comparison.NOT_RECORDED)


def initial_gain(records: Records) -> list[Finding]:
    """Compare how much the initial gain, 1 or 0.1, changes the final error of layer and batch norm.

    Each placement of batch norm is compared in the first group that has both gains of it; one that
    no group has counts as not recorded.
    """
    task, results = TASKS["attentive_reader"], []
    missing = {"batch": "batch norm in the LSTM", "batch_everywhere": "batch norm everywhere"}
    for changed, runs in task.run_groups(records.select("attentive_reader")):
        group = RunGroup("attentive_reader", changed, arms(runs, _GAINS, task.score))
        findings = {
            norm: _gain_change(group, norm, name)
            for norm, name in missing.items()
            if group.has(*((n, gain) for n in ("layer", norm) for gain in (1.0, 0.1)))
        }
        results += findings.values()
        missing = {norm: name for norm, name in missing.items() if norm not in findings}
    if results:
        results += [_not_recorded(_GAIN_CHANGE.format(name)) for name in missing.values()]
    return results


def _gain_change(group: RunGroup, norm: str, description: str) -> Finding:
    used = [group.arms[n, gain] for n in ("layer", norm) for gain in (1.0, 0.1)]
    seeds = shared_seeds(*used)
    ends = np.array([[end("val_error")(arm.runs[seed]) for seed in seeds] for arm in used])
    layer, batch = np.abs(ends[::2] - ends[1::2])
    text = trained.describe(group, _GAIN_CHANGE.format(description))
    return Finding(
        text, 100 * (layer - batch), "points", None,
        tuple(arm.runs[seed] for arm in used for seed in seeds),
        untestable=TASKS["attentive_reader"].no_plateau(*used),
    )  # fmt: skip


def longer_passages(records: Records) -> list[Finding]:
    """Compare how much the error increases on passages longer than those of training."""
    results = []
    for group in run_groups(records, "attentive_reader", "batch norm in the LSTM", LAYER):
        if group.changed.get("max_length") is not None:

            def increase(run: Record) -> float:
                return end("val_longer_error")(run) - end("val_error")(run)

            what, plain = "increase of the error on longer passages", "batch norm in the LSTM"
            finding = final_metric_difference(
                group, increase, "points", what, plain=plain, factor=100, share=False
            )
            results.append(finding)
    return results


def update_time(records: Records) -> list[Finding]:
    """Return untestable findings on the time of an update."""
    return [
        _untimed(group, "time per update") for group in run_groups(records, "skip_thoughts")[:1]
    ]


def sentence_tasks(records: Records) -> list[Finding]:
    """Compare the final accuracy of sentence vectors on each task.

    A task is not testable if its score is still improving, or if even the vectors with layer norm
    are worse than a bag of words.
    """
    for group in run_groups(records, "skip_thoughts"):
        runs = [run for arm in group.arms.values() for run in arm.runs.values()]
        tasks = [task for task in ("mr", "cr", "subj", "caption_pairs")
                 if all(task in run["curves"] for run in runs)]  # fmt: skip
        results = []
        for task in tasks:
            what = f"{task.replace('_', ' ') if '_' in task else task.upper()} at the end"
            finding = final_metric_difference(
                group, task, "points", what, factor=-100,
                plateau_score=lambda run, task=task: -curve(run, task),
            )  # fmt: skip
            gains = [end(task)(run) - end(f"bag_{task}")(run)
                     for run in group.arms[LAYER].runs.values()]  # fmt: skip
            if not np.nanmean(gains) > 0:
                finding = dataclasses.replace(finding, untestable=comparison.TRIVIAL)
            results.append(finding)
        if results:
            return results
    return []


def draw_twice(records: Records) -> list[Finding]:
    """Evaluate "almost twice as fast": a ratio of updates of at most :data:`ALMOST_TWICE`.

    The ratio with both arms at the paper's learning rate counts, too.
    """
    results = speedup("draw", at_most=ALMOST_TWICE)(records)
    for rate, group in _at_one_rate(records, "draw"):
        results += trained.to_targets(
            group.arms[NO_NORM], group.arms[LAYER], TASKS["draw"].score, TASKS["draw"].updates,
            f"both at rate {rate:g}", at_most=ALMOST_TWICE, counts=rate == PAPER_RATE,
        )  # fmt: skip
    return results


def draw_bound(records: Records) -> list[Finding]:
    """Compare the final bound on all test images."""
    results = []
    for group in run_groups(records, "draw"):
        name, what = "test_bound_of_all", "bound of all test images at the end"
        findings = [final_metric_difference(group, name, "nats", what)]
        if group.has(TUNED_INIT, LAYER):
            what = f"{what}, versus {trained.arm_name(TUNED_INIT)}"
            tuned = final_metric_difference(group, name, "nats", what, plain=TUNED_INIT)
            findings += secondary([tuned])
        results += secondary(findings) if results else findings
    return results


def comparable(records: Records) -> list[Finding]:
    """Evaluate whether the final losses are equal within a margin."""
    results = []
    for group in run_groups(records, "handwriting")[:1]:
        what = "loss on new writers at the end"
        finding = final_metric_difference(group, "val_new_nll", "nats per point", what, share=False)
        results += [equivalence_margin(finding, SAME_LOSS), *secondary([finding])]
    return results
