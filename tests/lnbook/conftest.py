"""Fixtures of all tests of the book's package."""

import pytest


@pytest.fixture(autouse=True)
def live(monkeypatch):
    """Display objects as in a notebook, even while the book is being built."""
    monkeypatch.delenv("LNLIB_STATIC", raising=False)
