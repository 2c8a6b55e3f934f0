"""What the tests of several experiments need."""

import pytest
import torch

from lnlib import data


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


@pytest.fixture
def made_up(text, monkeypatch):
    """The module's text in place of the data set of its name."""
    monkeypatch.setattr(data, "load", {text.name: text}.__getitem__)


@pytest.fixture
def one_thread():
    """Small products gain nothing from threads, and the tests run side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
