"""How the bench takes a time, by a clock that is set by hand, and what a row makes of it."""

import pytest

from bench import table


class Clock:
    """Stands for the module ``time``; a call lasts as long as it is told."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    def lasting(self, *seconds):
        """Return a call that lasts so long, one time after the other, then always the last."""
        left = list(seconds)

        def call():
            call.count += 1
            self.now += left.pop(0) if len(left) > 1 else left[0]

        call.count = 0
        return call


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(table, "time", made)
    return made


@pytest.mark.parametrize("times", [1, 4])
def test_times_are_milliseconds_per_call(clock, times):
    call = clock.lasting(0.002, 0.004, 0.006, 0.008)
    expected = {1: 2.0, 4: 5.0}[times]
    assert table.milliseconds(call, times=times) == pytest.approx(expected)
    assert call.count == times


def test_the_result_is_the_median_without_the_first_call(clock):
    slow = clock.lasting(500.0, 0.001, 0.002, 0.030)
    steady = clock.lasting(0.5, 0.004)
    result = table.medians({"slow": slow, "steady": steady}, 0.0, min_calls=3)
    assert result == {"slow": pytest.approx(2.0), "steady": pytest.approx(4.0)}
    assert (slow.count, steady.count) == (4, 4)


def test_candidates_run_until_the_time_limit(clock):
    one, other = clock.lasting(50.0, 1.0), clock.lasting(50.0, 2.0)
    table.medians({"one": one, "other": other}, 10.0, min_calls=2)  # 3 seconds a round, 4 rounds
    assert (one.count, other.count) == (5, 5)
    few = clock.lasting(50.0, 100.0)
    table.medians({"few": few}, 10.0, min_calls=2)
    assert few.count == 3


def test_floors_are_the_shortest_times(clock):
    ways = [clock.lasting(0.001, 0.009, 0.005, 0.007), clock.lasting(0.001, 0.008, 0.006, 0.003)]
    result = table.medians({"a": clock.lasting(1.0, 0.010)}, 0.0, min_calls=3, floors=ways)
    assert result == {"a": pytest.approx(10.0), "floor": pytest.approx(3.0)}


def test_ratios_of_rows_have_four_digits():
    result = table.row("a", "1", "ours", 1.23456789, instead=("theirs", 4.0), floor=("f", 0.33333))
    assert (result["ms"], result["instead_ms"], result["floor_ms"]) == (1.235, 4.0, 0.3333)
    assert result["ratio"] == 0.3086  # of the times as they were taken
    bare = table.row("a", "1", "ours", 2.0, threads=7)
    assert (bare["ratio"], bare["instead_ms"], bare["floor_ms"], bare["threads"]) == (
        None, None, None, 7,
    )  # fmt: skip
