"""Where the values of a panel lie along its axes, and the ticks, as plotly would choose them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any


class Axis:
    """Where a value lies along an axis, as a share of the panel from the left or the top."""

    def __init__(self, letter: str, layout: dict, traces: list[dict]):
        self.letter, self.layout = letter, layout
        self.log = layout.get("type") == "log"
        self.names = list(
            dict.fromkeys(v for t in traces for v in places(t, letter) if isinstance(v, str))
        )
        self.low, self.high = layout.get("range") or self._range(traces)
        if layout.get("autorange") == "reversed":
            self.low, self.high = self.high, self.low

    def _range(self, traces: list[dict]) -> tuple[float, float]:
        """Return what plotly would show: all points, with room where there are marks."""
        if self.names:
            return -0.5, len(self.names) - 0.5
        numbers: list[float] = []
        room = 0.0
        for trace in traces:
            known = [v for v in places(trace, self.letter) if v is not None]
            known = [math.log10(v) if self.log else v for v in known if v > 0 or not self.log]
            along = self.letter == ("y" if trace.get("orientation") == "h" else "x")
            if known and (trace["type"] == "heatmap" or (trace["type"] == "bar" and along)):
                known += [min(known) - gap(known) / 2, max(known) + gap(known) / 2]
            elif trace["type"] == "bar":
                known, room = [*known, 0], 1 / 18
            elif self.letter == "y" or "markers" in trace.get("mode", "lines"):
                room = 1 / 18
            numbers += known
        low, high = (min(numbers), max(numbers)) if numbers else (0, 1)
        pad = (high - low) * room or 0.5 * (low == high)
        bars = any(t["type"] == "bar" for t in traces)
        return low - pad * (low != 0 or not bars), high + pad * (high != 0 or not bars)

    def number(self, value: Any) -> float | None:
        """Return where a value lies in the units of the range."""
        if isinstance(value, str):
            return self.names.index(value)
        if self.log and value is not None:
            return math.log10(value) if value > 0 else None
        return value

    def at(self, number: float | None) -> float | None:
        """Return the share of the panel that lies before a number of the range."""
        if number is None:
            return None
        low, high = self.layout.get("domain", (0, 1))
        share = low + (high - low) * (number - self.low) / (self.high - self.low)
        return share if self.letter == "x" else 1 - share

    def ticks(self) -> list[tuple[float, str]]:
        """Return places and labels."""
        layout, suffix = self.layout, self.layout.get("ticksuffix", "")
        low, high = sorted((self.low, self.high))
        if "tickvals" in layout:
            values = layout["tickvals"]
        elif self.names:
            values = self.names
        elif self.log:
            stride = max(1, round((high - low) / 6))
            values = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1, stride)]
        else:
            step, start = layout.get("dtick") or rounded((high - low) / 5), layout.get("tick0", 0)
            first = math.ceil((low - start) / step - 1e-9)
            values = [start + k * step for k in range(first, math.floor((high - start) / step) + 1)]
        texts = layout.get("ticktext") or [v if self.names else short(v) + suffix for v in values]
        results = [(self.at(self.number(v)), str(t)) for v, t in zip(values, texts, strict=True)]
        return [
            (share, text) for share, text in results if share is not None and -0.01 < share < 1.01
        ]


def axes(panel: dict) -> dict[str, Axis]:
    """Return a panel's axes by plotly's names, such as ``"yaxis2"``."""
    lying: dict[str, list[dict]] = {"xaxis": [], "yaxis": []}
    for trace in panel["data"]:
        for letter in "xy":
            lying.setdefault(axis_of(trace, letter), []).append(trace)
    layout = panel["layout"]
    return {name: Axis(name[0], layout.get(name, {}), result) for name, result in lying.items()}


def axis_of(trace: dict, letter: str) -> str:
    """Return the name of the axis along which a trace lies."""
    return trace.get(f"{letter}axis", letter).replace(letter, f"{letter}axis", 1)


def places(trace: dict, letter: str) -> Sequence[Any]:
    """Return a trace's values along an axis; counted, where it gives none."""
    if letter in trace:
        return trace[letter]
    if "z" in trace:
        return range(len(trace["z"] if letter == "y" else trace["z"][0]))
    return range(len(trace["y" if letter == "x" else "x"]))


def spots(trace: dict, axis: Axis) -> list[float | None]:
    """Return the shares at which a trace's points lie."""
    return [axis.at(axis.number(v)) for v in places(trace, axis.letter)]


def gap(numbers: Iterable[float]) -> float:
    """Return the smallest distance between two different numbers."""
    ordered = sorted(set(numbers))
    return min((b - a for a, b in itertools.pairwise(ordered)), default=1)


def rounded(least: float) -> float:
    """Return the least of 1, 2, 5, 10, 20 … that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(r * power for r in (1, 2, 5, 10) if r * power >= least * (1 - 1e-9))


def short(value: float) -> str:
    """Write a tick's number: 20k, 0.5, −3, 1e−6."""
    if abs(value) >= 1e4:
        power, letter = (6, "M") if abs(value) >= 1e6 else (3, "k")
        return f"{value / 10**power:g}{letter}".replace("-", "−")
    text = f"{value:.0e}" if 0 < abs(value) < 1e-3 else f"{value:.6g}"
    return text.replace("-", "−").replace("−0", "−") if "e" in text else text.replace("-", "−")
