"""The static life of an explorer: every state computed once, packed small, written as HTML.

``explorer.js`` is the other half: it unpacks what :func:`pack` packed.
"""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lnbook.explorer.control import Control
from lnbook.explorer.still import still

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DIGITS = 4
ARROWS = " ←→↑↓"  # which way an axis runs; in a table of its numbers it runs no way
LONGEST = 4  # texts that keep room for all
WIDTHS = range(24, 110, 3)  # letters in a line, from a phone to a wide page
NARROW, WIDE = frozenset(" ijlft.,;:'|!()[]-"), frozenset("mwMW%@—")  # letters
PHONE, LINE, TITLE = 760, 50, 28  # pixels: of a screen, below its head; of a control; of a title
LEAST = 140  # pixels, of a panel on a phone
CHOICE = 18  # letters that a choice shows on a phone beside its label
SHARED = 24  # shorter pieces of JSON are cheaper repeated than referred to
_ids = itertools.count(1)


def plain(value: Any, digits: int = DIGITS) -> Any:
    """Turn NumPy and plotly values into JSON values with few digits.

    Args:
        value: Numbers, strings, arrays, and lists and dicts of them.
        digits: Significant digits kept of a float. Integers stay whole.

    Returns:
        The same, as lists, dicts, int, float, str, bool and None (for NaN and infinities).

    Example:
        >>> import numpy as np
        >>> plain({"y": np.array([1 / 3, 2.0, np.nan]), "n": 60000})
        {'y': [0.3333, 2, None], 'n': 60000}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {k: plain(v, digits) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(v, digits) for v in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = float(f"{value:.{digits}g}")
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value


def panel(figure: Figure) -> dict:
    """Take a figure apart: its title is text of the page, which wraps; plotly's would not."""
    layout = figure.layout.to_plotly_json()
    title = layout.pop("title", {}).get("text") or ""
    return {"title": title, "data": [t.to_plotly_json() for t in figure.data], "layout": layout}


def numbers(panels: list[dict]) -> list[dict]:
    """Tabulate what the panels draw, for those who want to read or copy the numbers.

    A heat map is a table of its own; lines and bars at the same places are columns of one. A
    trace without a name that does not answer to the pointer is an ornament and left out.

    Args:
        panels: As :func:`panel` leaves them.

    Returns:
        ``{"caption": ..., "columns": [...], "rows": [[...], ...]}`` for each table.

    Example:
        >>> bars = [{"x": ["a", "b"], "y": [1, 2], "name": "n"}]
        >>> numbers([{"title": "T", "data": bars, "layout": {}}])
        [{'caption': 'T', 'columns': ['x', 'n'], 'rows': [['a', 1], ['b', 2]]}]
    """
    tables: list[dict] = []
    for shown in plain(panels):
        keys: list[Any] = []
        for trace in shown["data"]:
            along, across = ("y", "x") if trace.get("orientation") == "h" else ("x", "y")
            values = trace.get("z", trace.get(across))
            ornament = trace.get("hoverinfo") == "skip" and "name" not in trace
            if not values or ornament:
                continue
            if "z" in trace:
                x, y = trace.get("x", range(len(values[0]))), trace.get("y", range(len(values)))
                sides = [_axis(shown, trace, letter) for letter in "yx"]
                corner = " \\ ".join(side for side in sides if side not in "yx") or "y \\ x"
                rows = [[position, *row] for position, row in zip(y, values, strict=True)]
                caption = trace.get("name", shown["title"])
                tables.append({"caption": caption, "columns": [corner, *x], "rows": rows})
                keys.append(None)
                continue
            positions = trace.get(along, list(range(len(values))))
            # A point at no place only breaks the line.
            values = [
                v for position, v in zip(positions, values, strict=True) if position is not None
            ]
            positions = [position for position in positions if position is not None]
            name = trace.get("name", _axis(shown, trace, across))
            if positions in keys:
                table = tables[keys.index(positions) - len(keys)]
                table["columns"].append(name)
                for row, value in zip(table["rows"], values, strict=True):
                    row.append(value)
            else:
                rows = [list(pair) for pair in zip(positions, values, strict=True)]
                columns = [_axis(shown, trace, along), name]
                tables.append({"caption": shown["title"], "columns": columns, "rows": rows})
                keys.append(positions)
    for table in tables:  # here a name has room for one line
        table["columns"] = [_one_line(column) for column in table["columns"]]
        table["rows"] = [[_one_line(row[0]), *row[1:]] for row in table["rows"]]
    return tables


def _one_line(name: Any) -> Any:
    return name.replace("<br>", " ") if isinstance(name, str) else name


def _axis(panel: dict, trace: dict, letter: str) -> str:
    """Name an axis by its title, or else by its letter."""
    axis = trace.get(f"{letter}axis", letter).replace(letter, f"{letter}axis", 1)
    return panel["layout"].get(axis, {}).get("title", {}).get("text", letter).strip(ARROWS)


def grid(table: dict) -> str:
    """Write a table of :func:`numbers` as HTML.

    Args:
        table: ``caption``, ``columns`` and ``rows``.

    Returns:
        One ``<table>``; a number that is missing or not finite is a dash.
    """

    def cells(tag, values):
        texts = ("–" if v is None else html.escape(str(v)) for v in values)
        return "".join(f"<{tag}>{text}</{tag.split()[0]}>" for text in texts)

    caption = f"<caption>{html.escape(table['caption'])}</caption>" if table["caption"] else ""
    head = cells('th scope="col"', table["columns"])
    rows = (cells('th scope="row"', row[:1]) + cells("td", row[1:]) for row in table["rows"])
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def dumps(value: Any) -> str:
    """Write JSON without a needless byte."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def share(states: list) -> dict:
    """Store once what occurs more than once.

    Args:
        states: JSON values, as :func:`plain` leaves them.

    Returns:
        ``{"pool": [...], "states": [...]}`` where a part that repeats is ``{"$": i}``,
        standing for ``pool[i]``, in ``states`` and in ``pool`` alike.

    Example:
        >>> x = ["the same long list of words", "in every state"]
        >>> share([{"x": x, "t": 1}, {"x": x, "t": 2}])["states"]
        [{'x': {'$': 0}, 't': 1}, {'x': {'$': 0}, 't': 2}]
    """
    counts: Counter[str] = Counter()
    pool: list = []
    pool_index: dict[str, int] = {}

    def parts(value):
        return value.values() if isinstance(value, dict) else value

    def branches(value):  # a row of numbers is shared whole or not at all
        return isinstance(value, dict) or any(isinstance(v, dict | list) for v in value)

    def count(value):
        if isinstance(value, dict | list) and len(key := dumps(value)) >= SHARED:
            counts[key] += 1
            if counts[key] == 1 and branches(value):
                for part in parts(value):
                    count(part)

    def walk(value):
        if isinstance(value, dict):
            return {k: emit(v) for k, v in value.items()}
        return [emit(v) for v in value] if branches(value) else value

    def emit(value):
        if not isinstance(value, dict | list):
            return value
        if len(key := dumps(value)) < SHARED or counts[key] < 2:
            return walk(value)
        if key not in pool_index:
            pool_index[key] = len(pool)
            pool.append(None)  # taken before the parts, so that they come after
            pool[pool_index[key]] = walk(value)
        return {"$": pool_index[key]}

    for state in states:
        count(state)
    return {"pool": pool, "states": [emit(state) for state in states]}


def pack(states: list) -> str:
    """Share, write as JSON, gzip, and encode as base64; the same bytes at every build."""
    raw = dumps(share(states)).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()


def page(
    title: str,
    alt: str | None,
    controls: dict[str, Control],
    states: list[dict],
    columns: int,
) -> str:
    """Write one explorer as HTML that needs no kernel and no network.

    Args:
        title: What the card is headed with.
        alt: What the figure shows, in every state. ``None`` leaves it to title and sentence.
        controls: By name, in the order in which ``states`` runs through them (last fastest).
        states: ``{"panels": [...], "text": sentence}``, one a state, each as :func:`panel` does.
        columns: Panels side by side where the page is wide enough.

    Returns:
        One ``<div>``, with ids of its own.
    """
    uid = f"explorer-{next(_ids)}"
    esc = html.escape
    sizes = [len(c.values) for c in controls.values()]
    start = 0
    for c in controls.values():
        start = start * len(c.values) + c.start
    rows = "".join(_row(f"{uid}-{name}", c) for name, c in controls.items())
    heights = [
        max(state["panels"][k]["layout"]["height"] for state in states)
        for k in range(len(states[start]["panels"]))
    ]
    shares = [phone_share(panel) for panel in states[start]["panels"]]
    panels = "".join(
        f'<div><div class="ln-room"><p class="ln-panel-title">{esc(panel["title"])}</p>'
        f"{room([state['panels'][k]['title'] for state in states])}</div>"
        f'<div class="ln-panel" style="--h:{heights[k]}'
        f'{f";--share:{shares[k]}" if shares[k] != 1 else ""}">{still(panel)}</div></div>'
        for k, panel in enumerate(states[start]["panels"])
    )
    return (
        f'<div class="ln-explorer" id="{uid}" role="group" aria-labelledby="{uid}-title"'
        f' data-sizes="{sizes}">'
        f'<p class="ln-title" id="{uid}-title">{esc(title)}</p>'
        + (f'<div class="ln-controls">{rows}</div>' if rows else "")
        + f'<div class="ln-panels" role="img" aria-label="{esc(alt or title)}"'
        f' aria-describedby="{uid}-text" style="--ln-columns:{columns};'
        f'--ln-shrink:{shrink(heights, len(controls), shares):.3g}">{panels}</div>'
        f'<div class="ln-room"><p class="ln-text" id="{uid}-text" role="status" aria-live="polite">'
        f"{esc(states[start]['text'])}</p>{room([state['text'] for state in states])}</div>"
        '<details class="ln-numbers"><summary>The numbers behind the figure</summary>'
        '<div class="ln-table" tabindex="0" role="region"'
        f' aria-label="The numbers behind: {esc(title)}"></div></details>'
        '<noscript><p class="ln-note">The controls need JavaScript (but no internet connection).'
        " The figure shows its initial state.</p></noscript>"
        f'<script type="text/plain" class="ln-data">{pack(states)}</script></div>'
    )


def phone_share(panel: dict) -> float:
    """Return how much of a phone's height a panel asks for: 1, or its layout's ``meta.phone``."""
    return (panel["layout"].get("meta") or {}).get("phone", 1)


def shrink(heights: list[int], controls: int, shares: Sequence[float] = ()) -> float:
    """Return what a phone leaves of the panels' heights, that all stand below their controls.

    Args:
        heights: Of the panels, in pixels.
        controls: How many there are; a line each.
        shares: Of each panel, beside the others; all alike where none are given.

    Returns:
        A factor, at most 1.

    Example:
        >>> shrink([320, 320, 320], controls=2), shrink([320], controls=1)
        (0.6, 1.0)
        >>> round(shrink([320, 320, 320], controls=2, shares=[2, 1, 1]), 2)
        0.45
    """
    left = PHONE - LINE * controls - TITLE * len(heights)
    requested = sum(h * s for h, s in zip(heights, shares or [1] * len(heights), strict=True))
    return min(1.0, max(left, LEAST * len(heights)) / requested)


def make_alt_texts_unique(states: list[dict], controls: Mapping[str, Control]) -> list[dict]:
    """Let no two states show different figures and say the same.

    Who hears the page and does not see it would think that a control is dead. Where sentences are
    one, each gets the values of the controls that part them.

    Args:
        states: As :func:`page` takes them.
        controls: In the order in which ``states`` runs through them (last fastest).
    """
    indices = list(itertools.product(*(range(len(c.texts)) for c in controls.values())))
    drawn = [json.dumps(state["panels"], sort_keys=True) for state in states]
    alike: dict[str, list[int]] = {}
    for k, state in enumerate(states):
        alike.setdefault(state["text"], []).append(k)
    for text, same in alike.items():
        figures_by_context: dict[tuple, set[str]] = {}  # by control and the places of all others
        for k, i in itertools.product(same, range(len(controls))):
            figures_by_context.setdefault((i, *indices[k][:i], *indices[k][i + 1 :]), set()).add(
                drawn[k]
            )
        parting = {i for (i, *_), figures in figures_by_context.items() if len(figures) > 1}
        if not parting:
            continue
        for k in same:
            values = (f"{c.label}: {c.texts[indices[k][i]]}"
                      for i, c in enumerate(controls.values()) if i in parting)  # fmt: skip
            states[k]["text"] = f"{text} ({'; '.join(values)})"
    return states


def room(texts: list[str]) -> str:
    """Keep the room of the texts that take most lines, whatever the width.

    Args:
        texts: One a state.

    Returns:
        An unseen ``<span>`` for each of them, which the style sheet lays behind the place and
        spaces a little wider, as the letters of a browser are not those of :func:`lines`.
    """
    different = sorted(set(texts), key=len)[-40:]
    if len(different) == 1:
        return ""
    most = Counter(max(different, key=lambda text: lines(text, width)) for width in WIDTHS)
    longest = [text for text, _ in most.most_common(LONGEST)]
    return "".join(f'<span data-text="{html.escape(t)}"></span>' for t in longest)


def lines(text: str, width: int) -> tuple[int, float]:
    """Count the lines of a text that is broken between words, about as a browser breaks it.

    Args:
        text: Words.
        width: Of a line, in letters of usual width.

    Returns:
        The number of lines, and how wide the last one is.

    Example:
        >>> lines("one two three", 8)
        (2, 4.6)
    """
    number, filled = 1, 0.0
    for word in text.split():
        wide = sum(0.6 if c in NARROW else 1.5 if c in WIDE else 1.0 for c in word)
        after = filled + 0.6 + wide if filled else wide
        number, filled = (number, after) if after <= width else (number + 1, wide)
    return number, filled


def _row(uid: str, control: Control) -> str:
    """Write one labelled control."""
    esc, texts, start = html.escape, control.texts, control.start
    label = f'<label for="{uid}">{esc(control.label)}</label>'
    if control.kind == "choice":
        options = "".join(
            f'<option value="{i}"{" selected" if i == start else ""}>{esc(text)}</option>'
            for i, text in enumerate(texts)
        )
        field = f'<select id="{uid}" autocomplete="off">{options}</select>'
    else:
        encoded = esc(dumps(texts), quote=False).replace("'", "&#39;")  # with its quotes
        field = (
            f'<input type="range" id="{uid}" min="0" max="{len(texts) - 1}" value="{start}"'
            f' aria-valuetext="{esc(texts[start])}"'
            f" data-texts='{encoded}'"
            ' autocomplete="off">'
            f'<span class="ln-value" aria-hidden="true">{esc(texts[start])}</span>'
        )
        if control.play:
            field = (
                f'<button type="button" class="ln-play" aria-label="Play: {esc(control.label)}">'
                f"▶</button>{field}"
            )
    wide = " ln-wide" * (control.kind == "choice" and max(map(len, texts)) > CHOICE)
    return f'<div class="ln-control{wide}">{label}<div class="ln-field">{field}</div></div>'
