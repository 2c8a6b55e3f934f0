"""Run a transformer: what its changes cost, and the deviation of each character on its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.table import Table

#: The norms in the order in which the stream meets them.
NORMS = ("1 attention", "2 feed-forward", "3 attention", "4 feed-forward", "5 last")
#: From what is done to the model to the record's measure of its loss.
CHANGES = {
    "all five on": "val_nll",
    "all five RMS": "nll_rms",
    "all frozen, the last on": "nll_frozen_but_last",
    "all five frozen": "nll_frozen",
    "the last off": "nll_last",
    "all off, the last on": "nll_but_last",
    "all five off": "nll_removed",
}


def costs(records: Sequence[Mapping[str, Any]], change: str) -> np.ndarray:
    """Return the recorded validation losses after a change, in nats, a seed each."""
    return np.array([record["curves"][CHANGES[change]][-1] for record in records])


def table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Put what each change costs side by side."""
    rows = [
        [change, *(f"{v:.2f}" if v < 10 else f"{v:.0f}" for v in costs(records, change))]
        for change in CHANGES
    ]
    return Table(
        ["norms", *(f"seed {record['seed']}" for record in records)],
        rows,
        "Loss on validation text after training, in nats a character. Nothing is trained again.",
    )


# The deviation of each character on its way.

Seen = Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]
BLANKS = " \n"


def deviations(seen: Seen, sentence: str) -> np.ndarray:
    """Return deviations before and after each norm, shape ``(2, norms, characters)``."""
    return np.array(
        [[np.asarray(x).std(-1) for x in side] for side in zip(*seen[sentence], strict=True)]
    )


def is_blank(sentence: str) -> np.ndarray:
    """Say which characters are spaces or line ends."""
    return np.array([c in BLANKS for c in sentence])


def outliers(x: np.ndarray) -> np.ndarray:
    """Return the features whose root mean square is over five times the median feature's.

    Args:
        x: Characters by features.
    """
    sizes = np.sqrt((np.asarray(x) ** 2).mean(0))
    return np.flatnonzero(sizes > 5 * np.median(sizes))


def draw_growth(seen: Seen, constants: Sequence[float], sentence: str) -> list[go.Figure]:
    """Draw each character's deviation at the five norms, before and after."""
    panels = []
    for values, title in zip(
        deviations(seen, sentence), ("Before the norm", "After it"), strict=True
    ):
        figure = go.Figure()
        for blank, name, color, dash, width in (
            (False, "other characters", COLORS["gray"], "dot", 1.2),
            (True, "spaces, line ends", COLORS["first"], "solid", 1.8),
        ):
            x, y = [], []
            for line in values[:, is_blank(sentence) == blank].T:
                x += [*range(1, len(line) + 1), None]
                y += [*line.round(3).tolist(), None]
            figure.add_scatter(
                x=x, y=y, name=name, mode="lines",
                line={"color": color, "dash": dash, "width": width},
                hovertemplate="%{y:.2f}<extra>" + name + "</extra>",
            )  # fmt: skip
        if title.startswith("Before"):
            figure.add_scatter(
                x=[*range(1, len(constants) + 1)], y=[*np.round(constants, 3)], mode="markers",
                name="constant of “frozen”",
                marker={"color": COLORS["kept"], "size": 10, "symbol": "diamond"},
                hovertemplate="%{y:.2f}<extra>constant</extra>",
            )  # fmt: skip
        figure.update_layout(
            title=title,
            height=340,
            xaxis={"tickvals": [1, 2, 3, 4, 5], "ticktext": ["norm 1", "2", "3", "4", "5"],
                   "range": [0.8, 5.2], "zeroline": False},
            yaxis={"title": "deviation", "type": "log", "range": [-0.75, 1.4],
                   "tickvals": [0.2, 0.5, 1, 2, 5, 10, 20]},
        )  # fmt: skip
        panels.append(figure)
    return panels


def describe_growth(seen: Seen, constants: Sequence[float], sentence: str) -> str:
    """Compare blanks with others before the third norm, and the largest with the smallest."""
    before, after = deviations(seen, sentence)[:, 2]
    blank = is_blank(sentence)
    return (
        f"Before norm 3 a space has a deviation of {before[blank].mean():.1f} on average, another "
        f"character {before[~blank].mean():.1f}; the constant is {constants[2]:.1f}. The largest "
        f"is {before.max() / before.min():.1f} times the smallest; behind the norm, "
        f"{after.max() / after.min():.1f} times."
    )


GROWTH = Picture(
    draw_growth,
    describe_growth,
    alt="Two line plots over the five norms, a line a character: its deviation before the norm, "
    "with the constants of frozen norms as diamonds, and after it. Spaces are drawn solid.",
)
