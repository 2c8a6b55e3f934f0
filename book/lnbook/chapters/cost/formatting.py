"""How this chapter writes times and ratios, and draws its axes."""

from __future__ import annotations

import math
from typing import Any


def ratio(value: float | None) -> str:
    """Write how many times as long; a dash for nothing."""
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def duration(ms: float) -> str:
    """Write a time in two or three digits, with its unit."""
    sizes = {"s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
    unit, size = next(((u, s) for u, s in sizes.items() if ms >= s), ("ns", 1e-6))
    return f"{digits(ms / size)} {unit}"


def digits(value: float) -> str:
    """Write a number in two digits, or all of those before its point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def short(values: Any) -> list[float]:
    """Round numbers that are drawn to four digits."""
    return [float(f"{v:.4g}") for v in values]


def decades(low: float, high: float) -> dict:
    """Return a logarithmic axis with a tick at each power of ten."""
    powers = range(math.ceil(low), math.floor(high) + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": [10.0**p for p in powers],
        "ticktext": [f"{10**p:,}" if p >= 0 else f"{10.0**p:.{-p}f}" for p in powers],
        "zeroline": False,
    }
