"""Dates of the timeline equal those in the list of references."""

import re
from pathlib import Path

import pytest

import lnbook
from lnbook.chapters.history import timeline

BOOK = Path(lnbook.__file__).parent.parent
NUMBERS = {
    key: re.search(r"eprint\s*=\s*\{([^}]+)\}", entry)[1]
    for key, entry in re.findall(
        r"@\w+\{(\w+),(.*?)\n\}", (BOOK / "references.bib").read_text("utf-8"), re.S
    )
    if "eprint" in entry
}
EVENTS = [pytest.param(e, id=e.key) for row in timeline.LANES.values() for e in row]


@pytest.mark.parametrize("event", EVENTS)
def test_dates_are_those_of_the_cited_arxiv_numbers(event):
    assert event.number == NUMBERS[event.key]
    assert f"`{event.key}`" in (BOOK / "history.ipynb").read_text("utf-8")
