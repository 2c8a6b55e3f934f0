"""How runs are grouped and compared, at which rate, and what is printed, on synthetic records."""

import re
from statistics import fmean

import numpy as np
import pytest

from lnlab import experiments, records
from lnlab.experiments import draw, handwriting
from lnlab.experiments._task import STARTS
from lnlab.experiments.draw.results import TASK as DRAW
from lnlab.experiments.handwriting.results import TASK as HANDWRITING
from tests.cases import oracle, toy_records
from tests.cases.oracle import parsed
from tests.cases.toy_records import HIGH, LOW

CASES = ("better", "worse", "later")


#: Maps the name of a measure to its factor and its curve, of which the value at the run's best is
#: printed.
CURVES = {
    r"(\w+) retrieval, R@(\d+) \(%\)": (100, "test_{}_recall_{}"),
    r"(\w+) retrieval, mean rank": (1, "test_{}_mean_rank"),
    "validation error, %": (100, "val_error"),
    "test error, %": (100, "test_error"),
    "validation, longer passages, %": (100, "val_longer_error"),
    "test, longer passages, %": (100, "test_longer_error"),
    "test NLL, nats": (1, "test_nll"),
    "training NLL, nats": (1, "train_nll"),
    "loss, nats per word": (1, "val_nll"),
    "bound on validation, nats": (1, "val_bound"),
    r"(\w+), nats": (1, "{}_nll"),
    r"(\w+), characters and filling": (1, "{}_window_off"),
}
LINES = {"test lines of new writers": "test_new", "lines of known writers": "val_seen",
         "lines of new writers": "val_new"}  # fmt: skip


def value(measure):
    """Return a function for the value of a measure in a run."""
    best, numbers = oracle.at_best, oracle.numbers
    if measure == "of all test images at the end":
        return lambda run: numbers(run, "test_bound_of_all")[-1]
    if found := re.fullmatch(r"activity of border units, layer (\d), % of interior", measure):
        names = [f"{where}_on_{found[1]}" for where in ("border", "inner")]
        return lambda run: 100 * best(run, names[0]) / best(run, names[1])
    if found := re.fullmatch(r"(untrained: |words: |)(MR|CR|SUBJ|captions).*%", measure):
        task = {"captions": "caption_pairs"}.get(found[2], found[2].lower())
        name, at = "bag_" * (found[1] == "words: ") + task, -(found[1] != "untrained: ")
        return lambda run: 100 * oracle.known(numbers(run, name))[at]
    for words, split in LINES.items():
        measure = measure.replace(words, split)
    pattern = next(pattern for pattern in CURVES if re.fullmatch(pattern, measure))
    factor, name = CURVES[pattern]
    name = name.format(*re.fullmatch(pattern, measure).groups())
    return lambda run: factor * best(run, name)


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
        head, where, *lines = text.rstrip().split("\n")
        assert f"mean over {len(seeds)} seeds" in head
        assert "(lowest to highest)" in head
        assert f"where its {task.score_name} is " in where
        assert len(lines) >= 2
        for line in lines:
            measure, numbers = re.fullmatch(r"    (.*?)  +(−?\d.*)", line).groups()
            of = value(measure)
            without, with_norm = ([of(runs[s]) for s in seeds] for runs in (other, layer))
            d = [b - a for a, b in zip(without, with_norm, strict=True)]
            wanted = [fmean(without), fmean(with_norm), fmean(d), min(d), max(d)]
            digits = len(numbers.split()[0].partition(".")[2])
            np.testing.assert_allclose(parsed(numbers), wanted, atol=0.51 * 10**-digits, rtol=0)


# Groups, arms and rates, by the runs of one experiment.

ALL_DRAW = [*toy_records.of_arms("better", "draw")]
RUNS = [run for run in ALL_DRAW if oracle.has_default_settings(run)]


def of_arm(norm, rate):
    """The runs of an arm with the default initialization at one rate."""
    return oracle.matching(RUNS, "draw", norm=norm, start="usual", learning_rate=rate)


def changed(run, seed, factor, **settings):
    """A copy of a run with another seed, other settings, and scaled bounds."""
    curves = run["curves"] | {"val_bound": [factor * v for v in run["curves"]["val_bound"]]}
    return run | {"seed": seed, "settings": run["settings"] | settings, "curves": curves}


def test_runs_of_other_settings_are_a_group_after_the_default_ones():
    groups = DRAW.run_groups(ALL_DRAW[::-1])
    assert [settings for settings, _ in groups] == [{}, toy_records.OTHER_SETTINGS["draw"]]
    assert sorted(run["stem"] for run in groups[0][1]) == sorted(run["stem"] for run in RUNS)


def test_of_runs_that_differ_in_their_outputs_the_one_with_the_fewest_counts():
    extra = changed(of_arm("layer", HIGH)[0], 4, 0.01, keep=7)
    for both in ([*RUNS, extra], [extra, *RUNS]):
        assert DRAW.text(both) == DRAW.text(RUNS)
    assert DRAW.run_groups([extra])[0][1] == [extra]


def test_rates_are_compared_and_printed_for_the_seeds_that_all_of_them_have():
    # Over all seeds, the mean of the best rate would be the higher one.
    more = [changed(run, 20 + run["seed"], 9) for run in of_arm("none", LOW)]
    result = DRAW.at_best_rates([*RUNS, *more])["none"]
    means = [fmean(oracle.lowest(run) for run in of_arm("none", rate)) for rate in (LOW, HIGH)]
    assert result.rate == LOW
    assert list(result.runs) == [0, 1, 2, 3, 20, 21, 22, 23]
    assert result.rates == {LOW: pytest.approx(means[0]), HIGH: pytest.approx(means[1])}
    (line,) = re.findall(r"(?m)^    none  +(.*)$", DRAW.text(RUNS))
    assert line == f"{LOW}: {means[0]:.4g}*  {HIGH}: {means[1]:.4g}  (at the edge)"


def test_runs_that_cannot_be_compared_raise_an_error():
    with pytest.raises(ValueError, match=r"records must differ in arm, .*, got none, 0\.01 twice"):
        DRAW.text([*RUNS, of_arm("none", LOW)[0]])
    others = [changed(run, 30 + run["seed"], 1, learning_rate=0.3) for run in of_arm("none", LOW)]
    with pytest.raises(ValueError, match=r"none must have a seed in common .*0\.3: \[30, 31"):
        DRAW.at_best_rates([*RUNS, *others])


@pytest.mark.parametrize(
    ("experiment", "task", "tuned"),
    [(draw, DRAW, draw.TUNED), (handwriting, HANDWRITING, handwriting.TUNED)],
    ids=["draw", "handwriting"],
)
def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge(
    experiment, task, tuned
):
    sweep = experiment.SWEEP.overrides
    changed = {k: v for k, v in sweep.items() if k != "learning_rate" and not isinstance(v, tuple)}
    result = task.at_best_rates(records.read_all(experiment.EXPERIMENT.name, **changed))
    assert set(result) >= {"none", "layer"}
    for arm, of in result.items():
        assert tuple(of.rates) == experiment.RATES
        assert of.rate == tuned[tuple(STARTS[arm].values())[:2]]
        assert not of.at_edge
