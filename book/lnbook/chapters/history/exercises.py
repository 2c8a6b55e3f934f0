"""The exercises of the chapter ``history``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function, Value

# year-and-month


def year_and_month(number: str) -> tuple:
    """Return the year and month of an arXiv number of April 2007 or later."""
    return 2000 + int(number[:2]), int(number[2:4])


def _numbers(rng: np.random.Generator) -> Iterator[tuple]:
    for number in ("1607.06450", "0704.0001", "2503.10622", "1412.6980"):
        yield (number,)
    year, month, of_month = rng.integers([15, 1, 1], [26, 13, 20_000])
    yield (f"{year}{month:02}.{of_month:05}",)


# share-of-the-updates


def share(none: np.ndarray, layer: np.ndarray) -> float:
    """Return the fraction of the updates after which ``layer`` equals the best of ``none``."""
    reached = np.flatnonzero(layer >= none.max())
    return (reached[0] + 1) / (none.argmax() + 1) if len(reached) else np.inf


def _curves(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([10.0, 30.0, 50.0, 40.0]), np.array([20.0, 50.0, 60.0, 55.0])
    yield np.array([10.0, 30.0, 20.0]), np.array([5.0, 29.0, 28.0])  # never
    for _ in range(3):
        rise = np.linspace(0, 100, 12)
        yield rise + rng.normal(0, 9, 12), 1.3 * rise + rng.normal(0, 9, 12)


def _to_its_own_best(none: np.ndarray, layer: np.ndarray) -> float:
    return (layer.argmax() + 1) / (none.argmax() + 1)


def _from_zero(none: np.ndarray, layer: np.ndarray) -> float:
    reached = np.flatnonzero(layer >= none.max())
    return reached[0] / none.argmax() if len(reached) else np.inf


def _to_the_last(none: np.ndarray, layer: np.ndarray) -> float:
    reached = np.flatnonzero(layer >= none[-1])
    return (reached[0] + 1) / len(none) if len(reached) else np.inf


def _upside_down(none: np.ndarray, layer: np.ndarray) -> float:
    return 1 / share(none, layer)


EXERCISES = {
    "year-and-month": Function(
        year_and_month,
        cases=_numbers,
        returns=("the year", "the month"),
        misconceptions={
            "the century is missing: 16 means 2016.": lambda number: (
                int(number[:2]),
                int(number[2:4]),
            ),
            "year and month are swapped.": lambda number: year_and_month(number)[::-1],
        },
        on_success="Every date in the timeline was read this way. It is the date of the first "
        "version.",
    ),
    "seconds-an-update": Value(
        30 * 24 * 3600 / 1.7e6,
        atol=0.06,
        misconceptions={
            2.59: "that is for 1,000,000 updates; the run had about 1.7 million.",
            0.66: "this is updates per second; take the reciprocal.",
            0.0254: "that is minutes; a minute has 60 seconds.",
        },
        on_success="About a second and a half per update, with 2,400 units. The paper does not "
        "state the batch size; it follows the settings of an earlier paper.",
        hint="divide the number of seconds in 30 days by 1.7 million.",
    ),
    "break-even": Value(
        1 / 0.6,
        atol=0.01,
        misconceptions={
            1.4: "40% of the updates are saved; the time per update can grow by more than 40%.",
            0.6: "with this ratio each update would be faster, and time would be saved twice.",
            1: "at equal time per update, 40% of the time is saved.",
        },
        on_success="In our runs on a CPU, a Python loop over the time steps can slow an update "
        "down by more than that: fewer updates do not always mean less time.",
        hint="with 0.6 times as many updates, each r times as long, the total time is equal when "
        "0.6 r = 1.",
    ),
    "share-of-the-updates": Function(
        share,
        cases=_curves,
        misconceptions={
            "this is when `layer` reaches its own best; the question is when it is as good as "
            "the best of `none`.": _to_its_own_best,
            "index 0 is the first epoch, so add 1 to each index.": _from_zero,
            "this uses the last score of `none`; use its best score.": _to_the_last,
            "this is the reciprocal: divide by the epochs that `none` needed.": _upside_down,
        },
        on_success="Updates to the same score and updates to each network's own best score are two "
        "different numbers. The sentence in the paper refers to the second.",
    ),
}
