"""The beginning of one recorded run of each experiment is reproduced.

The run with the lowest learning rate is selected: at high rates, rounding differences between
processors become visible within a hundred updates. It is trained until its first recorded points.
Before the first update, only the initialization can differ; afterwards, curves drift apart by
rounding, but these points are early.
"""

import itertools
import json
import math

import numpy as np
import pytest

from lnlab import experiments, records, training

RECORDED = [name for name in experiments.names() if experiments.find(name).grids]
POINTS, MOST_S = 3, 6.0  # maximum number of points, and of seconds in the record
START, DRIFT = 1e-3, 2e-2  # relative tolerances before and after the first update
ADVICE = (
    "Is `epoch 0` wrong, the start, the data or a measure has changed: a mistake, or the runs must "
    "be recorded again. Are later points alone wrong, and each by little more than the one before, "
    "it is rounding on another processor; all at once, and it is the update that has changed."
)


def data_of(name):
    return experiments.find(name).settings().data


def calmest(name):
    """The record with the lowest learning rate of those with an early second point."""

    def order(path):
        record = json.loads(path.read_text())
        took = record["curves"]["wall_s"][1]
        return max(took, MOST_S), record["settings"].get("learning_rate", 0), took

    return records.read(min((records.folder() / name).glob("*.json"), key=order))


def apart(experiment, record, points):
    """Yield differences: the point, the measure, the recorded value, and the current one."""
    for k, point in enumerate(points):
        for name, now in point.items():
            unit = experiment.unit(name)
            if name not in record["curves"] or unit in ("s", "ms"):
                continue
            curve = np.array(record["curves"][name], float)
            before, span = curve[k], np.nanmax(curve) - np.nanmin(curve)
            # Records keep five digits.
            room = (DRIFT if k else START) * span + 1e-4 * abs(before)
            same = math.isnan(now) if math.isnan(before) else abs(now - before) <= room
            if not same:
                yield f"epoch {point['epoch']:.4g}: {name} was {before:.5g}, is {now:.5g} {unit}"


def again(name):
    experiment = experiments.find(name)
    record = calmest(name)
    settings = experiment.settings(**record["settings"])
    data = experiment.load(settings)
    assert data.sha256 == record["data"]["sha256"], "recorded on other data"
    step = {"step": "plain"} if experiment.steps else {}
    run = experiment.run_class(settings, data, seed=record["seed"], **step)
    points = training.train(
        run, epochs=settings.epochs, first_epoch_points=settings.first_epoch_points
    )
    soon = sum(s <= MOST_S for s in record["curves"]["wall_s"])
    return experiment, record, list(itertools.islice(points, min(POINTS, max(2, soon))))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs_data(data_of(name))) for name in RECORDED]
)
def test_recorded_runs_can_be_reproduced_initially(name):
    experiment, record, points = again(name)
    differences = list(apart(experiment, record, points))
    assert not differences, "\n".join([*differences, ADVICE])
