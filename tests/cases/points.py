"""Measuring points of a run: without times, and compared with points that are computed by hand."""

import pytest


def without_time(points):
    """Return points without times and with ``None`` for NaN, so that equal ones compare equal."""
    return [{k: None if v != v else v for k, v in p.items() if k != "wall_s"} for p in points]


def are_close(actual, expected, **tolerance):
    """Return whether the points have all expected numbers, and NaN where NaN is expected."""
    return len(actual) == len(expected) and all(
        name in a and a[name] == pytest.approx(value, nan_ok=True, **tolerance)
        for a, e in zip(actual, expected, strict=True)
        for name, value in e.items()
    )
