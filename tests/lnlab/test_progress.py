"""The speed that the progress bar shows, with a fake clock."""

import io
import re

import pytest

from lnlab.progress import Progress


class Clock:
    """A progress bar with a fake clock."""

    def __init__(self, total):
        self.now, self.out = 100.0, io.StringIO()
        self.bar = Progress(total=total, file=self.out, mininterval=0, disable=False)
        # tqdm uses the clock that exists when a bar is created.
        self.bar._time = lambda: self.now
        self.bar.start_t = self.bar.last_print_t = self.now

    def wait(self, seconds):
        self.now += seconds

    def train(self, updates, seconds):
        for _ in range(updates):
            self.now += seconds
            self.bar.update(1)

    @property
    def rate(self):
        return self.bar.format_dict["rate"]

    @property
    def left(self):
        return re.search(r"<([^,]+),", str(self.bar))[1]


@pytest.fixture
def clock():
    return Clock(1000)


def test_resumed_updates_count_as_done_but_not_in_the_rate(clock):
    clock.bar.skip(900)
    clock.wait(5)
    assert clock.left == "?"
    clock.train(11, 2.0)
    assert clock.bar.n == 911
    assert clock.rate == pytest.approx(0.5)
    assert clock.left == "02:58"  # 89 updates


def test_the_first_estimate_excludes_the_first_update(clock):
    clock.bar.start_run()
    clock.wait(300)  # data
    clock.train(1, 60)  # a compiler
    assert clock.left == "?"
    clock.train(1, 0.25)
    assert clock.rate == pytest.approx(4)


def test_starting_another_run_does_not_change_the_rate(clock):
    clock.train(101, 0.1)
    clock.bar.start_run()
    clock.train(1, 500)
    assert clock.rate == pytest.approx(10)
    clock.train(20, 0.1)
    assert clock.rate == pytest.approx(10)
    assert clock.bar.n == 122


def test_the_rate_before_any_print_is_that_since_the_first_update(clock):
    clock.bar.miniters = clock.bar.mininterval = 50
    clock.wait(77)
    clock.train(5, 0.5)
    assert clock.rate == pytest.approx(2)


def test_hidden_bars_do_nothing():
    """As for every rank except the first."""
    bar = Progress(total=10, disable=True)
    bar.start_run()
    bar.skip(3)
    bar.update(2)
