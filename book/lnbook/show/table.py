"""A small table that reads well as text and as HTML, and the words of its verdicts."""

from __future__ import annotations

import html
import re
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
        folded: Show the caption alone until a reader opens it: for what only some look up.

    Raises:
        ValueError: If a row is not as long as ``columns``.

    Example:
        >>> Table(["norm", "means"], [["batch", "6"], ["layer", "4"]], "Means of a (4, 6) table.")
        Means of a (4, 6) table.
        norm   means
        batch  6
        layer  4
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        caption: str,
        *,
        folded: bool = False,
    ):
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"Table: a row must have {len(columns)} cells, got {list(row)}")
        self.columns, self.rows, self.caption = list(columns), [list(r) for r in rows], caption
        self.folded = folded

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

        def esc(text):  # a number and its unit stay on one line
            return re.sub(r"(?<=\d) (?=(%|[mnµ]?s|h)(?!\w))", "\u00a0", html.escape(text))

        def badge(text):
            mark = MARKS.get(text)
            return f'<span class="verdict {mark}">{esc(text)}</span>' if mark else esc(text)

        def cell(row, k):  # on a phone a row is a list, and the column's name stands before
            inner = badge(row[k])
            if k + 1 in under and row[k + 1] in MARKS:
                inner += f"<br>{badge(row[k + 1])}"
            return f'<td data-column="{names[k].rstrip("?")}">{inner}</td>'

        # Verdicts, each right of what it judges, stand below it: columns would be too many.
        cells = [{row[k] for row in self.rows} for k in range(len(self.columns))]
        judged = [
            k for k in range(1, len(cells)) if cells[k] & {*MARKS} and cells[k] <= {*MARKS, "–"}
        ]
        follow = all(k > 1 and k - 1 not in judged for k in judged)
        under = judged if follow and len(judged) > 1 else []
        shown = [k for k in range(1, len(cells)) if k not in under]
        names = [esc(column) for column in self.columns]
        for k in under:
            names[k - 1] += f": {names[k]}" * names[k].endswith("?")
        head = "".join(f'<th scope="col">{names[k]}</th>' for k in [0, *shown])
        body = "".join(
            f'<tr><th scope="row">{esc(row[0])}</th>{"".join(cell(row, k) for k in shown)}</tr>'
            for row in self.rows
        )
        caption = "" if self.folded else f"<caption>{esc(self.caption)}</caption>"
        # It takes the focus, so that the arrow keys scroll it.
        table = (
            f'<div class="ln-table" tabindex="0" role="region" aria-label="{esc(self.caption)}">'
            f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )
        if not self.folded:
            return table
        head = f"The table, {len(self.rows)} rows: {esc(self.caption)}"
        return f'<details class="ln-aside ln-folded"><summary>{head}</summary>{table}</details>'

    def widget(self) -> Any:
        """Build the live widget: the same HTML."""
        import ipywidgets

        return ipywidgets.HTML(self.to_html())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)
