"""The sources of the pages, and the table of runs."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from tests.book.conftest import pages

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "book"
PAPER = (BOOK / "paper.md").read_text("utf-8")
CHAPTERS = [name for name in pages() if (BOOK / f"{name}.ipynb").exists()]


def sources():
    """Every page's Markdown, by name."""
    for path in sorted(BOOK.glob("*.md")):
        yield path.stem, path.read_text("utf-8")
    for path in sorted(BOOK.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield path.stem, "\n\n".join(texts)


def rows(html):
    """The table of runs: cells of each row, without markup."""
    table = re.search(r'<table class="[^"]*ln-last-run[^"]*">(.*?)</table>', html, re.S)[1]
    plain = re.sub(r"<(?!/?t[rd])[^>]*>", "", table)
    return [
        [cell.strip() for cell in re.findall(r"<td>(.*?)</td>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", plain, re.S)[1:]
    ]


def when(cell):
    return datetime.strptime(cell, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
