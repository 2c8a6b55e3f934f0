"""Ranges and ticks of the axes of a panel, as plotly would choose them."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

MARKER_PADDING = 1 / 18  # of the range, on each side


class Axis:
    """An axis of a panel, which maps values to fractions of the panel.

    Args:
        letter: ``"x"`` or ``"y"``.
        layout: Plotly's layout of the axis.
        traces: The traces on this axis.
    """

    def __init__(self, letter: str, layout: dict, traces: list[dict]):
        self.letter, self.layout = letter, layout
        self.is_log = layout.get("type") == "log"
        values = (v for trace in traces for v in coordinates(trace, letter))
        self.categories = list(dict.fromkeys(v for v in values if isinstance(v, str)))
        self.low, self.high = layout.get("range") or self._auto_range(traces)
        if layout.get("autorange") == "reversed":
            self.low, self.high = self.high, self.low

    def _auto_range(self, traces: list[dict]) -> tuple[float, float]:
        """Return the range that contains all points, with padding if there are markers or bars."""
        if self.categories:
            return -0.5, len(self.categories) - 0.5
        numbers: list[float] = []
        padding = 0.0
        for trace in traces:
            values = [v for v in coordinates(trace, self.letter) if v is not None]
            if self.is_log:
                values = [math.log10(v) for v in values if v > 0]
            is_position = self.letter == ("y" if trace.get("orientation") == "h" else "x")
            if values and (trace["type"] == "heatmap" or (trace["type"] == "bar" and is_position)):
                half = min_spacing(values) / 2
                values += [min(values) - half, max(values) + half]
            elif trace["type"] == "bar":
                values, padding = [*values, 0], MARKER_PADDING
            elif self.letter == "y" or "markers" in trace.get("mode", "lines"):
                padding = MARKER_PADDING
            numbers += values
        low, high = (min(numbers), max(numbers)) if numbers else (0, 1)
        pad = (high - low) * padding or 0.5 * (low == high)
        has_bars = any(t["type"] == "bar" for t in traces)  # bars start at 0, without padding
        return low - pad * (low != 0 or not has_bars), high + pad * (high != 0 or not has_bars)

    def to_number(self, value: Any) -> float | None:
        """Return a value in the units of the range: an index, a logarithm or the value itself."""
        if isinstance(value, str):
            return self.categories.index(value)
        if self.is_log and value is not None:
            return math.log10(value) if value > 0 else None
        return value

    def to_fraction(self, number: float | None) -> float | None:
        """Return the position of a number as a fraction of the panel, from the left or the top."""
        if number is None:
            return None
        low, high = self.layout.get("domain", (0, 1))
        fraction = low + (high - low) * (number - self.low) / (self.high - self.low)
        return fraction if self.letter == "x" else 1 - fraction

    def ticks(self) -> list[tuple[float, str]]:
        """Return the position, as a fraction of the panel, and the label of each tick."""
        layout, suffix = self.layout, self.layout.get("ticksuffix", "")
        low, high = sorted((self.low, self.high))
        if "tickvals" in layout:
            values = layout["tickvals"]
        elif self.categories:
            values = self.categories
        elif self.is_log:
            stride = max(1, round((high - low) / 6))
            values = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1, stride)]
        else:
            step = layout.get("dtick") or round_up((high - low) / 5)
            start = layout.get("tick0", 0)
            first = math.ceil((low - start) / step - 1e-9)
            values = [start + k * step for k in range(first, math.floor((high - start) / step) + 1)]
        texts = layout.get("ticktext") or [
            v if self.categories else format_tick(v) + suffix for v in values
        ]
        ticks = [
            (self.to_fraction(self.to_number(v)), str(t))
            for v, t in zip(values, texts, strict=True)
        ]
        return [(x, text) for x, text in ticks if x is not None and -0.01 < x < 1.01]


def axes(panel: dict) -> dict[str, Axis]:
    """Return the axes of a panel by plotly's names, such as ``"yaxis2"``."""
    traces_by_axis: dict[str, list[dict]] = {"xaxis": [], "yaxis": []}
    for trace in panel["data"]:
        for letter in "xy":
            traces_by_axis.setdefault(axis_name(trace, letter), []).append(trace)
    layout = panel["layout"]
    return {
        name: Axis(name[0], layout.get(name, {}), traces) for name, traces in traces_by_axis.items()
    }


def axis_name(trace: dict, letter: str) -> str:
    """Return the name of the x or y axis of a trace."""
    return trace.get(f"{letter}axis", letter).replace(letter, f"{letter}axis", 1)


def coordinates(trace: dict, letter: str) -> Sequence[Any]:
    """Return the x or y values of a trace; indices if it has none."""
    if letter in trace:
        return trace[letter]
    if "z" in trace:
        return range(len(trace["z"] if letter == "y" else trace["z"][0]))
    return range(len(trace["y" if letter == "x" else "x"]))


def fractions(trace: dict, axis: Axis) -> list[float | None]:
    """Return the positions of the points of a trace along an axis, as fractions of the panel."""
    return [axis.to_fraction(axis.to_number(v)) for v in coordinates(trace, axis.letter)]


def min_spacing(numbers: Iterable[float]) -> float:
    """Return the smallest difference between distinct numbers; 1 if there is only one."""
    ordered = sorted(set(numbers))
    return min((b - a for a, b in itertools.pairwise(ordered)), default=1)


def round_up(value: float) -> float:
    """Return the smallest of ..., 1, 2, 5, 10, 20, ... that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(r * power for r in (1, 2, 5, 10) if r * power >= value * (1 - 1e-9))


def format_tick(value: float) -> str:
    """Return the label of a tick: 20k, 0.5, −3, 1e−6."""
    if abs(value) >= 1e4:
        power, letter = (6, "M") if abs(value) >= 1e6 else (3, "k")
        return f"{value / 10**power:g}{letter}".replace("-", "−")
    text = f"{value:.0e}" if 0 < abs(value) < 1e-3 else f"{value:.6g}"
    return text.replace("-", "−").replace("−0", "−") if "e" in text else text.replace("-", "−")
