"""Static explorers: all states are precomputed, compressed and embedded in HTML.

``explorer.js`` decompresses the states and shows the one that the controls select.
"""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lnbook.explorer.axes import axis_name
from lnbook.explorer.control import Control
from lnbook.explorer.static_svg import render_static_svg

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DIGITS = 4
ARROWS = " ←→↑↓"  # directions in axis titles, which are left out in tables
NUM_PLACEHOLDERS = 4  # texts that reserve the space of the longest text
LINE_WIDTHS = range(24, 110, 3)  # characters, from a phone to a wide page
NARROW_CHARS, WIDE_CHARS = frozenset(" ijlft.,;:'|!()[]-"), frozenset("mwMW%@—")
# Heights on a phone in pixels: screen below its header, control, panel title, smallest panel.
PHONE_PX, CONTROL_PX, TITLE_PX, MIN_PANEL_PX = 760, 50, 28, 170
MAX_CHOICE_CHARS = 18  # of a choice that fits next to its label on a phone
MIN_SHARED_CHARS = 24  # shorter pieces of JSON are repeated instead of shared
_ids = itertools.count(1)


def to_json_value(value: Any, digits: int = DIGITS) -> Any:
    """Convert NumPy and plotly values to JSON values with few digits.

    Args:
        value: Numbers, strings, arrays, and lists and dicts of them.
        digits: Significant digits of a float. Integers are not rounded.

    Returns:
        Lists, dicts, int, float, str, bool and None (for NaN and infinities).

    Example:
        >>> import numpy as np
        >>> to_json_value({"y": np.array([1 / 3, 2.0, np.nan]), "n": 60000})
        {'y': [0.3333, 2, None], 'n': 60000}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {k: to_json_value(v, digits) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [to_json_value(v, digits) for v in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = float(f"{value:.{digits}g}")
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value


def panel_spec(figure: Figure) -> dict:
    """Return a figure as ``title``, ``data`` and ``layout``; HTML titles wrap, plotly's do not."""
    layout = figure.layout.to_plotly_json()
    title = layout.pop("title", {}).get("text") or ""
    return {"title": title, "data": [t.to_plotly_json() for t in figure.data], "layout": layout}


def data_tables(panels: list[dict]) -> list[dict]:
    """Return the numbers of the panels as tables.

    A heat map is a table. Lines and bars with the same positions are columns of one table. A trace
    without a name and without hover labels is decoration and is left out. A trace whose points are
    not drawn at their values, such as 0 on a logarithmic axis, has these values in ``meta``, and
    a trace whose positions have names has these there as ``x`` and ``y``.

    Args:
        panels: See :func:`panel_spec`.

    Returns:
        ``{"caption": ..., "columns": [...], "rows": [[...], ...]}`` for each table.

    Example:
        >>> bars = [{"x": ["a", "b"], "y": [1, 2], "name": "n"}]
        >>> data_tables([{"title": "T", "data": bars, "layout": {}}])
        [{'caption': 'T', 'columns': ['item', 'n'], 'rows': [['a', 1], ['b', 2]]}]
    """
    tables: list[dict] = []
    for panel in to_json_value(panels):
        keys: list[Any] = []  # positions of each table of this panel
        for trace in panel["data"]:
            position_axis, value_axis = (
                ("y", "x") if trace.get("orientation") == "h" else ("x", "y")
            )
            values = trace.get("z", trace.get(value_axis))
            is_decoration = trace.get("hoverinfo") == "skip" and "name" not in trace
            if not values or is_decoration:
                continue
            names = trace.get("meta") or {}
            if "z" in trace:
                x = names.get("x", trace.get("x", range(1, len(values[0]) + 1)))
                y = names.get("y", trace.get("y", range(1, len(values) + 1)))
                titles = [_axis_title(panel, trace, letter) for letter in "yx"]
                corner = " \\ ".join(title for title in titles if title not in "yx") or "y \\ x"
                rows = [[position, *row] for position, row in zip(y, values, strict=True)]
                caption = trace.get("name", panel["title"])
                tables.append({"caption": caption, "columns": [corner, *x], "rows": rows})
                keys.append(None)
                continue
            values = names.get("values", values)
            positions = names.get(position_axis, trace.get(position_axis, list(range(len(values)))))
            # A missing position breaks the line and is not a point.
            values = [
                v for position, v in zip(positions, values, strict=True) if position is not None
            ]
            positions = [position for position in positions if position is not None]
            name = trace.get("name", _axis_title(panel, trace, value_axis))
            if positions in keys:
                table = tables[keys.index(positions) - len(keys)]
                edge = f"{name}, lower edge"  # a line stands before the edges of its band
                columns = table["columns"]
                column = columns.index(edge) if edge in columns else len(columns)
                columns.insert(column, name)
                for row, value in zip(table["rows"], values, strict=True):
                    row.insert(column, value)
            else:
                rows = [list(pair) for pair in zip(positions, values, strict=True)]
                title = _axis_title(panel, trace, position_axis)
                if title == position_axis and isinstance(positions[0], str):
                    title = "item"
                columns = [title, name]
                tables.append({"caption": panel["title"], "columns": columns, "rows": rows})
                keys.append(positions)
    for table in tables:
        table["columns"] = [_one_line(column) for column in table["columns"]]
        table["rows"] = [[_one_line(row[0]), *row[1:]] for row in table["rows"]]
    return tables


def _one_line(name: Any) -> Any:
    return re.sub("</?b>", "", name.replace("<br>", " ")) if isinstance(name, str) else name


def _axis_title(panel: dict, trace: dict, letter: str) -> str:
    """Return the title of an axis of a trace, or its letter if it has none."""
    return (
        panel["layout"]
        .get(axis_name(trace, letter), {})
        .get("title", {})
        .get("text", letter)
        .strip(ARROWS)
    )


def table_html(table: dict) -> str:
    """Return a table of :func:`data_tables` as HTML; missing and non-finite numbers are dashes."""

    def cells(tag, values):
        texts = ("–" if v is None else html.escape(str(v)) for v in values)
        return "".join(f"<{tag}>{text}</{tag.split()[0]}>" for text in texts)

    caption = f"<caption>{html.escape(table['caption'])}</caption>" if table["caption"] else ""
    head = cells('th scope="col"', table["columns"])
    rows = (cells('th scope="row"', row[:1]) + cells("td", row[1:]) for row in table["rows"])
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def dumps(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def deduplicate(states: list) -> dict:
    """Replace repeated parts of states by references to a pool.

    Args:
        states: JSON values; see :func:`to_json_value`.

    Returns:
        ``{"pool": [...], "states": [...]}``, where ``{"$": i}`` refers to ``pool[i]``, both in
        ``states`` and in ``pool``.

    Example:
        >>> x = ["the same long list of words", "in every state"]
        >>> deduplicate([{"x": x, "t": 1}, {"x": x, "t": 2}])["states"]
        [{'x': {'$': 0}, 't': 1}, {'x': {'$': 0}, 't': 2}]
    """
    counts: Counter[str] = Counter()
    pool: list = []
    pool_index: dict[str, int] = {}

    def children(value):
        return value.values() if isinstance(value, dict) else value

    def has_children(value):  # a list of numbers is shared as a whole or not at all
        return isinstance(value, dict) or any(isinstance(v, dict | list) for v in value)

    def count(value):
        if isinstance(value, dict | list) and len(key := dumps(value)) >= MIN_SHARED_CHARS:
            counts[key] += 1
            if counts[key] == 1 and has_children(value):
                for part in children(value):
                    count(part)

    def encode_children(value):
        if isinstance(value, dict):
            return {k: encode(v) for k, v in value.items()}
        return [encode(v) for v in value] if has_children(value) else value

    def encode(value):
        if not isinstance(value, dict | list):
            return value
        if len(key := dumps(value)) < MIN_SHARED_CHARS or counts[key] < 2:
            return encode_children(value)
        if key not in pool_index:
            pool_index[key] = len(pool)
            pool.append(None)  # reserves the index before those of the children
            pool[pool_index[key]] = encode_children(value)
        return {"$": pool_index[key]}

    for state in states:
        count(state)
    return {"pool": pool, "states": [encode(state) for state in states]}


def pack(states: list) -> str:
    """Return states as JSON, compressed with a pool and gzip, in base64; deterministic."""
    raw = dumps(deduplicate(states)).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()


def explorer_html(
    title: str,
    alt: str | None,
    controls: dict[str, Control],
    states: list[dict],
    columns: int,
) -> str:
    """Return an explorer as HTML that needs no kernel and no network.

    Args:
        title: Heading of the card.
        alt: Alt text for all states. ``None`` uses the title.
        controls: By name. ``states`` iterates over their values, the last control fastest.
        states: ``{"panels": [...], "text": description}`` for each state; see :func:`panel_spec`.
        columns: Panels per row on a wide page.

    Returns:
        One ``<div>`` with unique ids.
    """
    uid = f"explorer-{next(_ids)}"
    esc = html.escape
    sizes = [len(c.values) for c in controls.values()]
    start = 0
    for c in controls.values():
        start = start * len(c.values) + c.start
    rows = "".join(_control_html(f"{uid}-{name}", c) for name, c in controls.items())
    heights = [
        max(state["panels"][k]["layout"]["height"] for state in states)
        for k in range(len(states[start]["panels"]))
    ]
    shares = [phone_share(panel) for panel in states[start]["panels"]]
    panels = "".join(
        f'<div><div class="ln-room"><p class="ln-panel-title">{esc(panel["title"])}</p>'
        f"{placeholders([state['panels'][k]['title'] for state in states])}</div>"
        f'<div class="ln-panel" style="--h:{heights[k]}'
        f'{f";--share:{shares[k]}" if shares[k] != 1 else ""}">'
        f"{render_static_svg(panel)}</div></div>"
        for k, panel in enumerate(states[start]["panels"])
    )
    return (
        f'<div class="ln-explorer" id="{uid}" role="group" aria-labelledby="{uid}-title"'
        f' data-sizes="{sizes}">'
        f'<p class="ln-title" id="{uid}-title">{esc(title)}</p>'
        + (f'<div class="ln-controls">{rows}</div>' if rows else "")
        + f'<div class="ln-panels" role="img" aria-label="{esc(alt or title)}"'
        f' aria-describedby="{uid}-text" style="--ln-columns:{columns};'
        f'--ln-shrink:{phone_scale(heights, len(controls), shares):.3g}">{panels}</div>'
        f'<div class="ln-room"><p class="ln-text" id="{uid}-text" role="status" aria-live="polite">'
        f"{esc(states[start]['text'])}</p>{placeholders([state['text'] for state in states])}</div>"
        '<details class="ln-numbers"><summary>The numbers behind the figure</summary>'
        '<div class="ln-table" tabindex="0" role="region"'
        f' aria-label="The numbers behind: {esc(title)}"></div></details>'
        '<noscript><p class="ln-note">The controls need JavaScript (but no internet connection).'
        " The figure shows its initial state.</p></noscript>"
        f'<script type="text/plain" class="ln-data">{pack(states)}</script></div>'
    )


def phone_share(panel: dict) -> float:
    """Return the relative height of a panel on a phone: ``layout.meta.phone``, or 1."""
    return (panel["layout"].get("meta") or {}).get("phone", 1)


def phone_scale(heights: list[int], controls: int, shares: Sequence[float] = ()) -> float:
    """Return the factor by which a phone scales panels, so that all fit below the controls.

    Args:
        heights: Heights of the panels in pixels.
        controls: Number of controls.
        shares: Relative heights of the panels on a phone. Default: 1 for each.

    Returns:
        A factor of at most 1.

    Example:
        >>> phone_scale([320, 320, 320], controls=2), phone_scale([320], controls=1)
        (0.6, 1.0)
        >>> round(phone_scale([320, 320, 320], controls=2, shares=[2, 1, 1]), 2)
        0.45
    """
    available = PHONE_PX - CONTROL_PX * controls - TITLE_PX * len(heights)
    requested = sum(h * s for h, s in zip(heights, shares or [1] * len(heights), strict=True))
    return min(1.0, max(available, MIN_PANEL_PX * len(heights)) / requested)


def make_alt_texts_unique(states: list[dict], controls: Mapping[str, Control]) -> list[dict]:
    """Make the descriptions of states with different figures unique.

    Otherwise a control would seem to have no effect to a user of a screen reader. Equal
    descriptions get the values of the controls that change the figure.

    Args:
        states: See :func:`explorer_html`; changed in place.
        controls: See :func:`explorer_html`.
    """
    indices = list(itertools.product(*(range(len(c.texts)) for c in controls.values())))
    drawn = [json.dumps(state["panels"], sort_keys=True) for state in states]
    indices_by_text: dict[str, list[int]] = {}
    for k, state in enumerate(states):
        indices_by_text.setdefault(state["text"], []).append(k)
    for text, same in indices_by_text.items():
        figures_by_context: dict[tuple, set[str]] = {}  # by control and all other controls' values
        for k, i in itertools.product(same, range(len(controls))):
            figures_by_context.setdefault((i, *indices[k][:i], *indices[k][i + 1 :]), set()).add(
                drawn[k]
            )
        effective = {i for (i, *_), figures in figures_by_context.items() if len(figures) > 1}
        if not effective:
            continue
        for k in same:
            values = (f"{c.label}: {c.texts[indices[k][i]]}"
                      for i, c in enumerate(controls.values()) if i in effective)  # fmt: skip
            states[k]["text"] = f"{text} ({'; '.join(values)})"
    return states


def placeholders(texts: list[str]) -> str:
    """Return invisible copies of the longest texts, which reserve space for all of them.

    They keep the page from moving when a text gets longer. Which text has the most lines depends on
    the width. The style sheet adds some letter spacing, because :func:`count_lines` is an estimate.

    Args:
        texts: The text of each state.
    """
    candidates = sorted(dict.fromkeys(texts), key=len)[-40:]
    if len(candidates) == 1:
        return ""
    counts = Counter(
        max(candidates, key=lambda text: count_lines(text, width)) for width in LINE_WIDTHS
    )
    longest = [text for text, _ in counts.most_common(NUM_PLACEHOLDERS)]
    return "".join(f'<span data-text="{html.escape(t)}"></span>' for t in longest)


def count_lines(text: str, width: int) -> tuple[int, float]:
    """Estimate the number of lines of a text in a browser.

    Args:
        text: The text, which is wrapped between words.
        width: Width of a line, in characters of average width.

    Returns:
        The number of lines, and the width of the last one.

    Example:
        >>> count_lines("one two three", 8)
        (2, 4.6)
    """
    num_lines, line = 1, 0.0
    for word in text.split():
        chars = sum(0.6 if c in NARROW_CHARS else 1.5 if c in WIDE_CHARS else 1.0 for c in word)
        longer = line + 0.6 + chars if line else chars
        num_lines, line = (num_lines, longer) if longer <= width else (num_lines + 1, chars)
    return num_lines, line


def _control_html(uid: str, control: Control) -> str:
    """Return a control with its label."""
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
    wide = " ln-wide" * (control.kind == "choice" and max(map(len, texts)) > MAX_CHOICE_CHARS)
    return f'<div class="ln-control{wide}">{label}<div class="ln-field">{field}</div></div>'
