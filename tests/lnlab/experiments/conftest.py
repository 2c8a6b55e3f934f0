"""What the tests of several experiments need."""

import pytest
import torch

from lnlab import checkpoint, datasets, training


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


@pytest.fixture
def made_up(text, monkeypatch):
    """The module's text in place of the data set of its name."""
    monkeypatch.setattr(datasets, "load", {text.name: text}.__getitem__)


@pytest.fixture
def one_thread():
    """Small products gain nothing from threads, and the tests run side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def double():
    """Networks and their updates in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def interrupted_at_each_update(monkeypatch):
    """Make a call again and again, each time interrupted at its first checkpoint; to its end.

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
