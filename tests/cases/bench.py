"""Fake times in place of measured ones for the benchmarks, and the check of a row."""

import itertools

import pytest


class FakeMedians:
    """Replacement of :func:`bench.table.medians`: runs every call once and returns fake times."""

    def __init__(self, run=True):
        self.ms, self.calls, self.options, self.run = [], [], [], run

    def __call__(self, candidates, seconds, device="cpu", min_calls=5, times=1, floors=()):
        numbers = itertools.count(2 + 100 * len(self.ms))
        results = {name: 1.0 * next(numbers) for name in candidates}
        if floors:
            results["floor"] = 0.5 + len(self.ms)
        for call in [*candidates.values(), *floors] if self.run else []:
            call()
        self.ms.append(results)
        self.calls.append(dict(candidates))
        self.options.append({"device": device, "times": times, "floors": list(floors)})
        return dict(results)


def check(row, ms, instead, floor=None):
    """Compare a row with the times from which it is computed."""
    assert row["ms"] == pytest.approx(ms, rel=1e-3)
    if instead is None:
        assert row["instead_ms"] is None
        assert row["ratio"] is None
    else:
        assert row["instead_ms"] == pytest.approx(instead, rel=1e-3)
        assert row["ratio"] == pytest.approx(ms / instead, rel=1e-3)
    assert row["floor_ms"] == (None if floor is None else pytest.approx(floor, rel=1e-3))


def find_row(rows, **wanted):
    (result,) = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    return result
