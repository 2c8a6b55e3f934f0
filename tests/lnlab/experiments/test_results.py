"""The printed tables of every experiment on synthetic records show the numbers of the records."""

import re
from statistics import fmean

import numpy as np
import pytest

from lnlab import experiments
from tests.cases import oracle, toy_records
from tests.cases.oracle import parsed

CASES = ("better", "worse", "later")


#: Maps words in a measure's name to its value in a run, if it is not a curve at the run's best.
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
        "validation error, %": (100, "val_error"), "test error, %": (100, "test_error"),
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
def test_measures_use_paired_runs(experiment, case):
    task = experiments.module_of(experiment, "results").TASK
    runs = [*toy_records.of_arms(case, experiment)]
    if experiment == "landscape":  # without runs at the rate of another comparison
        runs = [run for run in runs if run["settings"]["learning_rate"] < 0.1]
    default_runs = [run for run in runs if oracle.has_default_settings(run)]
    _, *parts = re.split(r"(?m)^  (?=.* and layer norm, each at its rate)", task.text(default_runs))
    compared = {part.partition(" and layer norm")[0]: part for part in parts}
    layer, *others = (oracle.arm(runs, experiment, name, "main")
                      for name in ("layer", *compared))  # fmt: skip
    assert compared.keys() == toy_records.ARMS[experiment].keys() - {"layer"}
    for text, other in zip(compared.values(), others, strict=True):
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
