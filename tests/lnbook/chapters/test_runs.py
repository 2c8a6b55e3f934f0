"""Chapters that compare learning curves group their recorded runs by settings."""

from types import SimpleNamespace

import pytest

from lnbook.figures import run_groups
from tests.cases.learning_curve_chapters import CHAPTERS, MAIN, records, runs_class, task

GROUPS = [
    *((name, {}, MAIN) for name in CHAPTERS),
    ("draw", {"glimpses": 16}, "16 glimpses"),
    ("handwriting", {"constant": False, "lines": 40}, "no constant input"),
    ("handwriting", {"batch_size": 2}, "batch size 2"),
    ("skip_thoughts", {"length": 50, "evaluate_every": None}, "50 words, 16 sentences"),
    ("attentive_reader", {"passages": 2}, "two passages per question"),
    ("attentive_reader", {"epochs": 10}, None),
]


@pytest.mark.parametrize(("name", "changed", "group"), GROUPS, ids=str)
def test_runs_are_grouped_by_their_settings(name, changed, group):
    known = runs_class(name)(records(name, "better"), task(name))
    assert known.group_name(changed, {}) == group


@pytest.mark.parametrize("name", CHAPTERS)
def test_runs_at_many_rates_form_the_sweep(name):
    known = runs_class(name)(records(name, "better"), task(name))
    many = {"layer": SimpleNamespace(rates=(0.1, 0.2, 0.3))}
    assert known.group_name({"epochs": 4}, many) == run_groups.SWEEP
