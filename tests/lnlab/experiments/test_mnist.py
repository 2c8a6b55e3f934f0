"""Section 6.6: the network, its norms, its settings."""

import json

import numpy as np
import pytest
import torch

from lnlab import datasets
from lnlab.experiments.mnist import run as mnist
from lnlab.experiments.mnist import steps
from lnlab.experiments.mnist.run import HIDDEN, Run, Settings


@pytest.mark.parametrize(
    ("variance", "batch_size", "unbiased"),
    [
        *(("paper", 2, True), ("paper", 127, True), ("paper", 128, False), ("paper", 500, False)),
        *(("biased", 4, False), ("biased", 128, False)),
        *(("unbiased", 4, True), ("unbiased", 128, True)),
    ],
)
def test_the_variance_is_that_asked_for_or_the_papers(variance, batch_size, unbiased):
    assert Settings(norm="batch", variance=variance, batch_size=batch_size).unbiased is unbiased


def test_a_step_is_tried_before_anything_else_is_asked_for(monkeypatch):
    called = []
    monkeypatch.setattr(mnist, "resolve_device", "resolved {}".format)
    monkeypatch.setattr(steps, "choose", lambda *given: called.append(given))
    Run.check([Settings()], "cuda:1", step="compiled")
    assert called == [("compiled", 1, "resolved cuda:1")]
    Run.check([Settings()], "cuda:1", step="auto")
    assert len(called) == 1  # to choose would start a compiler, even where all is recorded


def test_batches_cover_each_case_once_and_depend_on_seed_and_epoch_alone(digits):
    def order(seed, epoch, norm="layer"):
        replay = Run(Settings(norm=norm, batch_size=4, hidden=(8,)), digits, seed=seed)
        replay.x = torch.arange(len(replay.x))
        return torch.cat([x for x, _ in replay.batches(epoch)]).tolist()

    once = order(0, 0)
    # Seeds share no order, in whatever epoch.
    orders = {(seed, epoch): tuple(order(seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(set(orders.values())) == 9
    assert len(set(once)) == len(once) == len(digits.x_train) // 4 * 4
    assert once == order(0, 0, "batch") != order(0, 1)
    assert once != order(1, 0)


def test_replay_trains_on_the_first_55000_cases_and_pairs_labels_with_their_cases():
    x = np.linspace(0, 1, 56_000, dtype=np.float32)[:, None]
    y = (np.arange(56_000) % 10).astype(np.int64)
    fake = datasets.Dataset("fake", x, y, x[:10], y[:10], "0" * 64)
    replay = Run(Settings(hidden=(4,)), fake)
    assert len(replay.x) == 55_000
    assert replay.updates_per_epoch == 429
    inputs, labels = next(replay.batches(0))
    cases = (inputs[:, 0].double() * 55_999).round().long()
    assert torch.equal(cases % 10, labels)


def test_replay_refuses_a_negative_seed(digits):
    with pytest.raises(ValueError, match="seed must be a whole number from 0, got -1"):
        Run(Settings(), digits, seed=-1)


def test_equal_settings_are_one_run_however_they_are_written():
    written = Settings(hidden=[8, 4], learning_rate=1, adam_betas=[0, 0.5], eps=-0.0)
    assert written == Settings(hidden=(8, 4), learning_rate=1.0, adam_betas=(0.0, 0.5), eps=0.0)
    assert hash(written) == hash(Settings(**written.as_dict()))
    expected = '{"hidden": [8, 4], "learning_rate": 1.0, "adam_betas": [0.0, 0.5], "eps": 0.0}'
    shared = {k: written.as_dict()[k] for k in ("hidden", "learning_rate", "adam_betas", "eps")}
    assert json.dumps(shared) == expected


def test_the_widths_that_are_not_given_are_those_of_the_data_set():
    assert Settings(data="digits").hidden == HIDDEN["digits"] != Settings().hidden
    assert Settings().hidden == HIDDEN["mnist"] == (1000, 1000)
