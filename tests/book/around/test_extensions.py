"""Links into the paper and the table of executions, in a small book."""

import re
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.book.around.conftest import rows, when
from tests.book.conftest import Book

CHAPTER = """# Chapter of eq. 15

FIRST: eq. 15, eqs. 3, 15 and 16, and, at a line's end, section
6.6 and sections 2
and 6.6; table 1.

CODE: `eq. 15`, $x$, [section 6.6](https://example.org).

ELSEWHERE: {cite:t}`Ioffe2015`, section 3, and eq. 2 of {cite:t}`Ioffe2015`; section&nbsp;3.

OWN: {cite:t}`Ba2016`, section 2.

NUMBERS: subsection 2, section two, eqs. 3, 55,000 cases.

```
eq. 15
```
"""
START = "# Start\n\n```{bibliography}\n```\n"
FIRST, SECOND = "print(0)", "print('eq. 15')"
ANCHORS = ("eq-3", "eq-15", "eq-16", "section-2", "section-6-6", "figure-6", "table-1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, builder):
    """A book with the paper's anchors, two chapters and the page about it, built once."""
    book = Book(tmp_path_factory.mktemp("tiny"), builder)
    book.add("introduction", START, FIRST)
    book.add("chapter", CHAPTER, SECOND)
    book.add("other", "# Other\n\nText.", "print(1)")
    for name, text in {
        "equations": "# Paper\n\n" + "".join(f"(paper-{a})=\nPlace {a}.\n\n" for a in ANCHORS),
        "about": "# About\n\n```{last-run}\n```\n\n```{notebooks}\n```\n\n```{home}\n```",
    }.items():
        (book.folder / "book" / f"{name}.md").write_text(text)
        book.pages.append(name)
    done = book.build()
    assert done.returncode == 0, done.stdout
    return book


def links(html, start):
    """The links into the paper in the paragraph that begins with ``start``: texts and anchors."""
    paragraph = re.search(rf"<p>{start}: (.*?)</p>", html, re.S)[1]
    result = re.findall(r'<a class="ln-paper[^"]*" href="([^"]+)">([^<]+)</a>', paragraph)
    return [(re.sub(r"\s+", " ", words), target) for target, words in result]


def test_references_to_the_paper_become_links(tiny):
    to = "equations.html#paper-".__add__
    assert links(tiny.html("chapter"), "FIRST") == [
        ("eq. 15", to("eq-15")),
        ("eqs. 3", to("eq-3")),
        ("15", to("eq-15")),
        ("16", to("eq-16")),
        ("section 6.6", to("section-6-6")),
        ("sections 2", to("section-2")),
        ("6.6", to("section-6-6")),
        ("table 1", to("table-1")),
    ]
    assert links(tiny.html("chapter"), "OWN") == [("section 2", to("section-2"))]


def test_code_headings_links_and_references_to_other_works_are_unchanged(tiny):
    html = tiny.html("chapter")
    assert links(html, "CODE") == []
    assert links(html, "ELSEWHERE") == []
    assert links(html, "NUMBERS") == [("eqs. 3", "equations.html#paper-eq-3")]
    assert re.search(r"<h1>Chapter of eq. 15<a", html)
    assert len(re.findall('class="ln-paper', html)) == 10


def test_the_execution_table_has_date_time_and_machine_of_every_chapter(tiny):
    table = rows(tiny.html("about"))
    assert [row[0] for row in table] == ["Start", "Chapter of eq. 15", "Other"]
    for _, date, seconds, result in table:
        assert 0 <= (datetime.now(UTC) - when(date)).total_seconds() < 24 * 3600
        assert 0 < float(seconds) < 600
        assert result == "ran to its end"
    assert re.search(rf"All ran on: \S.*, \d+ cores, .*NumPy {np.__version__}", tiny.html("about"))
