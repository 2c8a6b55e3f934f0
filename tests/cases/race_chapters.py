"""The chapters that race arms of an experiment, on synthetic records, and their known answers."""

import functools
import importlib
import math
from statistics import fmean
from typing import NamedTuple

import numpy as np

from lnbook.show.arms import LAYER, MISSING, PLAIN
from lnbook.show.table import FAILS, HOLDS, OPEN
from lnlib import compare
from tests.cases import oracle, toy_records
from tests.cases.oracle import parsed

CASES = ("better", "worse", "later")


class Chapter(NamedTuple):
    """A chapter: its experiment, the curve that it draws, and how it is drawn."""

    experiment: str
    curve: str
    factor: float
    early: int  # updates before which no share is told
    sweep: dict  # a setting of the runs that were to find the rates


CHAPTERS = {
    "paint_a_digit": Chapter("draw", "test_bound", 1, 500, {"images": 50}),
    "write_a_line": Chapter("handwriting", "val_new_nll", 1, 100, {"lines": 7}),
    "fill_in_the_name": Chapter("attentive_reader", "val_error", 100, 400, {"word_size": 32}),
    "foretell_the_neighbors": Chapter("skip_thoughts", "val_nll", 1, 100, {"judge_every": None}),
}
#: What a chapter calls the second kind of synthetic runs.
OTHER = {
    "paint_a_digit": "16 glimpses",
    "write_a_line": "whole lines",
    "fill_in_the_name": "trained on short stories",
    "foretell_the_neighbors": "50 words, 16 sentences",
}
MAIN = "as in the picture"  # what a chapter calls the first
SWEPT = (0.001, 0.01, 0.1)


def task(name):
    """Return how the experiment of a chapter compares its runs."""
    return importlib.import_module(f"lnlib.experiments.{CHAPTERS[name].experiment}.results").TASK


def module(name, part):
    """Return a module of a chapter."""
    return importlib.import_module(f"lnbook.{name}.{part}")


@functools.cache
def records(name, case):
    """Return the records of a chapter's experiment."""
    return [*toy_records.of_arms(case, CHAPTERS[name].experiment)]


@functools.cache
def sweep(name):
    """Return runs at three rates, of which each arm has its own best."""
    chapter, made = CHAPTERS[name], []
    for k, (arm, settings) in enumerate(toy_records.ARMS[chapter.experiment].items()):
        for j, rate in enumerate(SWEPT):
            for seed in (0, 1):
                of = toy_records.Source("better", 0, seed, False, "sweep", arm, rate)
                of.level = (1.0, 1.5, 1.2)[(j + k) % 3]
                curves = of.finish(toy_records.curves(chapter.experiment, of))
                made.append(toy_records.make(chapter.experiment, seed, curves, learning_rate=rate,
                                             **settings, **chapter.sweep))  # fmt: skip
    return made


def read(name, case):
    """Return a chapter's own reader of the records."""
    made = [*records(name, case), *sweep(name)]
    return module(name, "runs").Runs(made, task(name))


def arms(name, case, kind="usual"):
    """Return the runs of each arm at its best rate, by seed."""
    experiment = CHAPTERS[name].experiment
    return {arm: oracle.arm(records(name, case), experiment, arm, kind)
            for arm in toy_records.ARMS[experiment]}  # fmt: skip


BADGE = {compare.HOLDS: HOLDS, compare.FAILS: FAILS, compare.UNDECIDED: OPEN}


def badge(differences):
    """Return the badge of differences that are below 0 where a claim is true."""
    return BADGE[oracle.outcome(differences)]


def check_race(cells, shares, limit=1.0):
    """Hold two cells, shares seed by seed and the verdict, to a race."""
    told, verdict = cells
    found = [math.inf if one == "never" else parsed(one)[0] / 100 for one in told.split(", ")]
    np.testing.assert_allclose(found, shares, atol=0.0051)
    assert verdict == badge([share - limit for share in shares])


def check_difference(cells, values, judged, digits):
    """Hold two cells, a mean with its bounds and the verdict, to differences."""
    told, verdict = cells
    wanted = fmean(values), *oracle.ends(values)
    np.testing.assert_allclose(parsed(told), wanted, atol=0.51 * 10**-digits)
    assert verdict == badge(judged)


def check_bounds_named(text, values):
    """Say whether brackets are named for what they hold."""
    interval = len(values) >= 6
    assert ("95 % interval" in text) == interval, text
    assert ("lowest to highest" in text) != interval, text


def check_claims(name, case):
    """Hold a chapter's table of claims to the records: against no norm and a chosen start."""
    table = module(name, "verdicts")
    known, found = read(name, case), arms(name, case)
    others = {PLAIN: 0, "none, chosen start": 2}

    def less(value, other):
        return [value(found[LAYER][s]) - value(found[other][s])
                for s in oracle.common(found[LAYER], found[other])]  # fmt: skip

    if name == "fill_in_the_name":
        for other, row in zip(known.others(MAIN), table.claims(known).rows, strict=True):
            assert row[0] == known.LOOKS[other][0]
            d = [100 * v for v in less(oracle.lowest, other)]
            check_difference(row[1:3], d, d, 1)
            for k, axis in ((3, oracle.updates), (5, oracle.seconds)):
                check_race(row[k : k + 2], oracle.race(found[other], found[LAYER], axis))
        return
    of = table.claims if name != "foretell_the_neighbors" else table.speed
    for claim, *cells in of(known).rows:
        for other, at in others.items():
            two = cells[at : at + 2]
            if "updates" in claim or "of them" in claim:
                shares = oracle.race(found[other], found[LAYER], oracle.updates)
                check_race(two, shares, 0.6 if "almost twice" in claim else 1.0)
            elif "seconds" in claim:
                check_race(two, oracle.race(found[other], found[LAYER], oracle.seconds))
            elif "As long an update" in claim:
                pace = [found[LAYER][s] for s in oracle.common(found[LAYER], found[other])]
                pairs = [
                    (oracle.seconds(run)[-1], oracle.seconds(found[other][run["seed"]])[-1])
                    for run in pace
                ]
                d = [100 * (a - b) / b for a, b in pairs]  # fmt: skip
                check_difference(two, d, [abs(v) - 10 for v in d], 0)
            else:
                check_difference(two, *_measured(claim, less, other))


def _measured(claim, less, other):
    """The differences of a row, those that decide, and its digits."""
    if claim.startswith("A lower bound"):
        d = less(lambda run: run["curves"]["test_bound_of_all"][-1], other)
        return d, d, 2
    if claim.startswith("A lower loss at its best"):
        d = less(oracle.lowest, other)
        return d, d, 3
    name = {"A comparable": "val_new_nll", "… a lower one": "val_new_nll",
            "… a lower one on test writers": "test_new_nll",
            "The window": "val_new_window_off"}  # fmt: skip
    (curve,) = [v for k, v in name.items() if claim == k or (k[0] != "…" and claim.startswith(k))]
    d = less(lambda run: oracle.at_best(run, curve), other)
    return d, ([abs(v) - 0.1 for v in d] if "comparable" in claim else d), 2


def differences(value, name, case, kind="usual", other=PLAIN):
    """Return how much a value of layer norm's runs is above another arm's, seed by seed."""
    found = arms(name, case, kind)
    return [value(found[LAYER][s]) - value(found[other][s])
            for s in oracle.common(found[LAYER], found[other])]  # fmt: skip


def check_hinges(name, case, value, digits):
    """Hold the table of a chapter's kinds of runs to the records."""
    known = read(name, case)
    for kind, *cells in module(name, "verdicts").hinges(known).rows:
        of = {known.KINDS[0]: "usual", OTHER[name]: "other"}.get(kind)
        if of is None:
            assert cells == [MISSING, "–", MISSING, "–"]
            continue
        found = arms(name, case, of)
        check_race(cells[:2], oracle.race(found[PLAIN], found[LAYER], oracle.updates))
        d = differences(value, name, case, of)
        check_difference(cells[2:], d, d, digits)
