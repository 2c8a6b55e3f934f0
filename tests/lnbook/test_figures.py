"""A chapter's figures in several files: ``figures`` brings together what its notebook names."""

import importlib
import re
from pathlib import Path

import nbformat
import pytest

import lnbook

BOOK = Path(lnbook.__file__).parent.parent
PARTED = [
    path.parent.name
    for path in sorted(BOOK.glob("lnbook/chapters/*/figures.py"))
    if "__all__" in path.read_text("utf-8")
]


assert PARTED


@pytest.mark.parametrize("chapter", PARTED)
def test_figures_brings_what_the_notebook_names_and_nothing_more(chapter):
    cells = nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    named = set(re.findall(r"(?<!lnbook\.)\bfigures\.(\w+)", source))
    assert set(importlib.import_module(f"lnbook.chapters.{chapter}.figures").__all__) == named
