"""The chapters that compare learning curves of arms, on synthetic records with known answers."""

import functools
import importlib
from typing import NamedTuple

from lnbook.figures import run_groups
from tests.cases import oracle, toy_records

CASES = ("better", "worse", "later")


class Chapter(NamedTuple):
    """A chapter: its experiment, the curve that it draws, and how it is drawn."""

    experiment: str
    curve: str
    factor: float
    early: int  # updates before which no relative number of updates is drawn
    sweep: dict  # a setting of the runs that chose the learning rates


CHAPTERS = {
    "draw": Chapter("draw", "test_bound", 1, 500, {"images": 50}),
    "handwriting": Chapter("handwriting", "val_new_nll", 1, 100, {"lines": 7}),
    "attentive_reader": Chapter("attentive_reader", "val_error", 100, 400, {"word_size": 32}),
    "skip_thoughts": Chapter("skip_thoughts", "val_nll", 1, 100, {"evaluate_every": None}),
}
MAIN = "standard settings"  # name of the main group
SWEPT = (0.001, 0.01, 0.1)


def task(name):
    """Return how the experiment of a chapter compares its runs."""
    return importlib.import_module(f"lnlab.experiments.{CHAPTERS[name].experiment}.results").TASK


def module(name):
    """Return the module with the figures of a chapter."""
    return importlib.import_module(f"lnbook.chapters.{name}.figures")


def runs_class(name):
    """Return the class of a chapter's recorded runs."""
    classes = [c for c in vars(module(name)).values() if isinstance(c, type)]
    return next(c for c in classes if issubclass(c, run_groups.Runs))


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
    return runs_class(name)(made, task(name))


def arms(name, case, group="main"):
    """Return the runs of each arm at its best rate, by seed."""
    experiment = CHAPTERS[name].experiment
    return {arm: oracle.arm(records(name, case), experiment, arm, group)
            for arm in toy_records.ARMS[experiment]}  # fmt: skip
