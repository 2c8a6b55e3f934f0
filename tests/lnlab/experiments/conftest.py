"""Fixtures of the tests of several experiments."""

import pytest
import torch

from lnlab import checkpoint, datasets, training


@pytest.fixture
def made_up(text, monkeypatch):
    """Replace the data set of this name by the text of the module."""
    monkeypatch.setattr(datasets, "load", {text.name: text}.__getitem__)


@pytest.fixture(autouse=True)
def _one_thread():
    """Small products gain nothing from threads, and tests run in parallel."""
    torch.set_num_threads(1)


@pytest.fixture
def double():
    """Networks and their updates in float64."""
    torch.set_default_dtype(torch.float64)


@pytest.fixture
def interrupted_at_each_update(monkeypatch):
    """Repeat a call, each time interrupted at its first checkpoint, until it ends.

    Checkpoints are saved after every update. The call is made at least ``least`` times.
    """

    def until_done(call, least=5):
        save, interrupted = checkpoint.save, 0

        def interrupt(*args):
            save(*args)
            raise KeyboardInterrupt

        monkeypatch.setattr(training, "CHECKPOINT_S", 0)
        monkeypatch.setattr(checkpoint, "save", interrupt)
        while interrupted < 100:
            try:
                result = call()
            except KeyboardInterrupt:
                interrupted += 1
            else:
                assert interrupted >= least
                return result
        raise AssertionError("it makes no progress")

    return until_done
