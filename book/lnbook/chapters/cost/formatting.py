"""Formatting of times and ratios."""

from typing import Any


def ratio(value: float | None) -> str:
    """Format a ratio of times; a dash stands for ``None``."""
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def duration(ms: float) -> str:
    """Format a time with two or three digits and its unit."""
    sizes = {"s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
    unit, size = next(((u, s) for u, s in sizes.items() if ms >= s), ("ns", 1e-6))
    return f"{digits(ms / size)} {unit}"


def digits(value: float) -> str:
    """Format a number with two digits, or with all digits before the decimal point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def short(values: Any) -> list[float]:
    """Round numbers to four significant digits for plotting."""
    return [float(f"{v:.4g}") for v in values]
