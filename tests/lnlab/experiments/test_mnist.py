"""Section 6.6: the network, its norms, its settings."""

import numpy as np
import pytest
import torch

from lnlab import datasets
from lnlab.experiments.mnist.run import MNISTRun, Settings


@pytest.mark.parametrize(
    ("variance", "batch_size", "unbiased"),
    [
        *(("paper", 2, True), ("paper", 127, True), ("paper", 128, False), ("paper", 500, False)),
        *(("biased", 4, False), ("biased", 128, False)),
        *(("unbiased", 4, True), ("unbiased", 128, True)),
    ],
)
def test_the_variance_is_as_requested_or_as_in_the_paper(variance, batch_size, unbiased):
    assert Settings(norm="batch", variance=variance, batch_size=batch_size).unbiased is unbiased


def test_replay_trains_on_the_first_55000_examples_with_their_labels():
    x = np.linspace(0, 1, 56_000, dtype=np.float32)[:, None]
    y = (np.arange(56_000) % 10).astype(np.int64)
    fake = datasets.Dataset("fake", x, y, x[:10], y[:10], "0" * 64)
    replay = MNISTRun(Settings(hidden=(4,)), fake)
    assert len(replay.x) == 55_000
    assert replay.updates_per_epoch == 429
    inputs, labels = next(replay.batches(0))
    cases = (inputs[:, 0].double() * 55_999).round().long()
    assert torch.equal(cases % 10, labels)


def test_negative_seeds_raise_an_error(digits):
    with pytest.raises(ValueError, match="seed must be a whole number from 0, got -1"):
        MNISTRun(Settings(), digits, seed=-1)
