"""Live training, which can be stopped and resumed without losing a step, and step times."""

import pytest

from lnlab import training
from lnlab.experiments.mnist import live
from lnlab.experiments.mnist import run as mnist
from tests.cases.points import without_time

SMALL = {"data": "digits", "hidden": (8, 8)}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(live, "SMALL", SMALL)


def test_live_runs_equal_the_runs_of_their_norms_and_seeds(small, digits):
    given = {"learning_rate": 0.02}
    results = list(live.train_norms(("layer", "batch"), 2, 32, "cpu", epochs=2, **given))
    for norm in ("layer", "batch"):
        settings = mnist.Settings(
            norm=norm, batch_size=32, epochs=2, first_epoch_points=6, **SMALL, **given
        )
        for seed in (0, 1):
            alone = mnist.MNISTRun(settings, digits, seed=seed)
            expected = list(training.train(alone, epochs=2, first_epoch_points=6))
            assert without_time(r[norm][seed] for r in results) == without_time(expected)
