"""Building blocks of figures: styles of norms and gates, bands, and labels of lines."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.common import HEIGHT
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.table import badge
from lnlab import comparison

#: The style of each norm in every figure: label, color, dash. Color is never the only cue.
NORMS = {
    "layer": ("layer norm", COLORS["layer"], "solid"),
    "batch": ("batch norm", COLORS["batch"], "dash"),
    "none": ("no norm", COLORS["none"], "dot"),
    "weight": ("weight norm", COLORS["weight"], "dashdot"),
}
RMS = ("RMS norm", COLORS["rms"], "longdash")
#: The style of each gate of an LSTM, in the order of the rows of W. Color is never the only cue.
GATES = {
    "i": ("input gate i", COLORS["gate-i"], "circle"),
    "f": ("forget gate f", COLORS["gate-f"], "square"),
    "g": ("candidate g", COLORS["gate-g"], "diamond"),
    "o": ("output gate o", COLORS["gate-o"], "triangle-up"),
}


def labels(rows: Sequence[np.ndarray | str]) -> list[str]:
    """Return the labels of a table's rows, corrected as in :func:`lnlab.comparison.labels`.

    Example:
        >>> labels([np.array([-3.0, -1.0, -2.0]), -np.arange(1.0, 11), "diverged"])
        ['3 of 3 seeds', '✓ supported', 'not testable here: diverged']
    """
    return [badge(label) for label in comparison.labels(rows)]


def difference(values: np.ndarray, digits: int = 2, unit: str = "") -> str:
    """Format a mean difference with its lowest and highest value, if there are several seeds.

    Example:
        >>> difference(np.array([-1.0, 3.0]), 1)
        '+1.0 (−1.0 to +3.0)'
        >>> difference(np.array([-1.0, 3.0]), 0, "%")
        '+1% (−1 to +3)'
    """
    low, high = comparison.limits(values)
    text = f"{values.mean():+.{digits}f}{unit}"
    text += f" ({low:+.{digits}f} to {high:+.{digits}f})" if len(values) > 1 else ""
    return text.replace("-", "−")


def suffix(unit: str) -> str:
    """Return a unit as it follows a number: a percent sign without a space, others with one.

    Example:
        >>> suffix("%"), suffix("nats")
        ('%', ' nats')
    """
    return unit if unit == "%" else f" {unit}"


def signs(values: np.ndarray) -> list[str]:
    """Return the color of each number, one for positive and one for negative numbers."""
    return [COLORS["negative" if value < 0 else "positive"] for value in values]


def add_line(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    style: Sequence[str],
    hover: str,
    *,
    width: float = 2.5,
    size: float | None = None,
    **options: Any,
) -> None:
    """Add a line to a panel.

    Args:
        figure: The panel.
        x: Values on the x axis, shape ``(points,)``.
        y: Values on the y axis, shape ``(points,)``.
        style: Label, color and dash, as in :data:`NORMS`, and the symbol of the markers, if any.
        hover: Plotly template of the hover label, which the label follows unless the template has
            an ``<extra>`` part.
        width: Width of the line in pixels.
        size: Size of markers at the points. ``None``: without markers.
        **options: Further properties of the plotly trace.
    """
    label, color, dash, *symbol = style
    marker = {"color": color, "size": size, "symbol": "".join(symbol) or "circle"}
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers" if size else "lines",
        name=label,
        line={"color": color, "dash": dash, "width": width},
        marker=marker if size else None,
        hovertemplate=_hover(hover, label),
        **options,
    )


def add_guide(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    name: str | None = None,
    *,
    color: str = COLORS["gray"],
    width: float = 1.5,
    dash: str = "solid",
    **options: Any,
) -> None:
    """Add a line without hover labels to a panel, such as a diagonal or a level.

    It is in the legend if it has a name. Further options are properties of the plotly trace.
    """
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name=name,
        line={"color": color, "dash": dash, "width": width},
        hoverinfo="skip",
        **{"showlegend": None if name else False, **options},
    )


def add_points(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    style: tuple[str | None, str | list[str], str],
    hover: str = "",
    **marker: Any,
) -> None:
    """Add points to a panel.

    Args:
        figure: The panel.
        x: Values on the x axis, shape ``(points,)``.
        y: Values on the y axis, shape ``(points,)``.
        style: Label, color and symbol, as in :data:`GATES`. ``None`` as the label: the points have
            no hover label and are not in the legend.
        hover: Plotly template of the hover label, as in :func:`add_line`.
        **marker: Further properties of the plotly marker, such as ``size``.
    """
    label, color, symbol = style
    named = {"name": label, "hovertemplate": _hover(hover, label)}
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"color": color, "symbol": symbol, **marker},
        **(named if label else {"hoverinfo": "skip", "showlegend": False}),
    )


def _hover(template: str, label: str | None) -> str:
    return template if "<extra>" in template else f"{template}<extra>{label}</extra>"


def log_axis(
    ticks: Sequence[float],
    ends: Sequence[float] | None = None,
    *,
    title: str | None = None,
    texts: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a logarithmic axis.

    Args:
        ticks: Values with a tick.
        ends: Base-10 logarithms of the lowest and the highest value. ``None``: those of the lines.
        title: Title of the axis.
        texts: Text of each tick. ``None``: the number.
    """
    texts = [f"{tick:g}" for tick in ticks] if texts is None else texts
    axis = {"type": "log", "range": ends, "tickvals": ticks, "ticktext": texts}
    return axis | {"tickangle": 0, "zeroline": False} | ({"title": title} if title else {})


def decades(low: float, high: float, **options: Any) -> dict[str, Any]:
    """Return a logarithmic axis with a tick at each power of ten.

    Args:
        low: Base-10 logarithm of the lowest value.
        high: Base-10 logarithm of the highest value.
        **options: Other arguments of :func:`log_axis`.
    """
    powers = range(math.ceil(low), math.floor(high) + 1)
    texts = [f"{10.0**p:,.{max(0, -p)}f}" for p in powers]
    return log_axis([10.0**p for p in powers], [low, high], texts=texts, **options)


def power_of_ten(exponent: int) -> str:
    """Format a power of ten.

    Example:
        >>> power_of_ten(-8), power_of_ten(0)
        ('10⁻⁸', '1')
    """
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if exponent else "1"


def band(
    figure: go.Figure,
    x: Sequence[float],
    values: Sequence[np.ndarray],
    style: tuple[str, str, str],
    hover: str,
    mode: str = "lines",
) -> None:
    """Add a line to a panel, with a band around it if there is one.

    Args:
        figure: The panel.
        x: Values on the x axis, shape ``(points,)``.
        values: Lower edge of the band, line, and upper edge, each of shape ``(points,)``.
        style: Label, color and dash, as in :data:`NORMS`.
        hover: Plotly template of the hover label.
        mode: Plotly mode of the line.
    """
    label, color, _ = style
    low, middle, high = values
    edges = () if np.array_equal(low, high) else (("lower", low), ("upper", high))
    for edge, y in edges:
        figure.add_scatter(
            x=x,
            y=y,
            name=f"{label}, {edge} edge",
            fill="tonexty" if edge == "upper" else None,
            fillcolor=fade(color),
            mode="lines",
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
    add_line(figure, x, middle, style, hover, size=7 if "markers" in mode else None)
    figure.layout.legend.traceorder = "normal"  # the fill would reverse it


def spread(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the minimum, the mean and the maximum over the seeds, the first axis."""
    return curves.min(0), curves.mean(0), curves.max(0)


LETTER, LINE, GAP = 6.6, 15, 8  # pixels: letter width, line height, gap to the label
WIDEST = 16  # letters: on a phone, a wider label would leave too little room for the lines
AROUND = 66  # pixels of a panel's height outside the plot area


def label_ends(figure: go.Figure) -> go.Figure:
    """Replace the legend by the name of each line, in its color, at its last point.

    Overlapping names are moved apart. If a name is too wide, the legend stays.

    Args:
        figure: A complete panel.

    Returns:
        The same panel.
    """
    lines = [
        trace
        for trace in figure.data
        if trace.type == "scatter"
        and "lines" in (trace.mode or "")
        and trace.name
        and trace.fill != "toself"
        and trace.showlegend is not False
        and np.isfinite(np.asarray(trace.y, dtype=float)).any()
    ]
    names = [_two_lines(trace.name) for trace in lines]
    widest = max((len(part) for name in names for part in name.split("<br>")), default=0)
    if not lines or widest > WIDEST:
        return figure
    x, y = (_ends(figure, lines, letter) for letter in "xy")
    _, (low, high) = (_range(figure, letter) for letter in "xy")
    plot_height = (figure.layout.height or HEIGHT) - AROUND
    wanted_positions = (np.clip((y - low) / (high - low), 0, 1) * plot_height).tolist()
    heights = [LINE * (1 + name.count("<br>")) for name in names]
    figure.layout.annotations += tuple(
        {
            "x": x[k],
            "y": min(max(y[k], min(low, high)), max(low, high)),
            "text": names[k],
            "showarrow": False,
            "xanchor": "left",
            "xshift": GAP,
            "yshift": round(moved - wanted_positions[k]),
            "align": "left",
            "font": {"color": lines[k].line.color},
        }
        for k, moved in enumerate(_spread_labels(wanted_positions, heights, plot_height))
    )
    for trace in lines:
        trace.showlegend = False
    others = any(trace.name and trace.showlegend is not False for trace in figure.data)
    figure.update_layout(showlegend=others, margin={"r": round(GAP + 8 + LETTER * widest)})
    return figure


def _two_lines(name: str) -> str:
    """Break a long name after a comma if both parts fit, or else into parts of similar length."""
    breaks = [k for k, letter in enumerate(name) if letter == " "]
    if len(name) <= WIDEST or not breaks:
        return name

    def poor(k: int) -> tuple[bool, bool, int]:
        longer = max(k, len(name) - k - 1)
        return longer > WIDEST, name[k - 1] != ",", abs(2 * k + 1 - len(name))

    k = min(breaks, key=poor)
    return f"{name[:k]}<br>{name[k + 1 :]}"


def _range(figure: go.Figure, letter: str) -> tuple[float, float]:
    """Return the range of an axis without the room for labels that plotly would add."""
    axis = figure.layout[f"{letter}axis"]
    if axis.range is None:
        values = np.concatenate([np.asarray(trace[letter], dtype=float) for trace in figure.data])
        known = values[np.isfinite(values)]
        if axis.type == "log":
            known = np.log10(known[known > 0])
        low, high = known.min(), known.max()
        pad = 0.04 * (high - low)
        ends = (low - pad, high + pad)
        axis.range, axis.autorange = ends[:: -1 if axis.autorange == "reversed" else 1], None
    return axis.range


def _ends(figure: go.Figure, lines: Sequence[Any], letter: str) -> np.ndarray:
    """Return the end points of the lines, in the units of the axis."""
    results = []
    for trace in lines:
        x, y = (np.asarray(values, dtype=float) for values in (trace.x, trace.y))
        last = np.flatnonzero(np.isfinite(x) & np.isfinite(y))[-1]
        results.append((x if letter == "x" else y)[last])
    return np.log10(results) if figure.layout[f"{letter}axis"].type == "log" else np.array(results)


def _spread_labels(
    wanted_positions: Sequence[float], heights: Sequence[float], plot_height: float
) -> np.ndarray:
    """Move labels as little as possible until none covers another or leaves the plot.

    Args:
        wanted_positions: Centers of the labels, in pixels from the bottom.
        heights: Heights of the labels, in pixels.
        plot_height: Height of the plot, in pixels.
    """
    order = np.argsort(wanted_positions, kind="stable")
    gaps = [(heights[a] + heights[b]) / 2 for a, b in itertools.pairwise(order)]
    stacked = np.cumsum([0, *gaps])  # positions if each touches the next
    groups: list[tuple[float, int]] = []  # of labels that touch: offset and number
    for k, offset in zip(order, stacked, strict=True):
        groups.append((wanted_positions[k] - offset, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (first, n), (second, m) = groups[-2:]
            groups[-2:] = [((n * first + m * second) / (n + m), n + m)]
    moved = np.concatenate([np.full(n, offset) for offset, n in groups])
    positions = np.empty(len(order))
    low, high = heights[order[0]] / 2, plot_height - stacked[-1] - heights[order[-1]] / 2
    positions[order] = stacked + np.clip(moved, low, max(low, high))
    return positions


def cursor(x: float) -> dict[str, Any]:
    """Return a vertical line at ``x``, over the whole height of a panel, for its ``shapes``."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": COLORS["gray"], "width": 1.5},
    }
