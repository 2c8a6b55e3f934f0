"""Render a plotly figure as static SVG, which a page shows until plotly.js has drawn the figure.

The SVG is part of the first paint of the page, and it stays if there is no JavaScript. It supports
what the figures of the book use: lines, bands, markers, bars, heat maps, shapes and annotations.
Colors are CSS variables, so that they follow the theme, and positions are fractions of the panel,
so that it fits every width.
"""

import html
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from lnbook.explorer.axes import Axis, axes, axis_name, coordinates, fractions, min_spacing
from lnbook.figures.colors import COLORS, fade

SIZE = 1000  # width and height of a panel in units of the SVG
TOLERANCE = 0.0015  # of a panel: half a pixel of its height, or one of its width
TICK_CHAR_PX = 6.4  # width of a character of a tick label
DASHES = {"dot": "2 4", "dash": "8 5", "dashdot": "8 4 2 4"}
DEFAULT_COLOR = "var(--ln-gray)"
COLOR_VARIABLES = {color: f"var(--ln-{name})" for name, color in COLORS.items()}
FADED_COLORS = {fade(color).rpartition(",")[0]: name for color, name in COLOR_VARIABLES.items()}
SHADES = 20  # of a heat map, on each side of its middle
BAR_GAP = 0.2  # between bars, as a fraction of their spacing

Point = tuple[float | None, float | None]  # fractions of the panel; None breaks a line


def render_static_svg(panel: dict) -> str:
    """Return a panel as HTML that fits the size of its parent.

    Args:
        panel: See :func:`lnbook.explorer.static_html.panel_spec`; JSON values only.

    Returns:
        One ``<div>``, hidden from screen readers, which read the description instead.
    """
    layout, traces = panel["layout"], panel["data"]
    by_name = axes(panel)
    x, y = by_name["xaxis"], by_name["yaxis"]
    visible_axes = [axis for axis in by_name.values() if axis.layout.get("visible", True)]
    shapes = layout.get("shapes", [])
    svg = [grid_lines(axis) for axis in visible_axes]
    texts = [label for axis in visible_axes for label in axis_labels(axis)]
    svg += [shape(s, x, y) for s in shapes if s.get("layer") == "below"]
    bars = [t for t in traces if t["type"] == "bar"]
    stacked: dict[Any, float] = defaultdict(float)  # total height of the bars at a position
    previous: list[Point] = []  # points of the previous line, the other edge of a band
    for trace in traces:
        trace_y = by_name[axis_name(trace, "y")]
        if trace["type"] == "heatmap":
            svg.append(heatmap(trace, layout.get("coloraxis", {}), x, trace_y))
            texts += heatmap_texts(trace, x, trace_y)
        elif trace["type"] == "bar":
            num_groups = 1 if layout.get("barmode") in ("stack", "overlay") else len(bars)
            group = 0 if num_groups == 1 else next(k for k, t in enumerate(bars) if t is trace)
            width = (1 - layout.get("bargap", BAR_GAP)) / num_groups
            offset = (group - num_groups / 2) * width
            base = stacked if layout.get("barmode") == "stack" else defaultdict(float)
            svg.append(bar(trace, offset, width, base, x, trace_y))
        else:
            points = list(zip(fractions(trace, x), fractions(trace, trace_y), strict=True))
            svg.append(line(trace, points, previous))
            previous = points
    svg += [shape(s, x, y) for s in shapes if s.get("layer") != "below"]
    texts += [annotation(a, x, y) for a in layout.get("annotations", [])]
    style = ";".join(
        f"--{side}:{px:.0f}px" for side, px in margins(layout, visible_axes, x).items()
    )
    if "scaleanchor" in y.layout:
        style += f";--ratio:{abs((x.high - x.low) / (y.high - y.low)):.4g}"
    result = (
        f'<div class="ln-still" style="{style}" aria-hidden="true">{legend(traces, layout)}'
        f'<div><div><svg viewBox="0 0 {SIZE} {SIZE}" preserveAspectRatio="none">'
        f"{''.join(svg)}</svg>{''.join(texts)}</div></div></div>"
    )
    return re.sub(r"#[0-9a-f]{6}\b|rgba\([^)]*\)", replace_color, result)


def margins(layout: dict, visible_axes: list[Axis], x: Axis) -> dict[str, float]:
    """Return the margins for tick labels and titles in pixels, by plotly's names of the sides."""
    tick_lengths = (len(t) for a in visible_axes if a.letter == "y" for _, t in a.ticks())
    longest = max(tick_lengths, default=-2)
    has_title = {
        letter: any("title" in a.layout for a in visible_axes if a.letter == letter)
        for letter in "xy"
    }
    return {
        "l": 12 + TICK_CHAR_PX * (longest + 1.5) + 18 * has_title["y"],
        "t" if x.layout.get("side") == "top" else "b": 12
        + 22 * (x in visible_axes)
        + 18 * has_title["x"],
    } | layout.get("margin", {})


def grid_lines(axis: Axis) -> str:
    """Return the grid lines of an axis."""
    if not axis.layout.get("showgrid", True) or axis.categories:
        return ""
    template = "M{:.0f} 0V1000" if axis.letter == "x" else "M0 {:.0f}H1000"
    return (
        f'<path class="ln-grid" d="{"".join(template.format(SIZE * s) for s, _ in axis.ticks())}"/>'
    )


def axis_labels(axis: Axis) -> list[str]:
    """Return the tick labels and the title of an axis."""
    is_top = axis.layout.get("side") == "top"
    tick_class = ' class="ln-over"' * is_top
    title_class = f"ln-{axis.letter}" + " ln-over" * is_top
    labels = [
        f'<i{tick_class} style="--{axis.letter}:{percent(s)}">{escape(t)}</i>'
        for s, t in axis.ticks()
    ]
    title = axis.layout.get("title", {}).get("text")
    return [*labels, f'<b class="{title_class}">{escape(title)}</b>'] if title else labels


def percent(fraction: float) -> str:
    """Return a fraction in percent, with at most one decimal.

    Example:
        >>> percent(0.5), percent(0.1234)
        ('50%', '12.3%')
    """
    return f"{round(100 * fraction, 1) + 0.0:g}%"


def replace_color(match: re.Match) -> str:
    """Return the CSS variable of a color of the book, which a dark page redefines."""
    rgb, _, alpha = match[0].rpartition(",")
    if rgb in FADED_COLORS:
        return f"color-mix(in srgb,{FADED_COLORS[rgb]} {float(alpha[:-1]):.0%},transparent)"
    return COLOR_VARIABLES.get(match[0], match[0])


def escape(value: Any) -> str:
    """Return a text of plotly, which may contain ``<br>``, as HTML."""
    return html.escape(str(value).replace("<br>", "\n"), quote=False)


def simplify(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a polyline without points that are closer to it than ``TOLERANCE``.

    This is the Ramer-Douglas-Peucker algorithm.

    Example:
        >>> simplify([(0, 0), (0.4, 0.3), (0.5, 0.3755), (0.8, 0.6), (1, 0)])
        [(0, 0), (0.8, 0.6), (1, 0)]
    """
    first, last = points[0], points[-1]
    direction = last[0] - first[0], last[1] - first[1]
    squared_length = direction[0] ** 2 + direction[1] ** 2

    def distance(point):
        u, v = point[0] - first[0], point[1] - first[1]
        dot = u * direction[0] + v * direction[1]
        t = min(1, max(0, dot / squared_length)) if squared_length else 0
        return math.hypot(u - t * direction[0], v - t * direction[1])

    k = max(range(len(points)), key=lambda i: distance(points[i]))
    if distance(points[k]) <= TOLERANCE:
        return [first, last] if len(points) > 1 else [first]
    return [*simplify(points[: k + 1])[:-1], *simplify(points[k:])]


def path(points: Iterable[Point]) -> str:
    """Return the path of a simplified polyline in integer units; missing points break it."""
    parts = []
    for is_present, run in itertools.groupby(points, key=lambda point: None not in point):
        if is_present:
            vertices = [(round(SIZE * x), round(SIZE * y)) for x, y in simplify(list(run))]
            steps = [f"{x - u} {y - v}" for (u, v), (x, y) in itertools.pairwise(vertices)]
            parts.append(
                f"M{vertices[0][0]} {vertices[0][1]}" + "l" * bool(steps) + " ".join(steps)
            )
    return "".join(parts).replace(" -", "-")


def line(trace: dict, points: list[Point], previous: list[Point]) -> str:
    """Return the line, the filled area and the markers of a scatter trace.

    Args:
        trace: The trace.
        points: Its points.
        previous: Points of the trace before it, up to which ``fill="tonexty"`` fills.
    """
    style, mode = trace.get("line", {}), trace.get("mode", "lines+markers")
    color, width = style.get("color", DEFAULT_COLOR), style.get("width", 2)
    parts = []
    if "fill" in trace:
        outline = points + previous[::-1] if trace["fill"] == "tonexty" else points
        parts.append(f'<path d="{path(outline)}Z" fill="{trace.get("fillcolor", color)}"/>')
    if "lines" in mode and width:
        dash = dash_attribute(style)
        parts.append(f'<path d="{path(points)}" stroke="{color}" stroke-width="{width}"{dash}/>')
    if "markers" in mode:
        marker = trace.get("marker", {})
        colors, size = marker.get("color", color), marker.get("size", 6)
        dots = defaultdict(str)  # lines of length 0 with round caps
        for k, (x, y) in enumerate(points):
            if x is not None and y is not None:
                dots[color_of(colors, k)] += f"M{SIZE * x:.0f} {SIZE * y:.0f}h0"
        parts += [f'<path d="{d}" stroke="{c}" stroke-width="{size}"/>' for c, d in dots.items()]
    opacity = trace.get("opacity", trace.get("marker", {}).get("opacity", 1))
    return f'<g opacity="{opacity}">{"".join(parts)}</g>' if opacity != 1 else "".join(parts)


def color_of(colors: str | list[str], k: int) -> str:
    """Return the color of point ``k``, if there is one for each, or of all points."""
    return colors[k] if isinstance(colors, list) else colors


def dash_attribute(style: dict) -> str:
    """Return the ``stroke-dasharray`` of a line in pixels; empty for a solid line."""
    name = style.get("dash", "solid")
    dashes = DASHES.get(name) or " ".join(re.findall(r"\d+", name))
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def rectangle(left: float, top: float, right: float, bottom: float) -> str:
    """Return the path of a rectangle, given in fractions of the panel."""
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    width, height = SIZE * (right - left), SIZE * (bottom - top)
    return f"M{SIZE * left:.0f} {SIZE * top:.0f}h{width:.0f}v{height:.0f}h{-width:.0f}z"


def bar(trace: dict, offset: float, width: float, base: dict[Any, float], x: Axis, y: Axis) -> str:
    """Return the bars of a trace, and add their heights to ``base``.

    Args:
        trace: The trace.
        offset: Distance from the position of a bar to its left edge, in units of the spacing.
        width: Width of a bar, in units of the spacing.
        base: Maps a position to the height at which its bar starts.
        x: The x axis.
        y: The y axis.
    """
    position_axis, value_axis = (y, x) if trace.get("orientation") == "h" else (x, y)
    positions = [position_axis.to_number(v) for v in coordinates(trace, position_axis.letter)]
    spacing = 1 if position_axis.categories else min_spacing(positions)
    colors = trace.get("marker", {}).get("color", DEFAULT_COLOR)
    paths = defaultdict(str)
    for k, value in enumerate(coordinates(trace, value_axis.letter)):
        if (end := value_axis.to_number(value)) is None:
            continue
        start = value_axis.low if value_axis.is_log else base[positions[k]]
        base[positions[k]] = end = end if value_axis.is_log else start + end
        edges = [
            position_axis.to_fraction(positions[k] + (offset + e) * spacing) for e in (0, width)
        ]
        ends = [value_axis.to_fraction(start), value_axis.to_fraction(end)]
        corners = (edges[0], ends[0], edges[1], ends[1])
        if value_axis is x:
            corners = (ends[0], edges[0], ends[1], edges[1])
        paths[color_of(colors, k)] += rectangle(*corners)
    return "".join(f'<path d="{d}" fill="{color}"/>' for color, d in paths.items())


def heatmap(trace: dict, coloraxis: dict, x: Axis, y: Axis) -> str:
    """Return the cells of a heat map, with one path for all cells of the same color."""
    values = [v for row in trace["z"] for v in row if v is not None] or [0]
    low = trace.get("zmin", coloraxis.get("cmin", min(values)))
    high = trace.get("zmax", coloraxis.get("cmax", max(values)))
    paths = defaultdict(str)
    positions = [[axis.to_number(v) for v in coordinates(trace, axis.letter)] for axis in (x, y)]
    half = [min_spacing(numbers) / 2 for numbers in positions]
    # A pixel is about two units of the SVG, so the gap in pixels is half of it on each side.
    x_gap, y_gap = (trace.get(f"{letter}gap", 0) / SIZE for letter in "xy")
    scale = trace.get("colorscale", coloraxis.get("colorscale"))
    for row_position, row in zip(positions[1], trace["z"], strict=True):
        for column_position, value in zip(positions[0], row, strict=True):
            if value is None:
                continue
            left, right = sorted(x.to_fraction(column_position + s * half[0]) for s in (-1, 1))
            top, bottom = sorted(y.to_fraction(row_position + s * half[1]) for s in (-1, 1))
            cell = rectangle(left + x_gap, top + y_gap, right - x_gap, bottom - y_gap)
            paths[cell_color(value, low, high, scale)] += cell
    return "".join(f'<path d="{d}" fill="{color}"/>' for color, d in paths.items())


def cell_color(value: float, low: float, high: float, scale: Any) -> str:
    """Return the color of a cell of a heat map.

    Args:
        value: The value of the cell.
        low: Lower end of the color range.
        high: Upper end of the color range.
        scale: Plotly's list of ``[fraction, color]``. Otherwise, the colors are those of the page,
            with one side for positive and one for negative values.
    """
    if isinstance(scale, list):
        fraction = 0 if high == low else min(1, max(0, (value - low) / (high - low)))
        k = next(k for k in range(1, len(scale)) if fraction <= scale[k][0])
        (start, lower_color), (stop, upper_color) = scale[k - 1 : k + 1]
        weight = round(SHADES * (fraction - start) / (stop - start)) / SHADES
        return f"color-mix(in srgb,{upper_color} {weight:.0%},{lower_color})"
    limit = max(abs(low), abs(high)) or 1
    weight = round(SHADES * min(1, abs(value) / limit)) / SHADES
    variable = "--ln-high" if value > 0 and low < 0 else "--ln-low"
    return f"color-mix(in srgb,var({variable}) {weight:.0%},var(--ln-card))"


def heatmap_texts(trace: dict, x: Axis, y: Axis) -> list[str]:
    """Return the texts in the cells of a heat map."""
    template = trace.get("texttemplate", "")
    if "text" in template and "text" in trace:
        texts = trace["text"]
    elif "z" in template:
        texts = [["" if v is None else f"{v:.1f}".replace("-", "−") for v in r] for r in trace["z"]]
    else:
        return []
    size = trace.get("textfont", {}).get("size")
    style = "left:{};top:{}" + (f";font-size:{size}px" if size else "")
    return [
        f'<i class="ln-in" style="{style.format(percent(left), percent(top))}">{escape(text)}</i>'
        for top, row in zip(fractions(trace, y), texts, strict=True)
        for left, text in zip(fractions(trace, x), row, strict=True)
        if text not in ("", None)
    ]


def anchor_fraction(ref: str, axis: Axis, value: Any) -> float:
    """Return the position of a shape or annotation as a fraction of the panel.

    Args:
        ref: ``"paper"`` if the value is a fraction of the panel, otherwise the name of the axis.
        axis: The axis.
        value: A category or a number in the units of the axis' range.
    """
    if ref == "paper":
        return value if axis.letter == "x" else 1 - value
    return axis.to_fraction(axis.categories.index(value) if isinstance(value, str) else value)


def shape(settings: dict, x: Axis, y: Axis) -> str:
    """Return a line or a rectangle; on a log axis, its coordinates are values, not exponents."""

    def coordinate(name, axis):
        ref, value = settings.get(f"{axis.letter}ref", axis.letter), settings[name]
        return anchor_fraction(ref, axis, axis.to_number(value) if ref != "paper" else value)

    left, right, top, bottom = (
        coordinate(n, a) for n, a in (("x0", x), ("x1", x), ("y0", y), ("y1", y))
    )
    style = settings.get("line", {})
    color, width = style.get("color", DEFAULT_COLOR), style.get("width", 2)
    stroke = f'stroke="{color}" stroke-width="{width}"{dash_attribute(style)}'
    if settings["type"] == "line":
        return f'<path d="{path([(left, top), (right, bottom)])}" {stroke}/>'
    fill = settings.get("fillcolor", "none")
    return f'<path d="{rectangle(left, top, right, bottom)}" fill="{fill}" {stroke}/>'


def annotation(settings: dict, x: Axis, y: Axis) -> str:
    """Return an annotation as HTML."""
    left = anchor_fraction(settings.get("xref", "x"), x, settings["x"])
    top = anchor_fraction(settings.get("yref", "y"), y, settings["y"])
    dx = {"left": "0", "right": "-100%"}.get(settings.get("xanchor", "center"), "-50%")
    dy = {"bottom": "-100%", "top": "0"}.get(settings.get("yanchor", "middle"), "-50%")
    font = settings.get("font", {})
    style = f";color:{font['color']}" if "color" in font else ""
    style += f";font-size:{font['size']}px" if "size" in font else ""
    is_line_label = (dx, dy, settings.get("align")) == ("0", "-50%", "left")
    if not is_line_label:
        style += f";text-align:{settings['align']}" if "align" in settings else ""
        style += f";transform:translate({dx},{dy})"
    up, right = settings.get("yshift", 0), settings.get("xshift", 0)
    style += f";margin:{-up}px 0 0 {right}px" if up or right else ""
    css_class = ' class="ln-end"' * is_line_label
    position = f"left:{percent(left)};top:{percent(top)}"
    return f'<i{css_class} style="{position}{style}">{escape(settings["text"])}</i>'


def legend(traces: list[dict], layout: dict) -> str:
    """Return the legend, which plotly shows by default if there are at least two traces."""
    named = [t for t in traces if t.get("showlegend", True) and t["type"] != "heatmap"]
    if (len(named) < 2 and not layout.get("showlegend")) or layout.get("showlegend") is False:
        return ""
    entries = []
    for trace in named:
        style = trace.get("line", {})
        colors = trace.get("marker", {}).get("color", style.get("color", DEFAULT_COLOR))
        if trace["type"] != "bar":
            colors = style.get("color", colors)
        color = color_of(colors, 0)
        if trace["type"] == "bar" or trace.get("mode") == "markers":
            mark = f'<path d="M15 6h0" stroke="{color}" stroke-width="10"/>'
        else:
            dash = dash_attribute(style)
            mark = f'<path d="M0 6H30" stroke="{color}" stroke-width="2.5"{dash}/>'
        name = escape(trace.get("name", ""))
        entries.append(f'<span><svg width="30" height="12">{mark}</svg> {name}</span>')
    return f"<p>{''.join(entries)}</p>"
