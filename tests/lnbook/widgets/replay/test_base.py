"""Base of the replays: the updates of measurements, and the points that are shown."""

import numpy as np
import pytest

from lnbook.widgets.replay import base


@pytest.mark.parametrize(
    ("settings", "cases", "wanted"),
    [
        ({"updates_per_epoch": 250}, {}, [0, 62, 250, 750]),
        ({"batch_size": 32}, {"train_questions": 6400 + 31}, [0, 50, 200, 600]),
    ],
)
def test_epochs_are_numbers_of_updates_or_passes(settings, cases, wanted):
    run = {"settings": settings, "data": {"cases": cases}, "curves": {"epoch": [0, 0.25, 1, 3]}}
    assert base.updates(run) == wanted


def record(arm, seed=0, array=True):
    arrays = {"maps": np.zeros((2, 3))} if array else {}
    return {"settings": {"norm": arm, "start": "usual"}, "seed": seed, "arrays": arrays}


def test_the_first_run_with_the_array_is_selected_for_each_arm():
    runs = [
        record("none", 0, array=False),
        record("layer", 1),
        record("none", 2),
        record("none", 3),
    ]
    arms = {"a": {"norm": "none"}, "b": {"norm": "layer"}, "c": {"norm": "batch"}}
    result = base.select_runs(runs, arms, "maps")
    assert {name: run["seed"] for name, run in result.items()} == {"a": 2, "b": 1}


def test_the_run_with_the_array_is_found_for_each_arm_in_the_order_of_the_arms():
    runs = [record("none"), record("layer", array=False), record("layer", 1), record("batch")]
    arms = [("layer", "usual"), ("rms", "usual"), ("none", "usual")]
    result = base.runs_by_arm(runs, arms, "maps")
    assert list(result) == [("layer", "usual"), ("none", "usual")]
    assert [run["seed"] for run in result.values()] == [1, 0]
