"""Whether layer norm of W_x x preserves the speed of the pen, depending on the other inputs."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, cursor, label_ends, log_axis

HIDDEN, LETTERS = 96, 27
#: Inputs in addition to the three numbers of a movement, with the color and dash of their line.
EXTRA_INPUTS = {
    "nothing": (COLORS["third"], "solid"),
    "window": (COLORS["second"], "dash"),
    "constant 1": (COLORS["fourth"], "dot"),
    "window and constant 1": (COLORS["layer"], "dashdot"),
}
SPEEDS = np.round(np.geomspace(0.1, 10, 25), 3)
MOVE = np.array([0.8, 0.6, 0.0])  # right, up, not lifted; magnitude 1
UNITS = 16  # number of sums in the figure


@functools.cache
def weights() -> np.ndarray:
    """Return initial weights W_x of the first LSTM: 384 rows, for movement, window and 1."""
    bound = 1 / np.sqrt(HIDDEN)
    return np.random.default_rng(0).uniform(-bound, bound, (4 * HIDDEN, 3 + LETTERS + 1))


def window(place: float | np.ndarray = 0.0, letters: np.ndarray | None = None) -> np.ndarray:
    """Return the content of a window with one component of height and sharpness 1.

    Args:
        place: Position in characters from 0, shape ``(...)``.
        letters: The letter of each character of the text; by default all are different.
    """
    letters = np.arange(16) if letters is None else letters
    share = np.exp(-((np.asarray(place)[..., None] - np.arange(len(letters))) ** 2))
    return share @ np.eye(LETTERS)[letters]


def inputs(moves: np.ndarray, extra: str, window_vectors: np.ndarray | None = None) -> np.ndarray:
    """Return the inputs of the first LSTM, ``(N, 3 + LETTERS + 1)``; unused inputs are 0.

    Args:
        moves: Movements of the pen, ``(N, 3)``: right, up, lifted; offsets in units of their std.
        extra: One of :data:`EXTRA_INPUTS`.
        window_vectors: Content of the window, ``(N, LETTERS)``; by default at the first character.
    """
    window_vectors = window() if window_vectors is None else window_vectors
    ones = np.ones((len(moves), 1))
    window_vectors = np.broadcast_to(window_vectors, (len(moves), LETTERS))
    return np.hstack((moves, window_vectors * ("window" in extra), ones * ("constant 1" in extra)))


def normalized(speed: float, extra: str) -> np.ndarray:
    """Return layer norm of W_x x, without eps, for a movement of this magnitude, ``(384,)``."""
    return lnlib.layer_norm(inputs(speed * MOVE[None], extra) @ weights().T, eps=0)[0]


@functools.cache
def distance(extra: str) -> np.ndarray:
    """Return the root mean square difference from magnitude 1, at each of :data:`SPEEDS`.

    The mean is over the normalized sums, which have standard deviation 1.
    """
    once = normalized(1, extra)
    return np.array([np.sqrt(np.mean((normalized(s, extra) - once) ** 2)) for s in SPEEDS])


def moves(record: Mapping[str, Any], text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the last recorded movements of the pen, and the content of a window at each of them.

    Args:
        record: The record of a run with ``keep``.
        text: The text that it wrote.

    Returns:
        Movements ``(N, 3)``, with offsets in units of their std, and window contents ``(N,
        LETTERS)``.
    """
    strokes, lifts, position = (
        record["arrays"][name][-1].astype(float) for name in ("strokes", "lifts", "window")
    )
    letters = np.unique(list(text), return_inverse=True)[1]
    return np.c_[strokes / strokes.std(), lifts], window(position, letters)


def explained_variance(
    moves: np.ndarray, window_vectors: np.ndarray, extra: str, units: int = 48
) -> float:
    """Return R squared of a linear regression of the log speed on some of the normalized sums.

    The regression is fitted to every other movement and evaluated on the rest. At 0 or below, it
    predicts no better than the mean.

    Args:
        moves: See :func:`inputs`; movements of magnitude 0 are left out.
        window_vectors: See :func:`inputs`.
        extra: One of :data:`EXTRA_INPUTS`.
        units: Number of sums used.
    """
    speed = np.hypot(*moves[:, :2].T)
    moving = speed > 0
    a = inputs(moves[moving], extra, window_vectors[moving]) @ weights()[:units].T
    x = np.hstack((lnlib.layer_norm(a), np.ones((len(a), 1))))
    y = np.log(speed[moving])
    # A small number is added to the diagonal: without a constant, the 48 sums are not independent.
    gram = x[::2].T @ x[::2] + 1e-3 * np.eye(units + 1)
    predicted = x[1::2] @ np.linalg.solve(gram, x[::2].T @ y[::2])
    return float(1 - np.mean((y[1::2] - predicted) ** 2) / y[1::2].var())


def draw_speed(speed: float, extra: str) -> list[go.Figure]:
    """Draw normalized sums of two movements, and the distance between them over the magnitude."""
    color, _ = EXTRA_INPUTS[extra]
    bars = go.Figure()
    units = np.arange(1, UNITS + 1)
    for name, magnitude, shade in (("magnitude 1", 1, COLORS["gray"]),
                                   (f"magnitude {speed:g}", speed, color)):  # fmt: skip
        bars.add_bar(
            x=units, y=normalized(magnitude, extra)[:UNITS], name=name, marker_color=shade,
            hovertemplate="sum %{x}: %{y:.2f}<extra></extra>",
        )  # fmt: skip
    bars.update_layout(
        title="Normalized sums of two movements", height=320,
        xaxis={"title": f"{UNITS} of {4 * HIDDEN} summed inputs"},
        yaxis={"title": "normalized value", "range": [-2.7, 2.7]},
    )  # fmt: skip
    curves = go.Figure()
    for name, (tone, dash) in EXTRA_INPUTS.items():
        add_line(
            curves,
            SPEEDS,
            distance(name),
            (name, tone, dash),
            "magnitude %{x:g}: %{y:.2f}",
            width=3.5 if name == extra else 1.8,
        )
    curves.update_layout(
        title="Difference from a movement of magnitude 1", height=320,
        xaxis=log_axis([0.1, 1, 10], title="magnitude of the movement"),
        yaxis={"title": "root mean square", "rangemode": "tozero", "zeroline": False},
        shapes=[cursor(speed)],
    )  # fmt: skip
    return [bars, label_ends(curves)]


def describe_speed(speed: float, extra: str) -> str:
    """Describe whether layer norm preserves the magnitude of a movement."""
    far = np.sqrt(np.mean((normalized(speed, extra) - normalized(1, extra)) ** 2))
    result = "the speed is lost" if far < 1e-9 else "the speed is preserved"
    if speed == 1:
        result = "it is the same movement"
    return (
        f"Other inputs: {extra}. After the norm, a movement of magnitude {speed:g} differs from "
        f"one of magnitude 1 by {far:.2f} (root mean square): {result}."
    )


SPEED = Picture(
    draw_speed,
    describe_speed,
    alt="Left, bars of 16 normalized sums for a movement of magnitude 1 and for another one in the "
    "same direction. Right, the root mean square difference of all 384 sums over the magnitude, "
    "from 0.1 to 10, one line for each set of other inputs: nothing, the window, a constant 1, "
    "both.",
)
