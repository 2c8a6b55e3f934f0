"""The norm table in a live notebook: text fields, menus, tables and sentences."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lnbook.display import explained, wrapped
from lnbook.figures import colors
from lnbook.widgets.base import box
from lnbook.widgets.norm_table.state import EPS, EXAMPLES, FEATURES, State, divisor
from lnbook.widgets.norm_table.tables import Tables
from lnbook.widgets.norm_table.texts import block, exact
from lnbook.widgets.norm_table.words import MESSAGES

STYLE = (
    f"<style>{colors.css()}"
    + """
.ln-norm-table-live table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.ln-norm-table-live .norm-table-scroll { display: inline-block; max-width: 100%; overflow-x: auto;
  margin-right: 2rem; vertical-align: top; }
.ln-norm-table-live caption { text-align: left; font-weight: 600; }
.ln-norm-table-live :is(td, th) { height: 2.6em; min-width: 3.4em; padding: 0 0.4em;
  text-align: right; line-height: 1.2;
  box-shadow: inset var(--l, 0px) var(--t, 0px) var(--norm),
    inset var(--r, 0px) var(--b, 0px) var(--norm);
  background: color-mix(in srgb, var(--tone, transparent) var(--share, 0%), transparent); }
.ln-norm-table-live .set { font-weight: 600; }
.ln-norm-table-live .chosen { text-decoration: underline; }
.ln-norm-table-live .t { --t: 2px; } .ln-norm-table-live .l { --l: 2px; }
.ln-norm-table-live .b { --b: -2px; } .ln-norm-table-live .r { --r: -2px; }
.ln-norm-table-live .norm-table-margin > span { display: block; white-space: nowrap; }
.ln-norm-table-live :is(.norm-table-narrow, .norm-table-sign) { display: none; }
.ln-norm-table-live .norm-table-margin b { font-weight: 400; }
.ln-norm-table-live .norm-table-margin.mine b { font-weight: 700; }
.ln-norm-table-live .norm-table-sr { position: absolute; clip-path: inset(50%); width: 1px;
  height: 1px; overflow: hidden; white-space: nowrap; }
</style>"""
)


def draw(rng: np.random.Generator, B: int, F: int) -> list[list[str]]:
    """Draw numbers of at most 5 characters; each example has its own level and spread."""
    level, spread = rng.uniform(-10, 40, (B, 1)), rng.uniform(0.5, 8, (B, 1))
    x = np.clip(level + spread * rng.standard_normal((B, F)), -99, 99)
    return [[exact(round(v, 1 if v < -9.9 else 2)) for v in row] for row in x]


class LiveTable:
    """The norm table in a live notebook; every change triggers a new computation.

    Args:
        norm_table: The :class:`lnbook.widgets.norm_table.NormTable` to display.
    """

    def __init__(self, norm_table: Any) -> None:
        import ipywidgets as widgets

        self.norm_table, self.rng = norm_table, np.random.default_rng(1)
        # A text for each cell that can exist; a field for each cell that has been shown.
        self.texts = {("x", i, j): "" for i in range(EXAMPLES) for j in range(FEATURES)}
        self.fields: dict[tuple, Any] = {}
        self.changing = 0  # positive while many fields change at once
        start = norm_table.start
        self.norm = _dropdown("Norm", norm_table.norms, start.norm)
        self.groups = _dropdown("Groups", [start.groups], start.groups)
        self.eps = _dropdown("eps", EPS, start.eps)
        self.examples = _whole("Examples", start.shape[0], EXAMPLES)
        self.features = _whole("Features", start.shape[1], FEATURES)
        self.example = _whole("Chosen example", start.cell[0] + 1, EXAMPLES)
        self.feature = _whole("Chosen feature", start.cell[1] + 1, FEATURES)
        self.grid, self.result, self.note = widgets.GridBox(), widgets.HTML(), widgets.HTML()
        self.pasted = widgets.Textarea(
            placeholder="Paste a table: a line for each example",
            layout=widgets.Layout(width="100%"),
        )
        self.begin()
        for control in (self.norm, self.groups, self.eps, self.example, self.feature):
            control.observe(lambda _: self.update(), "value")
        for control in (self.examples, self.features):
            control.observe(lambda _: self.lay_out(), "value")

    def box(self) -> Any:
        """Return a box with all parts, from top to bottom."""
        import ipywidgets as widgets

        new, back, use = (
            widgets.Button(description=name)
            for name in ("New numbers", "Start values", "Use these numbers")
        )
        for button, action in ((new, self.renew), (back, self.begin), (use, self.paste)):
            button.on_click(lambda _, action=action: action())
        choices = [self.norm, self.groups, self.eps, self.examples, self.features]
        return box(
            [
                widgets.HTML(f"<b>{html.escape(self.norm_table.title)}</b>"),
                widgets.HBox(choices, layout=wrapped()),
                widgets.HBox([new, back], layout=wrapped()),
                self.grid,
                widgets.HBox([self.example, self.feature], layout=wrapped()),
                self.result,
                self.pasted,
                use,
                self.note,
            ]
        )

    # The reader's input and the result.

    def state(self) -> State:
        """Return the reader's input."""
        B, F = self.examples.value, self.features.value
        return State(
            x=tuple(tuple(self.texts["x", i, j] for j in range(F)) for i in range(B)),
            gain=tuple(self.texts["gain", 0, j] for j in range(F)),
            bias=tuple(self.texts["bias", 0, j] for j in range(F)),
            norm=self.norm.value,
            groups=self.groups.value,
            eps=self.eps.value,
            cell=(self.example.value - 1, self.feature.value - 1),
        )

    def update(self) -> None:
        """Show the result for the current state, or an error message in place of the tables."""
        if self.changing:
            return
        try:
            self.groups.layout.display = "" if self.norm.value == "group norm" else "none"
            self.result.value = self.shown(self.state())
        except Exception as error:
            text = f"This could not be computed ({explained(error)}). Type another number."
            self.result.value = f'<p role="status">{html.escape(text)}</p>'

    def shown(self, state: State) -> str:
        """Return tables and sentences as HTML."""
        reading, esc = self.norm_table.read(state), html.escape
        norm_name = state.norm.split()[0].lower()
        warning = f"<p>⚠ {esc(reading.warning)}</p>" if reading.warning else ""
        return (
            f'{STYLE}<div class="ln-norm-table-live" style="--norm: var(--ln-{norm_name})">'
            f"{Tables(state, reading, self.norm_table.head).html()}"
            f"<p>{esc(MESSAGES['about'][state.norm])}</p>"
            f'<div role="status" aria-live="polite"><p>{esc(reading.text)}</p>{warning}</div>'
            f"<p>{esc(reading.work)}</p></div>"
        )

    # Actions of the reader.

    def typed(self, key: tuple, text: str) -> None:
        """Store the text typed into a field and select its cell."""
        self.texts[key] = text
        if self.changing:
            return
        self.note.value = ""
        which, i, j = key
        if which == "x":
            self.changing += 1
            self.example.value, self.feature.value = i + 1, j + 1
            self.changing -= 1
        self.update()

    def begin(self) -> None:
        """Restore the initial state; the cells that can still be added get numbers, too."""
        self.note.value = ""
        more = _numbered(draw(np.random.default_rng(0), EXAMPLES, FEATURES))
        affine = {(w, 0, j): t for w, t in (("gain", "1"), ("bias", "0")) for j in range(FEATURES)}
        start = self.norm_table.start
        self.put(more | _numbered(start.x) | affine, *start.shape)

    def renew(self) -> None:
        """Draw new numbers."""
        self.note.value = ""
        shape = self.examples.value, self.features.value
        self.put(_numbered(draw(self.rng, *shape)), *shape)

    def paste(self) -> None:
        """Insert the pasted table, as far as there is room."""
        rows, separator = block(self.pasted.value)
        if not rows:
            self.note.value = MESSAGES["nothing"]
            return
        width = max(map(len, rows))
        B, F = min(len(rows), EXAMPLES), min(width, FEATURES)
        padded = [[*row, *[""] * F][:F] for row in rows[:B]]
        text = MESSAGES["pasted"].format(rows=B, columns=F, separator=separator)
        if (len(rows), width) != (B, F):
            text += " " + MESSAGES["left out"]
        self.put(_numbered(padded), B, F)
        self.note.value = f'<p role="status">{html.escape(text)}</p>'

    def put(self, texts: Mapping[tuple, str], B: int, F: int) -> None:
        """Change many texts and the size of the table at once."""
        self.changing += 1
        self.texts.update(texts)
        for key, text in texts.items():
            if key in self.fields:
                self.fields[key].value = text
        self.examples.value, self.features.value = B, F
        self.changing -= 1
        self.lay_out()

    # The text fields.

    def lay_out(self) -> None:
        """Arrange the fields for the current number of examples and features."""
        import ipywidgets as widgets

        if self.changing:
            return
        self.changing += 1
        B, F = self.examples.value, self.features.value
        self.example.max, self.feature.max = B, F
        num_groups = self.groups.value
        self.groups.options = [g for g in range(1, F + 1) if F % g == 0]
        self.groups.value = divisor(num_groups, F)
        cells = [widgets.Label(), *(widgets.Label(self.norm_table.head(j)) for j in range(F))]
        lines = [("x", i, f"E{i + 1}") for i in range(B)]
        for which, i, head in [*lines, ("gain", 0, "gain"), ("bias", 0, "bias")]:
            cells += [widgets.Label(head), *(self.field((which, i, j)) for j in range(F))]
        self.grid.children = cells
        self.grid.layout = widgets.Layout(
            grid_template_columns=f"3rem repeat({F}, 5.2rem)", overflow="auto", max_width="100%"
        )
        self.changing -= 1
        self.update()

    def field(self, key: tuple) -> Any:
        """Return the field of a cell, creating it when it is first needed."""
        import ipywidgets as widgets

        if key not in self.fields:
            which, i, j = key
            self.fields[key] = widgets.Text(
                value=self.texts[key],
                tooltip=MESSAGES["cell"][which].format(i=i + 1, feature=self.norm_table.feature(j)),
                layout=widgets.Layout(width="5rem", margin="1px"),
            )
            self.fields[key].observe(lambda change: self.typed(key, change["new"]), "value")
        return self.fields[key]


def _numbered(rows: Iterable[Iterable[str]]) -> dict[tuple, str]:
    return {("x", i, j): text for i, row in enumerate(rows) for j, text in enumerate(row)}


def _widget_options() -> dict[str, Any]:
    import ipywidgets as widgets

    return {
        "style": {"description_width": "initial"},
        "layout": widgets.Layout(width="min(100%, 20rem)"),
    }


def _dropdown(label: str, options: Any, value: Any) -> Any:
    import ipywidgets as widgets

    return widgets.Dropdown(description=label, options=options, value=value, **_widget_options())


def _whole(label: str, value: int, most: int) -> Any:
    import ipywidgets as widgets

    return widgets.IntSlider(description=label, value=value, min=1, max=most, **_widget_options())
