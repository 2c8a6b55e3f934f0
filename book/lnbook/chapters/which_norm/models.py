"""Norms of well-known models, each with its sources and the day on which they were read.

``models.json`` contains, for each model, the text of the table (``short``), a longer version, what
could not be verified, and the lines of code or of the paper that support it.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnbook.display import Displayed
from lnbook.figures.css_filter import Group, attributes, card, live, shown
from lnbook.figures.table import day

SOURCE = Path(__file__).with_suffix(".json")
#: Maps a field to the heading of its column.
COLUMNS = {
    "norm": "norm",
    "place": "place",
    "eps": "eps",
    "gain": "gain",
    "bias": "bias",
    "qk_norm": "QK norm",
    "final_norm": "final norm",
}
#: Text before a value on a phone, where the columns have no headings.
NAMED = ("gain", "bias", "qk_norm", "final_norm")
TITLE = "What well-known models use"
#: The page of the book with the sources.
PAGE = "model_sources"


@dataclass(frozen=True)
class Model:
    """A line of the table.

    Args:
        model: Its name.
        year: The year of the first publication.
        data: ``"language"``, ``"text"`` (encoders, translation), ``"images"`` (and video),
            ``"speech"``, ``"proteins"``, or several of them with blanks between.
        asked: Whether it is among the models shown first.
        short: Maps a column of :data:`COLUMNS` to a word or two; ``"?"`` if nothing was verified.
        full: Longer versions of ``short``.
        note: Further remarks.
        not_verified: What was not published, is inferred, or is known from secondary sources.
        second_hand: Whether all of it is from secondary sources.
        read: The day on which the sources were read.
        sources: The place (``where``), the quotation (``line``) and, if there is one, the ``url``.
    """

    model: str
    year: int
    data: str
    asked: bool
    short: Mapping[str, str]
    full: Mapping[str, str]
    note: str
    not_verified: tuple[str, ...]
    second_hand: bool
    read: str
    sources: tuple[Mapping[str, str], ...]

    @property
    def norm(self) -> str:
        """``"layer"``, ``"rms"`` or ``"other"``."""
        return {"LayerNorm": "layer", "RMSNorm": "rms"}.get(self.short["norm"], "other")

    @property
    def place(self) -> str:
        """``"pre"``, ``"post"``, ``"output"``, ``"sandwich"`` or, for mixtures, ``"other"``."""
        known = {"pre": "pre", "post": "post", "output only": "output", "sandwich": "sandwich"}
        return known.get(self.short["place"], "other")

    @property
    def anchor(self) -> str:
        """The anchor on the page of sources."""
        return f"model-{re.sub(r'[^a-z0-9]+', '-', self.model.lower()).strip('-')}"

    @property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """The choices for which the line is shown."""
        return {
            "which": ("asked", "all") if self.asked else ("all",),
            "data": ("any", *self.data.split()),
            "norm": ("any", self.norm),
            "place": ("any", self.place),
        }


GROUPS = {
    "which": Group("Rows", {"asked": "most asked about", "all": "all"}, "asked"),
    "data": Group(
        "Data",
        {
            "any": "any",
            "language": "language",
            "text": "other text",
            "images": "images, video",
            "speech": "speech",
            "proteins": "proteins",
        },
        "any",
    ),
    "norm": Group(
        "Norm",
        {"any": "any", "layer": "layer norm", "rms": "RMS norm", "other": "other"},
        "any",
    ),
    "place": Group(
        "Placement",
        {
            "any": "any",
            "pre": "pre",
            "post": "post",
            "output": "output only",
            "sandwich": "sandwich",
            "other": "other",
        },
        "any",
    ),
}


def read() -> list[Model]:
    """Read the models, sorted by year."""
    lines = [
        Model(**m | {name: tuple(m[name]) for name in ("not_verified", "sources")})
        for m in json.loads(SOURCE.read_text("utf-8"))["models"]
    ]
    return sorted(lines, key=lambda m: m.year)


MODELS = read()


class ModelTable(Displayed):
    """The table of models, whose lines can be filtered and unfold to their sources."""

    def __repr__(self) -> str:
        """Return the lines shown at first, as text."""
        start = {group: choice.start for group, choice in GROUPS.items()}
        lines = [m for m in MODELS if shown(m.conditions, start)]
        cells = [[m.model, str(m.year), *(m.short[c] for c in COLUMNS)] for m in lines]
        cells.insert(0, ["model", "year", *COLUMNS.values()])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = (
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )
        return "\n".join([f"{TITLE}: {len(lines)} of {len(MODELS)} rows", *text])

    def to_html(self, page: str = f"{PAGE}.html") -> str:
        """Return all lines as HTML; a style sheet hides those that are not selected.

        Args:
            page: The page with the sources, to which each line links. ``""``: include the sources.
        """
        head = "".join(
            f"<span>{html.escape(c)}</span>" for c in ("model", "year", *COLUMNS.values())
        )
        days = map(day, sorted({m.read for m in MODELS}))
        note = (
            f" of {len(MODELS)} rows, read on {' and '.join(days)}. An asterisk marks the default "
            "of the model's class; the configuration of a checkpoint can override it. A question "
            "mark means not published or not verified, and a dash that the model has no attention. "
            "Open a row for the details and sources."
        )
        lines = "".join(_line(model, page) for model in MODELS)
        none = '<p class="ln-none">No row contains this word.</p>'
        head = f'<div class="ln-head" aria-hidden="true">{head}</div>'
        note = f'<p class="ln-count">{note}</p>'
        return card("ln-models", TITLE, GROUPS, SEARCH + head + lines + none + note)

    def widget(self) -> Any:
        """Build the live widget: the same HTML."""
        return live(self.to_html(page=""))


# The search covers every line, selected or not; a page and a live notebook need nothing else.
SEARCH = (
    '<p class="ln-search"><label>Find <input type="search" placeholder="name, norm, placement"'
    ' autocomplete="off" oninput="{code}"/></label></p>'
).format(
    code="const card = this.closest('.ln-pick'), words = this.value.toLowerCase().trim();"
    " card.classList.toggle('ln-found', words !== '');"
    " for (const line of card.querySelectorAll('.ln-model')) line.classList.toggle('ln-hit',"
    " line.firstElementChild.textContent.toLowerCase().includes(words))"
)


def _line(model: Model, page: str) -> str:
    """Return the HTML of a model: its line, and the part that unfolds."""
    esc = html.escape
    cells = "".join(
        f"<i{' class=ln-named' * (c in NAMED)}><span>{esc(head)} </span>{esc(model.short[c])}</i>"
        for c, head in COLUMNS.items()
    )
    return (
        f'<details class="ln-model"{attributes(model.conditions)}>'
        f'<summary><b>{esc(model.model)}</b><i class="ln-year">{model.year}</i>{cells}</summary>'
        f"<div>{_behind(model, page)}</div></details>"
    )


def _behind(model: Model, page: str) -> str:
    """Return the part of a line that unfolds: full text, doubts, and sources or a link to them."""
    esc = html.escape
    full = "; ".join(
        f"{head}: {model.full[c]}"
        for c, head in COLUMNS.items()
        if model.full[c] not in (model.short[c], "yes", "no")
    )
    parts = [f"<p>{esc(text)}</p>" for text in (full and f"{full}.", model.note) if text]
    if model.not_verified:
        how = "Second-hand" if model.second_hand else "Not verified"
        names = [COLUMNS.get(name, name) for name in model.not_verified]
        parts.append(f"<p><b>{how}:</b> {esc(', '.join(names))}.</p>")
    if page:
        many = len(model.sources)
        link = f'<a href="{page}#{model.anchor}">{many} source{"s" * (many > 1)}</a>'
        return "".join([*parts, f"<p>Read on {day(model.read)}: {link} with quotations.</p>"])
    return "".join([*parts, f"<p>Read on {day(model.read)}:</p>{sources(model)}"])


def sources(model: Model) -> str:
    """Return the sources of a model with quotations, as HTML."""
    return f"<ul>{''.join(f'<li>{_source(source)}</li>' for source in model.sources)}</ul>"


def _source(source: Mapping[str, str]) -> str:
    where, line = html.escape(source["where"]), html.escape(source["line"])
    if url := source.get("url"):
        where = f'<a href="{html.escape(url)}">{where}</a>'
    return f"{where}: <code>{line}</code>"
