"""A plotly figure as a still picture: what stands in the page until plotly.js draws it.

It comes with the page's first paint, before 5 MB of script have started, and stays where there is
no JavaScript. It knows what the book's figures have: lines, bands, points, bars, heat maps, shapes
and notes. Ink comes from the style sheet, so that light and dark are one switch; places are shares
of the panel, so that it fits every width.
"""

from __future__ import annotations

import html
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from lnbook.explorer.axes import Axis, axes, axis_of, gap, places, spots
from lnbook.figures.colors import COLORS, fade

SIDE = 1000  # units of a panel's square
NEAR = 0.0015  # of a panel: half a pixel of its height, or one of its width
LETTER = 6.4  # pixels, of a tick's label
DASHES = {"dot": "2 4", "dash": "8 5", "dashdot": "8 4 2 4"}
INK = "var(--ln-gray)"
_NAMES = {color: f"var(--ln-{thing})" for thing, color in COLORS.items()}
_FADED = {fade(color).rpartition(",")[0]: name for color, name in _NAMES.items()}
SHADES = 20  # of a heat map, on each side of its middle
ROOM = 0.2  # between bars, of a place

Point = tuple[float | None, float | None]


def still(panel: dict) -> str:
    """Draw a panel as HTML that fits its place.

    Args:
        panel: As :func:`lnbook.explorer.page.panel` leaves it, plain.

    Returns:
        One ``<div>``, hidden from a screen reader, which has the sentence.
    """
    layout, traces = panel["layout"], panel["data"]
    lying = axes(panel)
    x, y = lying["xaxis"], lying["yaxis"]
    visible_axes = [axis for axis in lying.values() if axis.layout.get("visible", True)]
    drawn = [grid(axis) for axis in visible_axes]
    notes = [label for axis in visible_axes for label in labels(axis)]
    shapes = layout.get("shapes", [])
    drawn += [shape(s, x, y) for s in shapes if s.get("layer") == "below"]
    bars = [t for t in traces if t["type"] == "bar"]
    heights: dict[Any, float] = defaultdict(float)  # of the bars below, where they are stacked
    edge: list[Point] = []  # of a band
    for trace in traces:
        down = lying[axis_of(trace, "y")]
        if trace["type"] == "heatmap":
            drawn.append(heat(trace, layout.get("coloraxis", {}), x, down))
            notes += numbers_in(trace, x, down)
        elif trace["type"] == "bar":
            side_by_side = 1 if layout.get("barmode") in ("stack", "overlay") else len(bars)
            which = 0 if side_by_side == 1 else next(k for k, t in enumerate(bars) if t is trace)
            room = (1 - layout.get("bargap", ROOM)) / side_by_side
            start = (which - side_by_side / 2) * room
            below = heights if layout.get("barmode") == "stack" else defaultdict(float)
            drawn.append(bar(trace, start, room, below, x, down))
        else:
            points = list(zip(spots(trace, x), spots(trace, down), strict=True))
            drawn.append(line(trace, points, edge))
            edge = points
    drawn += [shape(s, x, y) for s in shapes if s.get("layer") != "below"]
    notes += [note(a, x, y) for a in layout.get("annotations", [])]
    widest = max(
        (len(t) for a in visible_axes if a.letter == "y" for _, t in a.ticks()), default=-2
    )
    titled = [
        any("title" in a.layout for a in visible_axes if a.letter == letter) for letter in "xy"
    ]
    room = {
        "l": 12 + LETTER * (widest + 1.5) + 18 * titled[1],
        "t" if x.layout.get("side") == "top" else "b": 12
        + 22 * (x in visible_axes)
        + 18 * titled[0],
    }
    room |= layout.get("margin", {})
    style = ";".join(f"--{side}:{pixels:.0f}px" for side, pixels in room.items())
    if "scaleanchor" in y.layout:
        style += f";--ratio:{abs((x.high - x.low) / (y.high - y.low)):.4g}"
    drawing = (
        f'<div class="ln-still" style="{style}" aria-hidden="true">{legend(traces, layout)}'
        f'<div><div><svg viewBox="0 0 {SIDE} {SIDE}" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg>{''.join(notes)}</div></div></div>"
    )
    return re.sub(r"#[0-9a-f]{6}\b|rgba\([^)]*\)", dyed, drawing)


def grid(axis: Axis) -> str:
    """Draw the lines at an axis' ticks."""
    if not axis.layout.get("showgrid", True) or axis.names:
        return ""
    write = "M{:.0f} 0V1000" if axis.letter == "x" else "M0 {:.0f}H1000"
    return f'<path class="ln-grid" d="{"".join(write.format(SIDE * s) for s, _ in axis.ticks())}"/>'


def labels(axis: Axis) -> list[str]:
    """Write what stands at an axis: ticks and title."""
    over = axis.layout.get("side") == "top"
    top, kind = ' class="ln-over"' * over, f"ln-{axis.letter}" + " ln-over" * over
    texts = [f'<i{top} style="--{axis.letter}:{percent(s)}">{text(t)}</i>' for s, t in axis.ticks()]
    title = axis.layout.get("title", {}).get("text")
    return [*texts, f'<b class="{kind}">{text(title)}</b>'] if title else texts


def percent(share: float) -> str:
    """Write a share with at most one decimal.

    Example:
        >>> percent(0.5), percent(0.1234)
        ('50%', '12.3%')
    """
    return f"{round(100 * share, 1) + 0.0:g}%"


def dyed(match: re.Match) -> str:
    """Return a color of the book's by its name, which has another value on a dark page."""
    solid, _, share = match[0].rpartition(",")
    if solid in _FADED:
        return f"color-mix(in srgb,{_FADED[solid]} {float(share[:-1]):.0%},transparent)"
    return _NAMES.get(match[0], match[0])


def text(value: Any) -> str:
    """Write a text of plotly's, which may have line breaks."""
    return html.escape(str(value).replace("<br>", "\n"), quote=False)


def bends(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out the points of a line that it passes anyway, within less than a pixel.

    Example:
        >>> bends([(0, 0), (0.4, 0.3), (0.5, 0.3755), (0.8, 0.6), (1, 0)])
        [(0, 0), (0.8, 0.6), (1, 0)]
    """
    first, last = points[0], points[-1]
    along = last[0] - first[0], last[1] - first[1]
    length = along[0] ** 2 + along[1] ** 2

    def away(point):
        u, v = point[0] - first[0], point[1] - first[1]
        share = min(1, max(0, (u * along[0] + v * along[1]) / length)) if length else 0
        return math.hypot(u - share * along[0], v - share * along[1])

    k = max(range(len(points)), key=lambda i: away(points[i]))
    if away(points[k]) <= NEAR:
        return [first, last] if len(points) > 1 else [first]
    return [*bends(points[: k + 1])[:-1], *bends(points[k:])]


def path(points: Iterable[Point]) -> str:
    """Write a line, in whole units, from bend to bend; a missing point breaks it."""
    parts = []
    for known, run in itertools.groupby(points, key=lambda point: None not in point):
        if known:
            coordinates = [(round(SIDE * x), round(SIDE * y)) for x, y in bends(list(run))]
            steps = [f"{x - u} {y - v}" for (u, v), (x, y) in itertools.pairwise(coordinates)]
            parts.append(
                f"M{coordinates[0][0]} {coordinates[0][1]}" + "l" * bool(steps) + " ".join(steps)
            )
    return "".join(parts).replace(" -", "-")


def line(trace: dict, points: list[Point], edge: list[Point]) -> str:
    """Draw a line, what it fills and its points."""
    style, mode = trace.get("line", {}), trace.get("mode", "lines+markers")
    color, width = style.get("color", INK), style.get("width", 2)
    out = []
    if "fill" in trace:
        around = points + edge[::-1] if trace["fill"] == "tonexty" else points
        out.append(f'<path d="{path(around)}Z" fill="{trace.get("fillcolor", color)}"/>')
    if "lines" in mode and width:
        dash = dashes(style)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<path d="{path(points)}" stroke="{color}" stroke-width="{width}"{dashed}/>')
    if "markers" in mode:
        marker = trace.get("marker", {})
        paint, size = marker.get("color", color), marker.get("size", 6)
        dots = defaultdict(str)  # a line of no length, with round ends
        for k, (across, down) in enumerate(points):
            if across is not None and down is not None:
                ink = paint[k] if isinstance(paint, list) else paint
                dots[ink] += f"M{SIDE * across:.0f} {SIDE * down:.0f}h0"
        out += [f'<path d="{d}" stroke="{ink}" stroke-width="{size}"/>' for ink, d in dots.items()]
    faded = trace.get("opacity", trace.get("marker", {}).get("opacity", 1))
    return f'<g opacity="{faded}">{"".join(out)}</g>' if faded != 1 else "".join(out)


def dashes(style: dict) -> str:
    """Return how a line is broken, in pixels; empty where it is not."""
    name = style.get("dash", "solid")
    return DASHES.get(name) or " ".join(re.findall(r"\d+", name))


def box(left: float, top: float, right: float, bottom: float) -> str:
    """Write a rectangle, given in shares, as a path."""
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    across, down = SIDE * (right - left), SIDE * (bottom - top)
    return f"M{SIDE * left:.0f} {SIDE * top:.0f}h{across:.0f}v{down:.0f}h{-across:.0f}z"


def bar(trace: dict, start: float, room: float, below: dict[Any, float], x: Axis, y: Axis) -> str:
    """Draw bars from ``start`` on, each ``room`` wide, in shares of a place, on those below."""
    along, across = (y, x) if trace.get("orientation") == "h" else (x, y)
    positions = [along.number(v) for v in places(trace, along.letter)]
    wide = 1 if along.names else gap(positions)
    paint = trace.get("marker", {}).get("color", INK)
    boxes = defaultdict(str)
    for k, value in enumerate(places(trace, across.letter)):
        if (head := across.number(value)) is None:
            continue
        foot = across.low if across.log else below[positions[k]]
        below[positions[k]] = head = head if across.log else foot + head
        ends = [(along.at(positions[k] + (start + e) * wide)) for e in (0, room)]
        sides = [across.at(foot), across.at(head)]
        corner = (ends[0], sides[0], ends[1], sides[1])
        if across is x:
            corner = (sides[0], ends[0], sides[1], ends[1])
        boxes[paint[k] if isinstance(paint, list) else paint] += box(*corner)
    return "".join(f'<path d="{d}" fill="{ink}"/>' for ink, d in boxes.items())


def heat(trace: dict, scale: dict, x: Axis, y: Axis) -> str:
    """Draw the cells of a heat map, all of one shade as one path."""
    known = [v for row in trace["z"] for v in row if v is not None] or [0]
    low = trace.get("zmin", scale.get("cmin", min(known)))
    high = trace.get("zmax", scale.get("cmax", max(known)))
    shades = defaultdict(str)
    positions = [[axis.number(v) for v in places(trace, axis.letter)] for axis in (x, y)]
    half = [gap(numbers) / 2 for numbers in positions]
    # A pixel is about two units of a panel's square.
    thin, flat = (trace.get(f"{letter}gap", 0) / SIDE for letter in "xy")
    own = trace.get("colorscale", scale.get("colorscale"))
    for down, row in zip(positions[1], trace["z"], strict=True):
        for across, value in zip(positions[0], row, strict=True):
            if value is None:
                continue
            left, right = sorted(x.at(across + side * half[0]) for side in (-1, 1))
            top, bottom = sorted(y.at(down + side * half[1]) for side in (-1, 1))
            inside = box(left + thin, top + flat, right - thin, bottom - flat)
            shades[shade(value, low, high, own)] += inside
    return "".join(f'<path d="{d}" fill="{ink}"/>' for ink, d in shades.items())


def shade(value: float, low: float, high: float, scale: Any) -> str:
    """Return the color of a cell: toward one end below zero, toward the other above."""
    if isinstance(scale, list):
        share = 0 if high == low else min(1, max(0, (value - low) / (high - low)))
        k = next(k for k in range(1, len(scale)) if share <= scale[k][0])
        (start, lower_color), (stop, upper_color) = scale[k - 1 : k + 1]
        part = round(SHADES * (share - start) / (stop - start)) / SHADES
        return f"color-mix(in srgb,{upper_color} {part:.0%},{lower_color})"
    end = max(abs(low), abs(high)) or 1
    part = round(SHADES * min(1, abs(value) / end)) / SHADES
    toward = "--ln-high" if value > 0 and low < 0 else "--ln-low"
    return f"color-mix(in srgb,var({toward}) {part:.0%},var(--ln-card))"


def numbers_in(trace: dict, x: Axis, y: Axis) -> list[str]:
    """Write the numbers in the cells of a heat map."""
    template = trace.get("texttemplate", "")
    if "text" in template and "text" in trace:
        texts = trace["text"]
    elif "z" in template:
        texts = [["" if v is None else f"{v:.1f}".replace("-", "−") for v in r] for r in trace["z"]]
    else:
        return []
    size = trace.get("textfont", {}).get("size")
    large = f";font-size:{size}px" if size else ""
    at = "left:{};top:{}" + large
    return [
        f'<i class="ln-in" style="{at.format(percent(across), percent(down))}">{text(word)}</i>'
        for down, row in zip(spots(trace, y), texts, strict=True)
        for across, word in zip(spots(trace, x), row, strict=True)
        if word not in ("", None)
    ]


def anchored(ref: str, axis: Axis, value: Any) -> float:
    """Return the share at which a shape or a note stands."""
    if ref == "paper":
        return value if axis.letter == "x" else 1 - value
    return axis.at(axis.names.index(value) if isinstance(value, str) else value)


def shape(settings: dict, x: Axis, y: Axis) -> str:
    """Draw a line or a rectangle that marks something; on a log axis plotly wants exponents."""

    def coordinate(name, axis):
        ref, value = settings.get(f"{axis.letter}ref", axis.letter), settings[name]
        return anchored(ref, axis, axis.number(value) if ref != "paper" else value)

    left, right, top, bottom = (
        coordinate(n, a) for n, a in (("x0", x), ("x1", x), ("y0", y), ("y1", y))
    )
    style = settings.get("line", {})
    dash = dashes(style)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    stroke = f'stroke="{style.get("color", INK)}" stroke-width="{style.get("width", 2)}"{dashed}'
    if settings["type"] == "line":
        return f'<path d="{path([(left, top), (right, bottom)])}" {stroke}/>'
    fill = settings.get("fillcolor", "none")
    return f'<path d="{box(left, top, right, bottom)}" fill="{fill}" {stroke}/>'


def note(settings: dict, x: Axis, y: Axis) -> str:
    """Write a note at its place."""
    across = anchored(settings.get("xref", "x"), x, settings["x"])
    down = anchored(settings.get("yref", "y"), y, settings["y"])
    side = {"left": "0", "right": "-100%"}.get(settings.get("xanchor", "center"), "-50%")
    rise = {"bottom": "-100%", "top": "0"}.get(settings.get("yanchor", "middle"), "-50%")
    font = settings.get("font", {})
    ink = f";color:{font['color']}" if "color" in font else ""
    ink += f";font-size:{font['size']}px" if "size" in font else ""
    end = (side, rise, settings.get("align")) == ("0", "-50%", "left")  # the name of a line
    if not end:
        ink += f";text-align:{settings['align']}" if "align" in settings else ""
        ink += f";transform:translate({side},{rise})"
    up, right = settings.get("yshift", 0), settings.get("xshift", 0)
    shift = f";margin:{-up}px 0 0 {right}px" if up or right else ""
    kind = ' class="ln-end"' * end
    css_position = f"left:{percent(across)};top:{percent(down)}{ink}{shift}"
    return f'<i{kind} style="{css_position}">{text(settings["text"])}</i>'


def legend(traces: list[dict], layout: dict) -> str:
    """Name the traces, where there are several to tell apart."""
    named = [t for t in traces if t.get("showlegend", True) and t["type"] != "heatmap"]
    if (len(named) < 2 and not layout.get("showlegend")) or layout.get("showlegend") is False:
        return ""
    rows = []
    for trace in named:
        style = trace.get("line", {})
        paint = trace.get("marker", {}).get("color", style.get("color", INK))
        if trace["type"] != "bar":
            paint = style.get("color", paint)
        ink = paint[0] if isinstance(paint, list) else paint
        if trace["type"] == "bar" or trace.get("mode") == "markers":
            mark = f'<path d="M15 6h0" stroke="{ink}" stroke-width="10"/>'
        else:
            dash = dashes(style)
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            mark = f'<path d="M0 6H30" stroke="{ink}" stroke-width="2.5"{dashed}/>'
        name = text(trace.get("name", ""))
        rows.append(f'<span><svg width="30" height="12">{mark}</svg> {name}</span>')
    return f"<p>{''.join(rows)}</p>"
