"""A table of numbers that is normalized as the reader edits it.

In a live notebook, :class:`NormTable` consists of ipywidgets (``live.py``), and
:mod:`lnlib.norms` computes the output. In the built book it is HTML, which ``norm_table.js`` turns
into a form. Typed numbers cannot be computed in advance, so the page has its own arithmetic: one
function of 30 lines, which the tests compare with :mod:`lnlib.norms`. The sentences and the rules
for numbers are the same in both.

================  ===========================================================================
``state.py``      the reader's input: texts, a norm, a selected cell
``compute.py``    the numbers for a state
``sentences.py``  the sentences about them, from the templates in ``words.py``
``reading.py``    numbers and sentences together
``tables.py``     input and output as HTML
``texts.py``      parsing of pasted tables, formatting of numbers
================  ===========================================================================
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lnbook.display import bundle
from lnbook.explorer.static_html import dumps, to_json_value
from lnbook.widgets.base import WidgetFiles
from lnbook.widgets.norm_table.live import LiveTable
from lnbook.widgets.norm_table.reading import Reading, read
from lnbook.widgets.norm_table.state import (
    EPS,
    EXAMPLES,
    FEATURES,
    NORMS,
    TEST_TIME,
    State,
    divisor,
)
from lnbook.widgets.norm_table.tables import Tables
from lnbook.widgets.norm_table.texts import aligned, exact, figure, shown
from lnbook.widgets.norm_table.words import MESSAGES, counted, upper

__all__ = ["WEB", "NormTable"]

SCRIPTS = ("../number_parsing.js", "compute.js", "texts.js", "sentences.js", "norm_table.js")
WEB = WidgetFiles(Path(__file__).parent, SCRIPTS)
_ids = itertools.count(1)


class NormTable:
    """A table of numbers that the reader can edit, next to its normalized form.

    Args:
        values: The initial numbers, shape ``(B, F)``, at most 16 examples by 8 features.
        title: The title of the card.
        running: Running ``(mean, var)`` from training, each of shape ``(F,)``. ``None``: batch norm
            at inference is not offered.
        start: The norm selected at first.
        groups: Initial number of groups of group norm, rounded down to a divisor of the number of
            features.
        columns: A short name for each feature. ``None``: the features are numbered.
        alt: A description for readers who do not see the table.

    Raises:
        ValueError: If ``values`` has the wrong shape or contains NaN or infinity, if ``running`` or
            ``columns`` do not fit it, or if there is no such norm.

    Example:
        >>> NormTable([[1.0, 2.0, 3.0], [20.0, 10.0, 30.0]], title="Two by three")
        Two by three (2 examples × 3 features)
          Norm: layer norm | batch norm | RMS norm | group norm | instance norm | none
            (start: layer norm)
          eps: 0 | 1e-5 | 1e-3 | 1e-1 (start: 1e-5)
        input x   F1  F2  F3  mean μ   std σ
        E1         1   2   3       2  0.8165
        E2        20  10  30      20   8.165
        output y      F1      F2     F3
        E1        −1.225   0.000  1.225
        E2         0.000  −1.225  1.225
        Example 2, feature 3 shares its mean 20 with the 2 other features of example 2; 2 means in
        total.
    """

    def __init__(
        self,
        values: Any,
        *,
        title: str,
        running: tuple[Any, Any] | None = None,
        start: str = "layer norm",
        groups: int = 2,
        columns: Sequence[str] | None = None,
        alt: str | None = None,
    ):
        values = _floats("values", values)
        if values.ndim != 2 or not (
            1 <= values.shape[0] <= EXAMPLES and 1 <= values.shape[1] <= FEATURES
        ):
            raise ValueError(
                f"NormTable: values must be of shape (examples, features), 1 to {EXAMPLES} by 1 to "
                f"{FEATURES}, got {values.shape}; values[None] makes a table of one example."
            )
        B, F = values.shape
        if running is not None:
            if not isinstance(running, tuple | list) or len(running) != 2:
                raise ValueError("NormTable: running must be a pair (mean, var), or None.")
            running = tuple(_floats("running", r) for r in running)
            for name, r in zip(("mean", "var"), running, strict=True):
                if r.shape != (F,):
                    raise ValueError(
                        f"NormTable: running {name} must be of shape ({F},), one number for each "
                        f"feature, got {r.shape}."
                    )
            if not (running[1] > 0).all():
                raise ValueError(f"NormTable: running var must be positive, got {running[1]}.")
        self.norms = tuple(n for n in NORMS if n != TEST_TIME or running)
        if start not in self.norms:
            needs = "; it needs running=(mean, var)" if start == TEST_TIME else ""
            raise ValueError(f"NormTable: start must be one of {self.norms}, got {start!r}{needs}.")
        if groups < 1:
            raise ValueError(f"NormTable: groups must be 1 or more, got {groups}.")
        if columns is not None and len(columns) != F:
            raise ValueError(f"NormTable: columns must be {F} names, got {len(columns)}.")
        self.title, self.alt, self.running = title, alt, running
        self.columns = list(columns or [])
        self.start = State(
            x=tuple(tuple(map(exact, row)) for row in values),
            gain=("1",) * F,
            bias=("0",) * F,
            norm=start,
            groups=divisor(groups, F),
            eps=1e-5,
            cell=(min(B, 2) - 1, min(F, 3) - 1),
        )

    def feature(self, j: int) -> str:
        """Return the name of a feature, counted from 0, for use in a sentence."""
        return self.columns[j] if j < len(self.columns) else f"feature {j + 1}"

    def head(self, j: int) -> str:
        """Return the heading of a feature's column."""
        return self.columns[j] if j < len(self.columns) else f"F{j + 1}"

    def read(self, state: State) -> Reading:
        """Compute a state with :mod:`lnlib.norms` and describe it.

        Args:
            state: The reader's input.

        Returns:
            Numbers and sentences.
        """
        return read(state, self.feature, self.running)

    def to_html(self) -> str:
        """Return the initial state as HTML tables, with the data that ``norm_table.js`` needs."""
        uid = f"sheet-{next(_ids)}"  # part of saved links
        esc, start = html.escape, self.start
        reading = self.read(start)
        data = {
            "x": start.x,
            "norm": start.norm,
            "groups": start.groups,
            "running": self.running and dict(zip(("mean", "var"), self.running, strict=True)),
            "columns": self.columns,
            "words": MESSAGES,
        }
        packed = dumps(to_json_value(data, 17)).replace("</", "<\\/")

        def select(name, label, options, chosen):
            options = "".join(
                f'<option value="{esc(v)}"{" selected" if v == chosen else ""}>{esc(v)}</option>'
                for v in options
            )
            return (
                f'<div class="norm-table-choice norm-table-{name}"'
                f"{' hidden' * (name == 'groups' and start.norm != 'group norm')}>"
                f'<label for="{uid}-{name}">{label}</label>'
                f'<select id="{uid}-{name}" autocomplete="off">{options}</select></div>'
            )

        def stepper(name, many):
            return (
                f'<div class="norm-table-step" role="group" aria-label="{name}s">'
                f"<span>{upper(name)}s</span>"
                f'<button type="button" data-do="less {name}" aria-label="Remove the last {name}">'
                f'−</button><output aria-live="off">{many}</output>'
                f'<button type="button" data-do="more {name}" aria-label="Add one {name}">+'
                "</button></div>"
            )

        divisors = [str(g) for g in range(1, start.shape[1] + 1) if start.shape[1] % g == 0]
        return (
            f'<div class="ln-norm-table" id="{uid}" role="group" aria-labelledby="{uid}-title"'
            + (f' aria-describedby="{uid}-alt"' if self.alt else "")
            + f'><p class="norm-table-title" id="{uid}-title">{esc(self.title)}</p>'
            + (f'<p class="norm-table-sr" id="{uid}-alt">{esc(self.alt)}</p>' if self.alt else "")
            + '<div class="norm-table-controls">'
            + select("norm", "Norm", self.norms, start.norm)
            + select("groups", "Groups", divisors, str(start.groups))
            + select("eps", "eps", EPS, "1e-5")
            + stepper("example", start.shape[0])
            + stepper("feature", start.shape[1])
            + '<div class="norm-table-buttons">'
            '<button type="button" data-do="new">New numbers</button>'
            '<button type="button" data-do="start">Start values</button></div></div>'
            f'<div class="norm-table-tables">{Tables(start, reading, self.head).html()}</div>'
            f'<p class="norm-table-about">{esc(MESSAGES["about"][start.norm])}</p>'
            '<div class="norm-table-said" role="status" aria-live="polite" aria-atomic="false">'
            f'<p class="norm-table-text">{esc(reading.text)}</p>'
            f'<p class="norm-table-warning" id="{uid}-warning"{" hidden" * (not reading.warning)}>'
            f"{esc(reading.warning)}</p>"
            '<p class="norm-table-note" hidden></p></div>'
            f'<p class="norm-table-work">{esc(reading.work)}</p>'
            '<details class="norm-table-paste"><summary>Paste a table of your own</summary>'
            f'<label for="{uid}-paste">One line per example, with tabs, commas, semicolons, or '
            "spaces between the numbers. Printed NumPy arrays work, too. (You can also paste "
            "several numbers at once into a cell of the table.)</label>"
            f'<textarea id="{uid}-paste" rows="4" spellcheck="false" autocomplete="off"></textarea>'
            '<button type="button" data-do="paste">Use these numbers</button></details>'
            '<noscript><p class="norm-table-about">With JavaScript (but no internet connection), '
            "you can type over every number of the tables.</p></noscript>"
            f'<script type="application/json" class="norm-table-data">{packed}</script></div>'
        )

    def widget(self) -> Any:
        """Build the live widget: text fields, menus, tables and sentences."""
        return LiveTable(self).box()

    def __repr__(self) -> str:
        """Return the initial state as aligned text."""
        state, (B, F) = self.start, self.start.shape
        reading = self.read(state)
        rms, name = state.norm == "RMS norm", state.norm
        head = [self.head(j) for j in range(F)]
        rows = [[f"E{i + 1}", *map(_minus, state.x[i])] for i in range(B)]
        top = ["input x", *head]
        if name in ("layer norm", "RMS norm"):
            top += ["root mean square"] if rms else ["mean μ", "std σ"]
            for i, row in enumerate(rows):
                row += [figure(reading.mean[i, 0])] * (not rms) + [figure(reading.std[i, 0])]
        elif name in ("batch norm", TEST_TIME):
            rows.append(["mean μ", *map(figure, reading.mean[0])])
            rows.append(["std σ", *map(figure, reading.std[0])])
        outputs = [
            [
                f"E{i + 1}",
                *(n or shown(y) for n, y in zip(reading.note[i], reading.y[i], strict=True)),
            ]
            for i in range(B)
        ]
        lines = [
            f"{self.title} ({counted(['1 example', '{n} examples'], B)} × "
            f"{counted(['1 feature', '{n} features'], F)})",
            f"  Norm: {' | '.join(self.norms)}",
            f"    (start: {name})",
            f"  eps: {' | '.join(EPS)} (start: 1e-5)",
            *aligned([top, *rows], [["output y", *head], *outputs]),
            " ".join(filter(None, [reading.text, reading.warning])),
        ]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


def _floats(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"NormTable: {name} must be numbers in rows of equal length; {error}."
        ) from None
    if not np.isfinite(array).all():
        raise ValueError(f"NormTable: {name} must not contain NaN or infinity.")
    return array


def _minus(text: str) -> str:
    return text.replace("-", "−")
