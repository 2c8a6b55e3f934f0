"""A small table that reads well as text and as HTML, and how labels of claims look in it."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Sequence
from typing import Any

from lnbook.display import bundle
from lnlab import comparison

__all__ = ["Table", "badge", "day", "mark"]

#: From a label to its sign, so that color is never alone, and the class that colors it.
_SIGNS = {
    comparison.HOLDS: ("✓", "holds"),
    comparison.FAILS: ("✗", "fails"),
    comparison.SUPPORTED: ("✓", "holds"),
    comparison.CONTRADICTED: ("✗", "fails"),
    comparison.UNDECIDED: ("≈", "mixed"),
}
_COUNT = re.compile(r"\d+( to \d+)? of \d+ seeds?|all seeds in \d+ of \d+ measures")


def badge(label: comparison.Label) -> str:
    """Write a label as a badge has it: a count of seeds has no sign, for it is no verdict."""
    sign, _ = _SIGNS.get(label.text, ("", ""))
    return f"{sign} {label}".strip()


def mark(text: str) -> str:
    """Return the class that colors a badge; ``""`` for other text."""
    if _COUNT.fullmatch(text):
        return "count"
    if text.startswith(comparison.UNTESTABLE):
        return "late"
    return {f"{sign} {word}": kind for word, (sign, kind) in _SIGNS.items()}.get(text, "")


def heading(column: str) -> str:
    """Return a column's name as a heading: with a capital, unless it is a name of code.

    Example:
        >>> [heading(column) for column in ("no norm", "nn.LayerNorm")]
        ['No norm', 'nn.LayerNorm']
    """
    return column if re.match(r"\w+\.\w", column) else column[:1].upper() + column[1:]


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
            return re.sub(r"(?<=\d) (?=([mnµ]?s|h)(?!\w))", "\u00a0", html.escape(text))

        def colored(text):
            kind = mark(text)
            return f'<span class="verdict {kind}">{esc(text)}</span>' if kind else esc(text)

        def cell(row, k):  # on a phone a row is a list, and the column's name stands before
            inner = colored(row[k])
            if k + 1 in under and mark(row[k + 1]):
                inner += f"<br>{colored(row[k + 1])}"
            return f'<td data-column="{names[k].rstrip("?")}">{inner}</td>'

        # Labels, each right of what it judges, stand below it: columns would be too many.
        cells = [{row[k] for row in self.rows} for k in range(len(self.columns))]
        judged = [
            k
            for k in range(1, len(cells))
            if any(map(mark, cells[k])) and all(mark(text) or text == "–" for text in cells[k])
        ]
        follow = all(k > 1 and k - 1 not in judged for k in judged)
        under = judged if follow and len(judged) > 1 else []
        shown = [k for k in range(1, len(cells)) if k not in under]
        names = [esc(heading(column)) for column in self.columns]
        for k in under:
            names[k - 1] += f": {esc(self.columns[k])}" * names[k].endswith("?")
        head = "".join(f'<th scope="col">{names[k]}</th>' for k in [0, *shown])
        body = "".join(
            f'<tr><th scope="row">{esc(row[0])}</th>{"".join(cell(row, k) for k in shown)}</tr>'
            for row in self.rows
        )
        caption = "" if self.folded else f"<caption>{esc(self.caption)}</caption>"
        # It takes the focus, so that the arrow keys scroll it. Two tables of a page may have one
        # caption, and need names of their own.
        name = self.caption + "".join(f" First row: {row[0]}" for row in self.rows[:1])
        table = (
            f'<div class="ln-table" tabindex="0" role="region" aria-label="{esc(name)}">'
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


def day(date: str) -> str:
    """Return a date as the book writes it, ``27 November 2026`` for ``2026-11-27T12:00``."""
    written = datetime.date.fromisoformat(date[:10])
    return f"{written.day} {written:%B %Y}"
