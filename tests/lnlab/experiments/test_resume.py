"""A run that is interrupted between any two updates goes on to the curve of an unbroken one."""

import itertools

import numpy as np
import pytest
import torch

from lnlab import experiments
from lnlab.checkpoint import BadCheckpoint, load
from lnlab.training import train
from tests.lnlab.experiments.test_convnet import SMALL as CONVNET
from tests.lnlab.experiments.test_convnet import data as images  # noqa: F401

DIGITS = {"data": "digits", "batch_size": 400}
NETWORK = {**DIGITS, "hidden": (8,)}
RUNS = {
    "mnist": {**NETWORK, "norm": "batch"},
    "noise": {**NETWORK, "batch_size": 350, "norm": "batch", "gradient_batches": 2},
    "landscape": {**DIGITS, "hidden": (6, 5), "measured_cases": 20},
    "sequence": {"hidden": 6, "batch_size": 400, "norm": "layer"},
    "weights": {"hidden": (8,), "batch_size": 400, "norm": "layer", "optimizer": "adam"},
    "convnet": CONVNET,
}


@pytest.fixture
def start(digits, images):  # noqa: F811
    """From an experiment to its run of three epochs."""

    def run(name, epochs=3, **more):
        of = experiments.find(name)
        settings = of.settings(**RUNS[name] | {"epochs": epochs, "first_epoch_points": 2} | more)
        return of.run()(settings, images if name == "convnet" else digits, seed=1)

    return run


def without_time(points):
    return [{k: torch.as_tensor(v) for k, v in point.items() if k != "wall_s"} for point in points]


def assert_same(found, expected):
    for point, wanted in itertools.zip_longest(without_time(found), without_time(expected)):
        torch.testing.assert_close(point, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", RUNS)
def test_interrupted_after_each_update_it_is_the_unbroken_run_bit_for_bit(
    start, tmp_path, interrupted_at_each_update, name
):
    def ended(**more):
        run = start(name)
        points = list(train(run, epochs=3, first_epoch_points=2, **more))
        return points, run.model.state_dict()

    whole, parameters = ended()
    # Each epoch has three updates or four. One of the first epoch ends with a measurement, and
    # without a checkpoint.
    found, ours = interrupted_at_each_update(lambda: ended(checkpoint=tmp_path / "run.pt"), least=8)
    assert_same(found, whole)
    torch.testing.assert_close(ours, parameters, rtol=0, atol=0)
    assert all(np.diff([point["wall_s"] for point in found]) >= 0)


def test_a_checkpoint_within_an_epoch_is_saved_by_the_clock(start, tmp_path, monkeypatch):
    now, saved = [0.0], []
    monkeypatch.setattr("lnlab.training.time.monotonic", lambda: now[0])
    run = start("mnist", batch_size=40, first_epoch_points=1)
    update = run.update

    def slow(batch):
        now[0] += 250  # seconds
        return update(batch)

    monkeypatch.setattr(run, "update", slow)
    monkeypatch.setattr(
        "lnlab.checkpoint.save", lambda path, run, at: saved.append((at.epochs, at.updates))
    )
    list(train(run, epochs=2, first_epoch_points=1, checkpoint=tmp_path / "run.pt"))
    assert run.updates_per_epoch == 35
    within = list(range(3, 35, 3))
    assert saved == [*((0, k) for k in within), (1, 0), *((1, k) for k in within), (2, 0)]


def test_a_run_that_is_measured_at_its_end_refuses_a_checkpoint_beyond_it(
    start, tmp_path, monkeypatch
):
    run = start("mnist")
    monkeypatch.setattr(type(run), "measures_end", True)
    monkeypatch.setattr("lnlab.training.CHECKPOINT_S", 0)
    file = tmp_path / "run.pt"
    points = train(run, epochs=3, first_epoch_points=1, checkpoint=file)
    advance = run.advance

    def broken(epoch, first, last):
        for k, found in enumerate(advance(epoch, first, last)):
            if (epoch, k) == (2, 2):
                raise KeyboardInterrupt
            yield found

    run.advance = broken
    with pytest.raises(KeyboardInterrupt):
        list(points)
    at = load(file, start("mnist"), 3)
    assert (at.epochs, at.updates) == (2, 2)
    with pytest.raises(BadCheckpoint, match=r"is at epoch 2.667, past --epochs 2, .* --epochs 3"):
        load(file, start("mnist", epochs=2), 2)
