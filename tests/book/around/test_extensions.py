"""Links into the paper and the table of executions, in a small book."""

import re
from datetime import UTC, datetime

import numpy as np

from tests.book.around.conftest import rows, when


def links(html, start):
    """The links into the paper in the paragraph that begins with ``start``: texts and anchors."""
    paragraph = re.search(rf"<p>{start}: (.*?)</p>", html, re.S)[1]
    result = re.findall(r'<a class="ln-paper[^"]*" href="([^"]+)">([^<]+)</a>', paragraph)
    return [(re.sub(r"\s+", " ", words), target) for target, words in result]


def test_references_to_the_paper_become_links(small):
    to = "equations.html#paper-".__add__
    assert links(small.html("chapter"), "FIRST") == [
        ("eq. 15", to("eq-15")),
        ("eqs. 3", to("eq-3")),
        ("15", to("eq-15")),
        ("16", to("eq-16")),
        ("section 6.6", to("section-6-6")),
        ("sections 2", to("section-2")),
        ("6.6", to("section-6-6")),
        ("table 1", to("table-1")),
    ]
    assert links(small.html("chapter"), "OWN") == [("section 2", to("section-2"))]


def test_code_headings_links_and_references_to_other_works_are_unchanged(small):
    html = small.html("chapter")
    assert links(html, "CODE") == []
    assert links(html, "ELSEWHERE") == []
    assert links(html, "NUMBERS") == [("eqs. 3", "equations.html#paper-eq-3")]
    assert re.search(r"<h1>Chapter of eq. 15<a", html)
    assert len(re.findall('class="ln-paper', html)) == 10


def test_the_execution_table_has_date_time_and_machine_of_every_chapter(small):
    table = rows(small.html("about"))
    assert [row[0] for row in table] == ["Start: one bar", "Two bars", "Chapter of eq. 15"]
    for _, date, seconds, result in table:
        assert 0 <= (datetime.now(UTC) - when(date)).total_seconds() < 24 * 3600
        assert 0 < float(seconds) < 600
        assert result == "ran to its end"
    assert re.search(rf"All ran on: \S.*, \d+ cores, .*NumPy {np.__version__}", small.html("about"))
