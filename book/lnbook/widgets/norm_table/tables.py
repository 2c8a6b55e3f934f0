"""The input and output tables as static HTML, as ``norm_table.js`` draws them."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable

import numpy as np

from lnbook.widgets.norm_table.reading import Reading
from lnbook.widgets.norm_table.state import TEST_TIME, State
from lnbook.widgets.norm_table.texts import figure, shown, width


class Tables:
    """The input and output tables of a state.

    Args:
        state: The reader's input.
        reading: The numbers and sentences for it.
        head: Returns the column heading of a feature, counted from 0.
    """

    def __init__(self, state: State, reading: Reading, head: Callable[[int], str]) -> None:
        self.state, self.reading = state, reading
        sets, F = state.sets(), state.shape[1]
        self.mine = sets == sets[state.cell]  # the normalization set of the selected cell
        self.peak = max([2.0, *np.abs(reading.y[np.isfinite(reading.y)])])
        self.wide = min(12, max(4.5, *(width(text) for row in state.x for text in row)))
        self.heads = "".join(f'<th scope="col">{html.escape(head(j))}</th>' for j in range(F))
        self.rms = state.norm == "RMS norm"
        # Statistics are shown next to a row or, on a phone or in groups, in lines below it.
        self.aside = state.norm in ("layer norm", "RMS norm")
        groups = {"group norm": state.groups, "instance norm": F}
        self.below = groups.get(state.norm, int(self.aside))
        stats = "root mean square" if self.rms else "mean and standard deviation"
        self.hidden = f'<span class="norm-table-sr">{stats}</span>'
        sign = "RMS" if self.rms else "μ<br>σ"
        self.signs = f'<span class="norm-table-sign" aria-hidden="true">{sign}</span>{self.hidden}'

    def html(self) -> str:
        """Return both tables."""
        side = f'<th scope="col">{self.hidden}</th>' * self.aside
        return self._table("x", "Input x", side, *self._input()) + self._table(
            "y", "Output y", "", *self._output()
        )

    def _table(self, kind: str, caption: str, side: str, body: list, foot: list) -> str:
        foot = f"<tfoot>{''.join(foot)}</tfoot>" if foot else ""
        style = f"--wide:{self.wide:.3g}ch"
        return (
            f'<div class="norm-table-scroll"><table class="norm-table-{kind}" style="{style}">'
            f"<caption>{caption}</caption><thead><tr><td></td>{self.heads}{side}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody>{foot}</table></div>"
        )

    def _input(self) -> tuple[list[str], list[str]]:
        """Return the rows of numbers with their statistics, and the rows below all of them."""
        F = self.state.shape[1]
        body, foot = [], []
        for i, texts in enumerate(self.state.x):
            cells = [
                f'<td class="{self._cell_classes(i, j)}">{html.escape(text)}</td>'
                for j, text in enumerate(texts)
            ]
            body.append(row(f"E{i + 1}", cells + [self._margin(i, 0)] * self.aside))
            if self.below:
                step = F // self.below
                of_row = [self._margin(i, j, step) for j in range(0, F, step)]
                body.append(row(self.signs, of_row, f"norm-table-stats{self._kind()}"))
        if self.state.norm in ("batch norm", TEST_TIME):
            of_columns = [self._margin(self.state.cell[0], j, 1) for j in range(F)]
            foot.append(row(self.signs, of_columns, "norm-table-stats"))
        return body, foot

    def _output(self) -> tuple[list[str], list[str]]:
        """Return the rows of outputs, and the rows of gain and bias."""
        B, F = self.state.shape
        kind = f'class="norm-table-gap{self._kind()}" aria-hidden="true"'
        gap = f'<tr {kind}><td colspan="{F + 1}"></td></tr>'
        body = []
        for i in range(B):
            body.append(row(f"E{i + 1}", (self._result(i, j) for j in range(F))))
            body += [gap] * bool(self.below and not self.aside)
        affine = {"gain": self.state.gain} | ({} if self.rms else {"bias": self.state.bias})
        return body, [
            row(which, (f"<td>{html.escape(text)}</td>" for text in texts), "norm-table-affine")
            for which, texts in affine.items()
        ]

    def _kind(self) -> str:
        """Return CSS classes for how the statistics of a row are arranged below it."""
        wide = self.below and self.state.shape[1] // self.below > 2
        return " norm-table-wide" * bool(wide) + " norm-table-narrow" * self.aside

    def _cell_classes(self, i: int, j: int, more: str = "") -> str:
        """Return CSS classes for the sides of a cell on which its normalization set ends."""
        B, F = self.state.shape
        names = [more]
        if self.mine[i, j]:
            names.append("set")
            sides = {"t": (i - 1, j), "r": (i, j + 1), "b": (i + 1, j), "l": (i, j - 1)}
            for side, (k, m) in sides.items():
                if not (0 <= k < B and 0 <= m < F and self.mine[k, m]):
                    names.append(side)
        if (i, j) == self.state.cell:
            names.append("chosen")
        return " ".join(filter(None, names))

    def _margin(self, i: int, j: int, span: int = 0) -> str:
        """Format statistics: next to a row (``span`` is 0), or below ``span`` columns."""
        css_class = "" if span else " norm-table-aside"
        here = " mine" * bool(self.mine[i, j])
        std = figure(self.reading.std[i, j], 3 if span == 1 else 4)  # a narrow column has no room
        lines = [("μ", "mean", figure(self.reading.mean[i, j])), ("σ", "standard deviation", std)]
        if self.rms:
            lines = [("RMS", "root mean square", std)]
        inner = "".join(
            f'<span><span aria-hidden="true">{sign}</span>'
            f'<span class="norm-table-sr">{word}</span> '
            f"<b>{text}</b></span>"
            for sign, word, text in lines
        )
        return f'<td class="norm-table-margin{css_class}{here}" colspan="{span or 1}">{inner}</td>'

    def _result(self, i: int, j: int) -> str:
        """Format one output: its number, or why there is none."""
        note, y = self.reading.note[i, j], self.reading.y[i, j]
        if note:
            return f'<td class="{self._cell_classes(i, j, "note")}">{note}</td>'
        tone = (
            f"--share:{100 * abs(y) / self.peak:.1f}%;--tone:var(--ln-{'low' if y < 0 else 'high'})"
        )
        return f'<td class="{self._cell_classes(i, j)}" style="{tone}">{shown(y)}</td>'


def row(head: str, cells: Iterable[str], kind: str = "") -> str:
    """Return a table row."""
    kind = f' class="{kind}"' if kind else ""
    return f'<tr{kind}><th scope="row">{head}</th>{"".join(cells)}</tr>'
