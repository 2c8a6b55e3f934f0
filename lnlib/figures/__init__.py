"""Figures and tables: arrays and records in, plotly figures out. One file a chapter."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lnlib.explore import COLORS

#: How each norm looks in every figure of the book: label, color, dash. Never color alone.
NORMS = {
    "layer": ("layer norm", COLORS["blue"], "solid"),
    "batch": ("batch norm", COLORS["orange"], "dash"),
    "none": ("no norm", COLORS["gray"], "dot"),
    "weight": ("weight norm", COLORS["green"], "dashdot"),
}


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

    def _repr_html_(self) -> str:
        esc = html.escape
        head = "".join(f'<th scope="col">{esc(c)}</th>' for c in self.columns)
        body = "".join(
            f'<tr><th scope="row">{esc(row[0])}</th>'
            + "".join(f"<td>{_mark(c)}</td>" for c in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return (
            f'<div class="ln-table" tabindex="0" role="region" aria-label="{esc(self.caption)}">'
            f"<table><caption>{esc(self.caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )


#: Verdicts: the words, and a sign for each, so that color is never alone.
HOLDS, MIXED, FAILS = "✓ holds", "≈ mixed", "✗ does not hold"


def _mark(cell: str) -> str:
    kind = {HOLDS: "holds", MIXED: "mixed", FAILS: "fails"}.get(cell)
    text = html.escape(cell)
    return f'<span class="verdict {kind}">{text}</span>' if kind else text
