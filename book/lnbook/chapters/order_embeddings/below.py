"""What of a caption sticks out above its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade

UNDER, ABOVE = COLORS["first"], COLORS["positive"]
FEW = 4  # of so many captions one is a gray dot: more would hide each other, and take their time


class Vectors(NamedTuple):
    """Vectors of pictures and captions at a point of training.

    Attributes:
        captions: Shape ``(captions, H)``.
        pictures: Shape ``(pictures, H)``.
    """

    captions: np.ndarray
    pictures: np.ndarray


def vectors(record: Mapping[str, Any], x: np.ndarray, point: int) -> Vectors:
    """Return what a record with ``keep`` has of captions, and makes of pictures.

    Args:
        record: With its arrays.
        x: What is in the pictures, shape ``(pictures, 400)``.
        point: Of training.
    """
    kept = {name: array[point].astype(float) for name, array in record["arrays"].items()}
    captions = kept["caption_levels"] * kept["caption_scales"][:, None]
    weights = kept["image_levels"] * kept["image_scales"][:, None]
    pictures = np.abs(x @ weights[:, :-1].T + weights[:, -1])
    lengths = np.linalg.norm(pictures, axis=1, keepdims=True)
    return Vectors(captions, pictures / lengths.clip(1e-12))


def penalties(found: Vectors, picture: int) -> np.ndarray:
    """Return by how much each caption lies above a picture."""
    return (np.maximum(0, found.captions - found.pictures[picture]) ** 2).sum(1)


def every(found: Vectors) -> np.ndarray:
    """Return the penalty of each caption, a row, under each picture, a column."""
    return np.stack([penalties(found, k) for k in range(len(found.pictures))], axis=1)


def penalties_of(record: Mapping[str, Any], x: np.ndarray, point: int) -> np.ndarray:
    """Return by how much each caption lies above one scene, of shape ``(1, 400)``."""
    return penalties(vectors(record, x, point), 0)


def axes_of(found: Vectors, picture: int, other: int) -> tuple[int, int]:
    """Return two numbers to draw, in which the picture is large and its own caption below it.

    The first is the largest such; the second, of those more than half as large, the one where
    another caption sticks out most.
    """
    roof = found.pictures[picture]
    inside = np.where(found.captions[picture] <= roof, roof, -np.inf)
    first = int(inside.argmax())
    above = np.where(inside > roof[first] / 2, found.captions[other] - roof, -np.inf)
    above[first] = -np.inf
    return first, int(above.argmax())


def draw_below(
    book: Mapping[tuple[str, int], Vectors],
    picture: int,
    other: int,
    *,
    caption: int,
    point: int,
    norm: str,
) -> list[go.Figure]:
    """Draw a caption under its picture: in two of the numbers, and in all of them.

    Args:
        book: Vectors by norm and point.
        picture: Which picture.
        other: The caption by which the second number is chosen.
        caption: The caption that is looked at.
        point: Of training.
        norm: ``none`` or ``layer``.
    """
    found = book[norm, point]
    return [_cone(found, picture, other, caption), _skyline(found, picture, caption)]


def _cone(found: Vectors, picture: int, other: int, caption: int) -> go.Figure:
    first, second = axes_of(found, picture, other)
    x, y = found.pictures[picture][[first, second]]
    a, b = found.captions[caption][[first, second]]
    top = 1.12 * found.captions[:, [first, second]].max(0).clip(min=(x, y))
    shown = found.captions[::FEW][:, [first, second]].round(3)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, x, x, 0], y=[0, 0, y, y], fill="toself", mode="lines", line={"width": 0},
        fillcolor=fade(UNDER, 0.22), hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=shown[:, 0], y=shown[:, 1], mode="markers",
        marker={"color": COLORS["gray"], "size": 4, "opacity": 0.45}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    corner = [min(a, x), min(b, y)]
    figure.add_scatter(
        x=[corner[0], a, a], y=[b, b, corner[1]], mode="lines", hoverinfo="skip",
        line={"color": ABOVE, "width": 4}, showlegend=False,
    )  # fmt: skip
    for label, at, color, symbol in (
        ("picture", (x, y), COLORS["ink"], "diamond"),
        ("caption", (a, b), UNDER if a <= x and b <= y else ABOVE, "circle"),
    ):
        figure.add_scatter(
            x=[at[0]], y=[at[1]], mode="markers+text", text=[label],
            textposition="top right", textfont={"color": color}, showlegend=False,
            marker={"color": color, "size": 12, "symbol": symbol},
            hovertemplate=f"{label}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        title="Two of the 128 numbers",
        height=330,
        xaxis={"title": f"number {first}", "range": [-0.01, 1.15 * top[0]], "zeroline": False},
        yaxis={"title": f"number {second}", "range": [-0.01, top[1]], "zeroline": False},
    )
    return figure


def _skyline(found: Vectors, picture: int, caption: int) -> go.Figure:
    roof, inside = found.pictures[picture], found.captions[caption]
    order = np.argsort(-roof, kind="stable")
    roof, inside, x = roof[order], inside[order], np.arange(1, len(roof) + 1)
    figure = go.Figure()
    steps = {"x": x, "mode": "lines", "hoverinfo": "skip"}
    line = {"shape": "hvh", "width": 0}
    figure.add_scatter(
        y=inside.round(4), name="caption", fill="tozeroy", fillcolor=UNDER, line=line, **steps
    )
    ink = {**line, "color": COLORS["ink"], "width": 2}
    figure.add_scatter(
        y=roof.round(4), name="picture", stackgroup="above", fill="none", line=ink, **steps
    )
    figure.add_scatter(
        y=np.maximum(0, inside - roof).round(4), name="sticking out", stackgroup="above",
        fillcolor=ABOVE, line=line, **steps,
    )  # fmt: skip
    figure.update_layout(
        title="All 128, the picture’s largest first",
        height=330,
        xaxis={"title": "numbers", "showticklabels": False, "showgrid": False, "zeroline": False},
        yaxis={"range": [0, 1.1 * float(max(found.captions.max(), roof.max()))]},
        legend={
            "orientation": "h",
            "y": 0.98,
            "yanchor": "top",
            "x": 0.98,
            "xanchor": "right",
            "traceorder": "normal",
        },
    )
    return figure


def describe_below(
    book: Mapping[tuple[str, int], Vectors],
    picture: int,
    other: int,
    *,
    caption: int,
    point: int,
    norm: str,
) -> str:
    """Say how much sticks out, and at which place the caption comes."""
    found = book[norm, point]
    above = np.maximum(0, found.captions[caption] - found.pictures[picture])
    every = penalties(found, picture)
    place = int((every <= every[caption]).sum())
    return (
        f"The caption sticks out in {int((above > 0).sum())} of {len(above)} numbers. The squares "
        f"of that add up to a penalty of {every[caption]:.2f}: place {place} of {len(every)}."
    )


BELOW = Picture(
    draw_below,
    describe_below,
    alt="Left, two numbers of a picture as a point: captions in the shaded corner below it are not "
    "penalized there. Right, all 128 numbers of the picture as a skyline and of a caption as bars; "
    "what sticks out above the line is red.",
)


def texts(found: Sequence[Sequence[Any]], places: Sequence[int]) -> dict[str, int]:
    """Return captions to choose from, by what a reader sees: the first is the picture's own."""
    return {f"“{found[k][4]}”": k for k in places}
