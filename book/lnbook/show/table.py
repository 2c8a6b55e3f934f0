"""A small table that reads well as text and as HTML, and the words of its verdicts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from lnbook.show.display import bundle

__all__ = ["FAILS", "HOLDS", "MARKS", "OPEN", "Table"]

#: Verdicts: the words, and a sign for each, so that color is never alone.
HOLDS, FAILS = "✓ holds", "✗ does not hold"
OPEN = "≈ undecided"  # lnlib.compare.verdict says when
MARKS = {HOLDS: "holds", OPEN: "mixed", FAILS: "fails"}


class Table:
    """A small table that reads well as text and as HTML.

    Args:
        columns: Headings.
        rows: Cells, as text; the first of a row is its heading.
        caption: What the table shows, in one sentence.

    Raises:
        ValueError: If a row is not as long as ``columns``.

    Example:
        >>> Table(["norm", "means"], [["batch", "6"], ["layer", "4"]], "Means of a (4, 6) table.")
        Means of a (4, 6) table.
        norm   means
        batch  6
        layer  4
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str):
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"Table: a row must have {len(columns)} cells, got {list(row)}")
        self.columns, self.rows, self.caption = list(columns), [list(r) for r in rows], caption

    def __repr__(self) -> str:
        """Return aligned text."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = [
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, *text])

    def to_html(self) -> str:
        """Write the table as HTML that scrolls inside itself."""
        esc = html.escape

        def cell(column, text):  # on a phone a row is a list, and the column's name stands before
            mark = MARKS.get(text)
            inner = f'<span class="verdict {mark}">{esc(text)}</span>' if mark else esc(text)
            return f'<td data-column="{esc(column)}">{inner}</td>'

        head = "".join(f'<th scope="col">{esc(column)}</th>' for column in self.columns)
        body = "".join(
            f'<tr><th scope="row">{esc(first)}</th>{"".join(map(cell, self.columns[1:], rest))}'
            "</tr>"
            for first, *rest in self.rows
        )
        # It takes the focus, so that the arrow keys scroll it.
        return (
            f'<div class="ln-table" tabindex="0" role="region" aria-label="{esc(self.caption)}">'
            f"<table><caption>{esc(self.caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )

    def widget(self) -> Any:
        """Build the live widget: the same HTML."""
        import ipywidgets

        return ipywidgets.HTML(self.to_html())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)
