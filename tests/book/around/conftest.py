"""Sources of the pages, the table of executions, and a small book."""

import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.book.conftest import Book, pages
from tools.notebooks import CELL, setup_cell

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "book"
PAPER = (BOOK / "equations.md").read_text("utf-8")
CHAPTERS = [name for name in pages() if (BOOK / f"{name}.ipynb").exists()]


def sources():
    """The Markdown of every page, by name."""
    for path in sorted(BOOK.glob("*.md")):
        yield path.stem, path.read_text("utf-8")
    for path in sorted(BOOK.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield path.stem, "\n\n".join(texts)


def rows(html):
    """The cells of each row of the table of executions, as text."""
    table = re.search(r'<table class="[^"]*ln-last-run[^"]*">(.*?)</table>', html, re.S)[1]
    plain = re.sub(r"<(?!/?t[rd])[^>]*>", "", table)
    return [
        [cell.strip() for cell in re.findall(r"<td>(.*?)</td>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", plain, re.S)[1:]
    ]


def when(cell):
    return datetime.strptime(cell, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


EXPLORER = """import plotly.graph_objects as go
from lnbook.show import Explorer, Quiz, choose, slider

Explorer(
    lambda n: go.Figure(go.Bar(y=[n, 2])),
    {"n": slider("Height", [1, 2, 3], start=1)},
    title="Bars",
    describe=lambda n: f"The first bar is {n} high.",
    alt="Two bars.",
)"""
QUIZ = """Quiz(
    choose("Is 2 even?", {"Yes": "Twice 1.", "No": "You *counted* to 3."}, answer="Yes"),
)"""
PLAN = """# Teach

:::::{plan} lecture 5

::::{block} Raise the bar
:minutes: 5
:page: introduction
:open: three high <introduction#explorer-1&n=3>

```{ask} two 1
:says: even
```
```{board} rows
```

**Move** the slider down; [the other page](two.ipynb) has $x^2$.
::::
:::::
"""
LEAD = (
    "The first is short. The second ends at eight words. The third is not there."
    "\n\nSee [its summary](#kept), "
)
FOLDED = {"metadata": {"tags": ["hide-input"]}}
SUMMARY = (
    "\n## Summary\n\n- Keep $x$ in mind, whatever else you may read. Forget the rest.\n- More."
)
SOLUTION = """

````{exercise-start} One
:label: one
````

Say one.

````{exercise-end}
````

````{solution-start} one
:label: one-solution
:class: dropdown
````

It is **one**.

````{solution-end}
````
"""
TRACKS = """format: jb-book
root: introduction
parts:
  - caption: Use it
    chapters:
      - file: two
  - caption: Look it up
    chapters:
      - file: teach
"""


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
ANCHORS = ("eq-3", "eq-15", "eq-16", "section-2", "section-6-6", "figure-6", "table-1")
ABOUT = (
    "# About\n\n```{last-run}\n```\n\n```{notebooks}\n```\n\n```{home}\n```\n\n```{versions}\n```"
)
REMOTE = "https://someone:hush-hush@github.com/some-one/their.book.git"


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A built book in a clone of a fictitious repository.

    It has two chapters, one of which is part of a plan, a chapter with a setup cell and references
    to the paper, and pages of the paper, about the book and for teachers.
    """
    book = Book(tmp_path_factory.mktemp("small"))
    link = "[the paper](https://arxiv.org/abs/1607.06450) and {cite:t}`Ba2016`."
    bibliography = "\n\n```{bibliography}\n```"
    start = f"# Start: one bar\n\n{LEAD}{link}\n{SUMMARY}{bibliography}"
    book.add("introduction", start, EXPLORER, **FOLDED)
    two = f"# Two bars\n\nAnother.\n\n(kept)={SUMMARY}{SOLUTION}"
    book.add("two", two, EXPLORER, QUIZ, **FOLDED)
    book.add("chapter", CHAPTER, setup_cell({}), "print('eq. 15')")
    chapter = book.folder / "book" / "chapter.ipynb"
    chapter.write_text(chapter.read_text("utf-8").replace('"cell-1"', f'"{CELL}"', 1), "utf-8")
    for name, text in {
        "equations": "# Paper\n\n" + "".join(f"(paper-{a})=\nPlace {a}.\n\n" for a in ANCHORS),
        "about": ABOUT,
        "teaching": PLAN,
    }.items():
        (book.folder / "book" / f"{name}.md").write_text(text)
        book.pages.append(name)
    for words in (["init"], ["remote", "add", "origin", REMOTE]):
        subprocess.run(["git", *words], cwd=book.folder, check=True, capture_output=True)
    done = book.build()
    assert done.returncode == 0, done.stdout
    return book


@pytest.fixture(scope="session")
def taught(small):
    """The folder of the small book, whose tracks have its first two chapters."""
    (small.folder / "_toc.yml").write_text(TRACKS)
    return small.folder
