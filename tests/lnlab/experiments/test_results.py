"""The printed tables of every experiment on synthetic records: each number is the records' own."""

import functools
import importlib
import re
from statistics import fmean

import numpy as np
import pytest

from tests.cases import oracle, toy_records
from tests.cases.oracle import parsed

CASES = ("better", "worse", "later")
FACTOR = {"order_embeddings": -1, "attentive_reader": 100, "convnet": 100}  # of the score, told


@functools.cache
def records(experiment, case):
    return [*toy_records.of_arms(case, experiment)]


@functools.cache
def table(experiment, case):
    """The table of the usual runs, cut into the rates and what arms are compared by."""
    task = importlib.import_module(f"lnlab.experiments.{experiment}.results").TASK
    default_runs = [run for run in records(experiment, case)
             if oracle.has_default_settings(run) and _at_usual_rate(run)]  # fmt: skip
    rates, *compared = re.split(
        r"(?m)^  (?=.* and layer norm, each at its rate)", task.text(default_runs)
    )
    return rates, {part.partition(" and layer norm")[0]: part for part in compared}


def _at_usual_rate(run):
    return run["experiment"] != "landscape" or run["settings"]["learning_rate"] < 0.1


def arm(experiment, case, name):
    runs = [run for run in records(experiment, case) if _at_usual_rate(run)]
    return oracle.arm(runs, experiment, name, "main")


#: From words of a measure to its value in a run, where that is not a curve at the run's best.
def value(experiment, measure):
    best, last = oracle.at_best, oracle.known
    if result := re.fullmatch(r"(\w+) retrieval, R@(\d+) \(%\)", measure):
        return lambda run: 100 * best(run, f"test_{result[1]}_recall_{result[2]}")
    if result := re.fullmatch(r"(\w+) retrieval, mean rank", measure):
        return lambda run: best(run, f"test_{result[1]}_mean_rank")
    if result := re.fullmatch(r"on at the border, (\d), % of the rest", measure):
        return lambda run: (
            100 * best(run, f"border_on_{result[1]}") / best(run, f"inner_on_{result[1]}")
        )
    if result := re.fullmatch(r"(untrained: |words: |)(MR|CR|SUBJ|captions).*%", measure):
        task = {"captions": "caption_pairs"}.get(result[2], result[2].lower())
        name = "bag_" + task if result[1] == "words: " else task
        at = 0 if result[1] == "untrained: " else -1
        return lambda run: 100 * last(oracle.numbers(run, name))[at]
    plain = {
        "error on validation, %": (100, "val_error"), "test error, %": (100, "test_error"),
        "validation, longer passages, %": (100, "val_longer_error"),
        "test, longer passages, %": (100, "test_longer_error"), "test NLL, nats": (1, "test_nll"),
        "training NLL, nats": (1, "train_nll"), "loss, nats per word": (1, "val_nll"),
        "bound on validation, nats": (1, "val_bound"),
    }  # fmt: skip
    lines = {"lines of known writers": "val_seen", "lines of new writers": "val_new",
             "test lines of new writers": "test_new"}  # fmt: skip
    for words, split in lines.items():
        plain[f"{words}, nats"] = 1, f"{split}_nll"
        plain[f"{words}, characters and filling"] = 1, f"{split}_window_off"
    if measure in plain:
        factor, name = plain[measure]
        return lambda run: factor * best(run, name)
    if measure == "of all test images at the end":
        return lambda run: oracle.numbers(run, "test_bound_of_all")[-1]
    raise AssertionError(measure)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("experiment", toy_records.ARMS)
def test_the_rates_are_told_with_the_mean_of_each_runs_lowest(experiment, case):
    rates, _ = table(experiment, case)
    for name, settings in toy_records.ARMS[experiment].items():
        (line,) = re.findall(rf"(?m)^    {re.escape(name)} +(\d.*|-.*)$", rates)
        of = [run for run in oracle.matching(records(experiment, case), experiment, **settings)
              if oracle.has_default_settings(run) and _at_usual_rate(run)]  # fmt: skip
        lows = {}
        for run in of:
            low = FACTOR.get(experiment, 1) * min(oracle.known(oracle.score(run)))
            lows.setdefault(run["settings"]["learning_rate"], []).append(low)
        most = max(map(len, lows.values()))
        means = {rate: fmean(v) for rate, v in sorted(lows.items()) if len(v) == most}
        reported = {float(r): (float(v), star) for r, v, star in
                re.findall(r"([\d.]+): (-?[\d.]+)(\*?)", line)}  # fmt: skip
        assert reported.keys() == means.keys()
        np.testing.assert_allclose(
            [v for v, _ in reported.values()], list(means.values()), rtol=1e-3
        )
        chosen = next(iter(arm(experiment, case, name).values()))["settings"]["learning_rate"]
        assert [rate for rate, (_, star) in reported.items() if star] == [chosen]
        assert line.endswith("(at the edge)")  # of two


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("experiment", toy_records.ARMS)
def test_measures_are_those_of_the_pairs(experiment, case):
    _, compared = table(experiment, case)
    layer = arm(experiment, case, "layer")
    assert compared.keys() == toy_records.ARMS[experiment].keys() - {"layer"}
    for name, text in compared.items():
        other = arm(experiment, case, name)
        seeds = oracle.common(layer, other)
        head, *lines = text.rstrip().split("\n")
        assert f"mean over {len(seeds)} seeds" in head
        assert "(lowest to highest)" in head
        assert len(lines) >= 2
        for line in lines:
            measure, numbers = re.fullmatch(r"    (.*?)  +(-?\d.*)", line).groups()
            of = value(experiment, measure)
            without, with_norm = ([of(runs[s]) for s in seeds] for runs in (other, layer))
            d = [b - a for a, b in zip(without, with_norm, strict=True)]
            wanted = [fmean(without), fmean(with_norm), fmean(d), min(d), max(d)]
            digits = len(numbers.split()[0].partition(".")[2])
            np.testing.assert_allclose(parsed(numbers), wanted, atol=0.51 * 10**-digits, rtol=0)
