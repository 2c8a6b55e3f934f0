"""A small table for text and HTML, and the style of claim labels in it."""

import datetime
import html
import re
from collections.abc import Sequence
from typing import Any

from lnbook.display import Displayed
from lnlab import comparison

#: Maps a label to its symbol, so that color is never the only cue, and to its CSS class.
_SIGNS = {
    comparison.HOLDS: ("✓", "holds"),
    comparison.FAILS: ("✗", "fails"),
    comparison.SUPPORTED: ("✓", "holds"),
    comparison.CONTRADICTED: ("✗", "fails"),
    comparison.UNDECIDED: ("≈", "mixed"),
}
_COUNT = re.compile(r"\d+( to \d+)? of \d+ seeds?|all seeds in \d+ of \d+ measures")


def badge(label: comparison.Label) -> str:
    """Format a label for a table: a count of seeds has no symbol, because it is not a verdict."""
    sign, _ = _SIGNS.get(label.text, ("", ""))
    return f"{sign} {label}".strip()


def mark(text: str) -> str:
    """Return the CSS class of a label, or ``""`` for other text."""
    if _COUNT.fullmatch(text):
        return "count"
    if text.startswith(comparison.UNTESTABLE):
        return "late"
    return {f"{sign} {word}": kind for word, (sign, kind) in _SIGNS.items()}.get(text, "")


def heading(column: str) -> str:
    """Capitalize a column's name for the heading, unless it is an identifier.

    Example:
        >>> [heading(column) for column in ("no norm", "nn.LayerNorm")]
        ['No norm', 'nn.LayerNorm']
    """
    return column if re.match(r"\w+\.\w", column) else column[:1].upper() + column[1:]


class Table(Displayed):
    """A small table for text and HTML.

    Args:
        columns: The headings.
        rows: Cells, as text; the first cell of a row is its heading.
        caption: What the table shows, in one sentence.
        folded: Whether to show only the caption until a reader unfolds the table, for details.

    Raises:
        ValueError: If the length of a row differs from that of ``columns``.

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
        """Return the table as HTML that scrolls horizontally if it is too wide."""

        def esc(text):  # no line break between a number and its unit
            return re.sub(r"(?<=\d) (?=([mnµ]?s|h)(?!\w))", "\u00a0", html.escape(text))

        def colored(text):
            kind = mark(text)
            return f'<span class="verdict {kind}">{esc(text)}</span>' if kind else esc(text)

        def cell(row, k):  # on a phone, a row is a list and each cell shows its column's name
            inner = colored(row[k])
            if k + 1 in under and mark(row[k + 1]):
                inner += f"<br>{colored(row[k + 1])}"
            return f'<td data-column="{names[k].rstrip("?")}">{inner}</td>'

        # Each label follows the cell it belongs to, in one cell: separate columns would be too
        # many.
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
        # The element can be focused, so that the arrow keys scroll it. Two tables of a page may
        # have the same caption but need different labels.
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
        """Build the live widget, which shows the same HTML."""
        import ipywidgets

        return ipywidgets.HTML(self.to_html())


def day(date: str) -> str:
    """Format a date as the book does: ``27 November 2026`` for ``2026-11-27T12:00``."""
    written = datetime.date.fromisoformat(date[:10])
    return f"{written.day} {written:%B %Y}"
