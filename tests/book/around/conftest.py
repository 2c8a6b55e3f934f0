"""Sources of the pages, and the table of executions."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.book.conftest import Book, pages

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


@pytest.fixture(scope="session")
def taught(tmp_path_factory, builder):
    """The source folder of a built book with two chapters, one of which is part of a plan."""
    book = Book(tmp_path_factory.mktemp("taught"), builder)
    link = "[the paper](https://arxiv.org/abs/1607.06450) and {cite:t}`Ba2016`."
    bibliography = "\n\n```{bibliography}\n```"
    book.add(
        "introduction",
        f"# Start: one bar\n\n{LEAD}{link}\n{SUMMARY}{bibliography}",
        EXPLORER,
        **FOLDED,
    )
    two = f"# Two bars\n\nAnother.\n\n(kept)={SUMMARY}{SOLUTION}"
    book.add("two", two, EXPLORER, QUIZ, **FOLDED)
    (book.folder / "book" / "teaching.md").write_text(PLAN)
    book.pages.append("teaching")
    done = book.build()
    assert done.returncode == 0, done.stdout
    (book.folder / "_toc.yml").write_text(TRACKS)
    return book.folder
