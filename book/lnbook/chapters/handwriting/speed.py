"""What layer norm of W_x x tells of the pen's speed, with and without a constant."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import cursor, label_ends

HIDDEN, LETTERS = 96, 27
#: What stands beside the pen's three numbers: the label, color and dash of its line.
BESIDE = {
    "nothing": ("nothing", COLORS["third"], "solid"),
    "the window": ("the window", COLORS["second"], "dash"),
    "a 1": ("a 1", COLORS["fourth"], "dot"),
    "the window and a 1": ("the window and a 1", COLORS["layer"], "dashdot"),
}
SPEEDS = np.round(np.geomspace(0.1, 10, 25), 3)
MOVE = np.array([0.8, 0.6, 0.0])  # right, up, not lifted; of length 1
UNITS = 16  # sums that are drawn


@functools.cache
def weights() -> np.ndarray:
    """Return W_x of the first layer as runs draw it: 384 rows, for pen, window and 1."""
    bound = 1 / np.sqrt(HIDDEN)
    return np.random.default_rng(0).uniform(-bound, bound, (4 * HIDDEN, 3 + LETTERS + 1))


def window(place: float | np.ndarray = 0.0, letters: np.ndarray | None = None) -> np.ndarray:
    """Return what a window of one bell of height and sharpness 1 shows, ``(..., LETTERS)``.

    Args:
        place: In characters from 0, shape ``(...)``.
        letters: Which each character of the text is; by default all differ.
    """
    letters = np.arange(16) if letters is None else letters
    share = np.exp(-((np.asarray(place)[..., None] - np.arange(len(letters))) ** 2))
    return share @ np.eye(LETTERS)[letters]


def inputs(moves: np.ndarray, beside: str, seen: np.ndarray | None = None) -> np.ndarray:
    """Return the first layer's inputs ``(N, 3 + LETTERS + 1)``, 0 where something is left out.

    Args:
        moves: Of the pen, ``(N, 3)``: right, up, lifted; offsets in units of their deviation.
        beside: Of :data:`BESIDE`.
        seen: Through the window, ``(N, LETTERS)``; by default at the first character.
    """
    seen = window() if seen is None else seen
    one = np.ones((len(moves), 1))
    seen = np.broadcast_to(seen, (len(moves), LETTERS))
    return np.hstack((moves, seen * ("window" in beside), one * ("a 1" in beside)))


def passed(speed: float, beside: str) -> np.ndarray:
    """Return what leaves layer norm of W_x x, without eps, for a move's length, ``(384,)``."""
    return lnlib.layer_norm(inputs(speed * MOVE[None], beside) @ weights().T, eps=0)[0]


@functools.cache
def apart(beside: str) -> np.ndarray:
    """Return how far it is from that of a move of length 1, at each of :data:`SPEEDS`.

    Root mean square over the sums; each of them has deviation 1.
    """
    once = passed(1, beside)
    return np.array([np.sqrt(np.mean((passed(s, beside) - once) ** 2)) for s in SPEEDS])


def moves(record: Mapping[str, Any], text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how the pen of a record moved in the end, and what a window showed it meanwhile.

    Args:
        record: Of a run with ``keep``.
        text: That it wrote.

    Returns:
        Moves ``(N, 3)``, their offsets in units of their deviation, and ``(N, LETTERS)``.
    """
    strokes, lifts, place = (
        record["arrays"][name][-1].astype(float) for name in ("strokes", "lifts", "window")
    )
    letters = np.unique(list(text), return_inverse=True)[1]
    return np.c_[strokes / strokes.std(), lifts], window(place, letters)


def readable(moves: np.ndarray, seen: np.ndarray, beside: str, units: int = 48) -> float:
    """Return how much of the speed's logarithm can be read from what leaves the norm, R squared.

    By the best linear readout of some of the sums, found on one half of the moves, every other one,
    and tried on the other half; at 0 or below, it knows no more than the mean.

    Args:
        moves: As :func:`inputs` takes them; those of no length are left out.
        seen: Likewise.
        beside: Of :data:`BESIDE`.
        units: How many sums are read.
    """
    speed = np.hypot(*moves[:, :2].T)
    moving = speed > 0
    a = inputs(moves[moving], beside, seen[moving]) @ weights()[:units].T
    x = np.hstack((lnlib.layer_norm(a), np.ones((len(a), 1))))
    y = np.log(speed[moving])
    # A little is added to the diagonal: without a constant three inputs give no 48 directions.
    gram = x[::2].T @ x[::2] + 1e-3 * np.eye(units + 1)
    told = x[1::2] @ np.linalg.solve(gram, x[::2].T @ y[::2])
    return float(1 - np.mean((y[1::2] - told) ** 2) / y[1::2].var())


def draw_speed(speed: float, beside: str) -> list[go.Figure]:
    """Draw some sums of a move of length 1 and of another; and how far all are apart."""
    label, color, _ = BESIDE[beside]
    bars = go.Figure()
    units = np.arange(1, UNITS + 1)
    bars.add_bar(
        x=units,
        y=passed(1, beside)[:UNITS],
        name="a move of length 1",
        marker_color=COLORS["gray"],
        hovertemplate="sum %{x}: %{y:.2f}<extra></extra>",
    )
    bars.add_bar(
        x=units,
        y=passed(speed, beside)[:UNITS],
        name=f"one of length {speed:g}",
        marker_color=color,
        hovertemplate="sum %{x}: %{y:.2f}<extra></extra>",
    )
    bars.update_layout(
        title=f"What leaves the norm, beside the pen: {label}", height=320,
        xaxis={"title": f"{UNITS} of {4 * HIDDEN} summed inputs"},
        yaxis={"title": "normalized", "range": [-2.7, 2.7]},
    )  # fmt: skip
    curves = go.Figure()
    for name, (words, tone, dash) in BESIDE.items():
        curves.add_scatter(
            x=SPEEDS, y=apart(name), name=words, mode="lines",
            line={"color": tone, "dash": dash, "width": 3.5 if name == beside else 1.8},
            hovertemplate="length %{x:g}: %{y:.2f} apart<extra>" + words + "</extra>",
        )  # fmt: skip
    curves.update_layout(
        title="How far it is from a move of length 1", height=320,
        xaxis={"title": "length of the move", "type": "log", "tickvals": [0.1, 1, 10],
               "ticktext": ["0.1", "1", "10"]},
        yaxis={"title": "root mean square", "rangemode": "tozero", "zeroline": False},
        shapes=[cursor(speed)],
    )  # fmt: skip
    return [bars, label_ends(curves)]


def describe_speed(speed: float, beside: str) -> str:
    """Say what layer norm tells of a move's length."""
    once, now = passed(1, beside), passed(speed, beside)
    far = np.sqrt(np.mean((now - once) ** 2))
    told = "its speed is lost" if far < 1e-9 else "so its speed gets through"
    if speed == 1:
        told = "it is the same move"
    return (
        f"Beside the pen, {beside}: behind the norm a move of length {speed:g} is {far:.2f} from "
        f"one of length 1; {told}."
    )


SPEED = Picture(
    draw_speed,
    describe_speed,
    alt="Left, bars of 16 normalized sums for a move of length 1 and for another of the same "
    "direction. Right, how far all 384 are apart over the length of the move, from a tenth to ten, "
    "a line for each of what can stand beside the pen: nothing, the window, a 1, both.",
)
