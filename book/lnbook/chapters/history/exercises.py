"""The exercises of the chapter on the paper's time."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value

# year-and-month


def year_and_month(number: str) -> tuple:
    """Read year and month off a number of arXiv, of April 2007 or later."""
    return 2000 + int(number[:2]), int(number[2:4])


def _numbers(rng: np.random.Generator) -> Iterator[tuple]:
    for number in ("1607.06450", "0704.0001", "2503.10622", "1412.6980"):
        yield (number,)
    year, month, of_month = rng.integers([15, 1, 1], [26, 13, 20_000])
    yield (f"{year}{month:02}.{of_month:05}",)


# share-of-the-updates


def share(none: np.ndarray, layer: np.ndarray) -> float:
    """Return after which share of the updates ``layer`` is as good as ``none`` at its best."""
    there = np.flatnonzero(layer >= none.max())
    return (there[0] + 1) / (none.argmax() + 1) if len(there) else np.inf


def _curves(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([10.0, 30.0, 50.0, 40.0]), np.array([20.0, 50.0, 60.0, 55.0])
    yield np.array([10.0, 30.0, 20.0]), np.array([5.0, 29.0, 28.0])  # never
    for _ in range(3):
        rise = np.linspace(0, 100, 12)
        yield rise + rng.normal(0, 9, 12), 1.3 * rise + rng.normal(0, 9, 12)


def _to_its_own_best(none: np.ndarray, layer: np.ndarray) -> float:
    return (layer.argmax() + 1) / (none.argmax() + 1)


def _from_zero(none: np.ndarray, layer: np.ndarray) -> float:
    there = np.flatnonzero(layer >= none.max())
    return there[0] / none.argmax() if len(there) else np.inf


def _to_the_last(none: np.ndarray, layer: np.ndarray) -> float:
    there = np.flatnonzero(layer >= none[-1])
    return (there[0] + 1) / len(none) if len(there) else np.inf


def _upside_down(none: np.ndarray, layer: np.ndarray) -> float:
    return 1 / share(none, layer)


EXERCISES = {
    "year-and-month": Function(
        year_and_month,
        cases=_numbers,
        returns=("the year", "the month"),
        wrong={
            "the century is missing: 16 means 2016.": lambda number: (
                int(number[:2]),
                int(number[2:4]),
            ),
            "year and month are the other way round.": lambda number: year_and_month(number)[::-1],
        },
        right="Every date of the timeline was read so. It is the first version's.",
    ),
    "seconds-an-update": Value(
        30 * 24 * 3600 / 1.7e6,
        within=0.06,
        wrong={
            2.59: "that is for 1,000,000 updates; the month's run had about 1.7 million.",
            0.66: "this is updates a second; turn it round.",
            0.0254: "that is minutes; a minute has 60 seconds.",
        },
        right="About a second and a half for 2,400 units. How many examples an update had, the "
        "paper does not say; it keeps to the settings of an earlier one.",
        otherwise="divide the seconds of 30 days by 1.7 million.",
    ),
    "break-even": Value(
        1 / 0.6,
        within=0.01,
        wrong={
            1.4: "40 % are saved of the updates; each of the other 60 % may take more of the time.",
            0.6: "then each update would be quicker, and time would be saved twice.",
            1: "then 40 % of the time is saved.",
        },
        right="In our own runs on a CPU a loop over the steps can make an update longer than that: "
        "fewer updates need not be less time.",
        otherwise="0.6 times as many updates, each r times as long, take the same time at 0.6 r = "
        "1.",
    ),
    "share-of-the-updates": Function(
        share,
        cases=_curves,
        wrong={
            "this is when `layer` is at its own best; the question is when it is as good as "
            "`none`.": _to_its_own_best,
            "the first place of an array is the first validation, not the zeroth.": _from_zero,
            "this takes `none` at its end; it was best before.": _to_the_last,
            "the other way round: divide by the updates that `none` took.": _upside_down,
        },
        right="To the same quality, or to its own best: the paper's sentence has the second, and "
        "they are two numbers.",
    ),
}
