"""Weights in training: lengths and turns against a loop of one's own, resuming, records."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lnlab import datasets, records
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.weights import run as weights
from lnlab.experiments.weights.run import NORMS, OPTIMIZERS, RATES, Run, Settings
from lnlab.runner import record_runs
from lnlab.training import train

SMALL = {"hidden": (12, 12), "batch_size": 48, "first_epoch_points": 2, "epochs": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


def run(digits, *, checkpoint=None, seed=0, **settings):
    chosen = Settings(**(SMALL | settings))
    replay = Run(chosen, digits, seed=seed)
    return train(replay, epochs=chosen.epochs, first_epoch_points=2, checkpoint=checkpoint)


def without_time(points):
    # What is NaN before the first update is not equal to itself.
    return [
        {k: None if v != v else v for k, v in point.items() if k != "wall_s"} for point in points
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"norm": "weight"}, "norm must be one of none, layer, batch, got 'weight'"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of sgd, adam, got 'lbfgs'"),
        ({"scale": 0.0}, "scale must be a positive number, got 0.0"),
        ({"scale": float("nan")}, "scale must be a positive number, got nan"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_has_a_rate_of_its_own(optimizer):
    assert Settings(optimizer=optimizer).learning_rate == RATES[optimizer]
    assert Settings(optimizer=optimizer, learning_rate=0.5).learning_rate == 0.5


@pytest.mark.parametrize("norm", NORMS)
def test_the_scale_multiplies_the_hidden_weights_and_nothing_else(digits, norm):
    chosen = [Settings(norm=norm, scale=s) for s in (1.0, 4.0)]
    plain, longer = (Run(s, digits).model.state_dict() for s in chosen)
    hidden = {f"{i}.weight" for i, m in enumerate(Run(chosen[0], digits).model)
              if isinstance(m, nn.Linear)}  # fmt: skip
    hidden.remove(max(hidden, key=lambda name: int(name.split(".")[0])))
    for name in plain:
        factor = 4 if name in hidden else 16 if name == "walked" else 1
        torch.testing.assert_close(longer[name], factor * plain[name])


def test_a_seed_gives_the_weights_of_the_mnist_experiment(digits):
    ours = Run(Settings(**SMALL), digits).model.state_dict()
    theirs = mnist.Run(
        mnist.Settings(data="digits", batch_size=48, hidden=(12, 12)), digits
    ).model.state_dict()
    for name, value in theirs.items():
        assert torch.equal(ours[name], value)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_lengths_turns_and_squares_are_those_of_a_loop_in_numpy(digits, optimizer):
    chosen = Settings(**(SMALL | {"optimizer": optimizer, "epochs": 1, "norm": "layer"}))
    replay = Run(chosen, digits)
    torch.manual_seed(1)
    w1, g1, b1, w2, g2, b2, w3, b3 = ours = [
        p.detach().clone().requires_grad_() for p in replay.model.parameters()
    ]
    make = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
    step = make(ours, lr=chosen.learning_rate)
    kept = [[w.detach().numpy().astype(float).copy() for w in (w1, w2)]]
    for x, y in replay.batches(0):
        h = F.relu(F.layer_norm(x @ w1.T, (12,), g1, b1))
        h = F.relu(F.layer_norm(h @ w2.T, (12,), g2, b2))
        step.zero_grad()
        F.cross_entropy(h @ w3.T + b3, y).backward()
        step.step()
        kept.append([w.detach().numpy().astype(float).copy() for w in (w1, w2)])
    points = list(run(digits, optimizer=optimizer, epochs=1))
    first = round(points[1]["epoch"] * (len(kept) - 1))
    for layer in (0, 1):
        W = np.array([pair[layer].ravel() for pair in kept])
        lengths = np.linalg.norm(W, axis=1)
        cosines = (W[1:] * W[:-1]).sum(1) / (lengths[1:] * lengths[:-1])
        turns = np.degrees(np.arccos(np.minimum(cosines, 1)))
        square = np.sqrt(lengths[0] ** 2 + (np.diff(W, axis=0) ** 2).sum())
        last, i = points[-1], layer + 1
        # float32, and two orders of one sum; measured 2e-6.
        assert last[f"length_{i}"] == pytest.approx(lengths[-1], rel=1e-4)
        assert last[f"square_{i}"] == pytest.approx(square, rel=1e-4)
        assert last[f"turn_{i}"] == pytest.approx(turns[first:].mean(), rel=1e-3)
        assert points[1][f"turn_{i}"] == pytest.approx(turns[:first].mean(), rel=1e-3)


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_plain_descent_under_a_norm_steps_at_right_angles(digits, norm):
    points = list(run(digits, norm=norm))
    for i in (1, 2):
        lengths = [p[f"length_{i}"] for p in points]
        assert all(a < b for a, b in itertools.pairwise(lengths))
        for p in points:
            assert p[f"square_{i}"] == pytest.approx(p[f"length_{i}"], rel=1e-3)


@pytest.mark.parametrize("norm", NORMS)
def test_a_fixed_magnitude_stays_and_with_a_norm_outputs_do_not_change(digits, norm):
    x = torch.randn(20, 64, generator=torch.Generator().manual_seed(0))
    steps = []
    for magnitude in (None, "fixed"):
        chosen = Settings(**SMALL, norm=norm, magnitude=magnitude, learning_rate=1.0, eps=1e-12)
        replay = Run(chosen, digits)
        next(iter(replay.advance(0, 0, 1)))
        with torch.no_grad():
            steps.append([replay.model.eval()(x), replay.measure()])
            start = Run(chosen, digits).measure()
    (grown, free), (same, fixed) = steps
    for i in (1, 2):
        assert fixed[f"length_{i}"] == pytest.approx(start[f"length_{i}"], rel=1e-6)
        assert free[f"length_{i}"] != pytest.approx(start[f"length_{i}"], rel=1e-5)
        # What an update does is measured before the weights are scaled.
        for name in ("turn", "square"):
            assert fixed[f"{name}_{i}"] == pytest.approx(free[f"{name}_{i}"], rel=1e-6)
    if norm == "layer":
        torch.testing.assert_close(same, grown, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("norm", "optimizer"), [("none", "sgd"), ("layer", "adam")])
def test_other_steps_are_not_at_right_angles(digits, norm, optimizer):
    last = list(run(digits, norm=norm, optimizer=optimizer, epochs=4))[-1]
    assert abs(last["square_1"] / last["length_1"] - 1) > 5e-3


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("magnitude", [None, "fixed"])
def test_a_run_that_was_broken_off_goes_on_bit_for_bit(digits, optimizer, magnitude, tmp_path):
    given = {"optimizer": optimizer, "magnitude": magnitude}
    whole = list(run(digits, **given, epochs=3))
    list(run(digits, **given, epochs=1, checkpoint=tmp_path / "run.pt"))
    resumed = list(run(digits, **given, epochs=3, checkpoint=tmp_path / "run.pt"))
    assert without_time(resumed) == without_time(whole)


def test_records_are_written_named_and_not_repeated(tmp_path, capsys):
    chosen = [Settings(**(SMALL | {"epochs": 1, "scale": s})) for s in (1.0, 4.0)]
    paths = record_runs(weights.EXPERIMENT, chosen, [0], out=tmp_path, device="cpu")
    assert len({path.name for path in paths}) == 2
    assert all(path.name.startswith("weights-layer-sgd-x") for path in paths)
    found = records.read_all("weights", tmp_path, scale=4.0)
    assert len(found) == 1
    assert "--scale 4.0 " in found[0]["provenance"]["command"]
    assert {"length_1", "square_2", "turn_1"} <= set(found[0]["curves"])
    capsys.readouterr()
    record_runs(weights.EXPERIMENT, chosen, [0], out=tmp_path, device="cpu")
    assert "2 of 2 runs are recorded already" in capsys.readouterr().out


def test_the_books_records_are_all_there_and_repeat():
    found = records.read_all("weights")
    keys = {
        (*(r["settings"].get(k) for k in ("norm", "optimizer", "scale", "magnitude")), r["seed"])
        for r in found
    }
    seeds = range(10)
    starts = itertools.product(NORMS, ("sgd",), (0.25, 1.0, 4.0, 16.0), (None,), seeds)
    fixed = itertools.product(("layer", "batch"), ("sgd",), (1.0,), ("fixed",), seeds)
    assert keys == {*starts, *fixed, *itertools.product(NORMS, ("adam",), (1.0,), (None,), seeds)}
    assert len(found) == len(keys)
    (kept,) = (r for r in found if r["seed"] == 1 and "magnitude" not in r["settings"] and
               {"norm": "layer", "optimizer": "adam"}.items() <= r["settings"].items())  # fmt: skip
    chosen = Settings(norm="layer", optimizer="adam")
    replay = Run(chosen, datasets.load("digits"), seed=1)
    points = list(train(replay, epochs=1, first_epoch_points=chosen.first_epoch_points))
    for name in ("length_1", "square_2", "train_nll"):
        np.testing.assert_allclose(
            [p[name] for p in points], kept["curves"][name][: len(points)], rtol=1e-3
        )
