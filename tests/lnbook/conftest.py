"""What the tests of the book's package share."""

import symtable

import pytest


@pytest.fixture(autouse=True)
def live(monkeypatch):
    """Show what a notebook shows, whatever builds the book beside."""
    monkeypatch.delenv("LNLIB_STATIC", raising=False)


def names(source):
    """Return what a cell sets, and what it reads of what others set."""
    whole = symtable.symtable(source, "cell", "exec")
    sets = {s.get_name() for s in whole.get_symbols() if s.is_assigned() or s.is_imported()}
    reads, tables = set(), [whole]
    for table in tables:
        tables += table.get_children()
        reads |= {s.get_name() for s in table.get_symbols() if table is whole or s.is_global()}
    return sets, reads - sets
