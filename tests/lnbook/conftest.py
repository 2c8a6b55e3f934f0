"""What the tests of the book's package share."""

import pytest


@pytest.fixture(autouse=True)
def live(monkeypatch):
    """Show what a notebook shows, whatever builds the book beside."""
    monkeypatch.delenv("LNLIB_STATIC", raising=False)
