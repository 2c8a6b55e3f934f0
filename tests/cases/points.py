"""Measuring points and records without times, and points compared with those computed by hand."""

import pytest

from lnlab import records


def without_time(points):
    """Return points without times and with ``None`` for NaN, so that equal ones compare equal."""
    return [{k: None if v != v else v for k, v in p.items() if k != "wall_s"} for p in points]


def read_without_time(path):
    """Return a record without times and provenance, in which equal runs differ."""
    record = records.read(path)
    del record["curves"]["wall_s"], record["provenance"]
    return record


def are_close(actual, expected, **tolerance):
    """Return whether the points have all expected numbers, and NaN where NaN is expected."""
    return len(actual) == len(expected) and all(
        name in a and a[name] == pytest.approx(value, nan_ok=True, **tolerance)
        for a, e in zip(actual, expected, strict=True)
        for name, value in e.items()
    )
