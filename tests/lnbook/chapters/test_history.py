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


@pytest.mark.parametrize("idea", timeline.LANES)
def test_the_selected_row_and_the_sentence_agree(idea):
    figure = timeline.draw_timeline(idea)
    numbered = [row for row in figure.data if row.text]
    assert [row.name for row in numbered] == [idea]
    text = timeline.describe_timeline(idea)
    for number, event in zip(numbered[0].text, timeline.LANES[idea], strict=True):
        assert f"{number} {event.what} ({event.who}, " in text
