"""Live training of several networks side by side."""

from lnlab import training
from lnlab.experiments.mnist import live
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.sequential_mnist import run as sequence
from tests.cases.points import without_time

SMALL = {"data": "digits", "hidden": (8, 8)}


def alone(run):
    s = run.settings
    points = training.train(run, epochs=s.epochs, first_epoch_points=s.first_epoch_points)
    return without_time(points)


def test_live_runs_equal_the_runs_of_their_norms_and_seeds(monkeypatch, digits):
    monkeypatch.setattr(live, "SMALL", SMALL)
    results = list(live.train_norms(("layer", "batch"), 2, 32, "cpu", epochs=2, learning_rate=0.02))
    given = SMALL | {"batch_size": 32, "epochs": 2, "first_epoch_points": 6, "learning_rate": 0.02}
    for norm in ("layer", "batch"):
        for seed in (0, 1):
            run = mnist.MNISTRun(mnist.Settings(norm=norm, **given), digits, seed=seed)
            assert without_time(points[norm][seed] for points in results) == alone(run)
    given = {"cell": "gru", "epochs": 1, "hidden": 12, "batch_size": 48, "first_epoch_points": 2}
    results = list(sequence.train_norms(("layer", "none"), digits, device="cpu", **given))
    for norm in ("layer", "none"):
        run = sequence.SequentialMNISTRun(sequence.Settings(norm=norm, **given), digits)
        assert without_time(points[norm] for points in results) == alone(run)
