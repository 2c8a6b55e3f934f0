"""The order-violation penalty of a caption and an image, in two coordinates and in all."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import add_guide, add_points

CAPTION, VIOLATION = COLORS["first"], COLORS["positive"]
EVERY = 4  # captions per gray dot: more dots would hide each other


class Vectors(NamedTuple):
    """Vectors of images and captions at one point of training.

    Attributes:
        captions: Shape ``(captions, H)``.
        images: Shape ``(images, H)``.
    """

    captions: np.ndarray
    images: np.ndarray


def vectors(record: Mapping[str, Any], x: np.ndarray, point: int) -> Vectors:
    """Return the recorded caption vectors, and the image vectors computed from their features.

    Args:
        record: The record of a run with ``keep``, with its arrays.
        x: Image features, shape ``(images, 400)``.
        point: Index of the point of training.
    """
    arrays = {name: array[point].astype(float) for name, array in record["arrays"].items()}
    captions = arrays["caption_levels"] * arrays["caption_scales"][:, None]
    weights = arrays["image_levels"] * arrays["image_scales"][:, None]
    images = np.abs(x @ weights[:, :-1].T + weights[:, -1])
    norms = np.linalg.norm(images, axis=1, keepdims=True)
    return Vectors(captions, images / norms.clip(1e-12))


def penalties(vectors: Vectors, image: int) -> np.ndarray:
    """Return the penalty of each caption for one image, shape ``(captions,)``."""
    return (np.maximum(0, vectors.captions - vectors.images[image]) ** 2).sum(1)


def penalty_matrix(vectors: Vectors) -> np.ndarray:
    """Return the penalty of each caption (row) for each image (column)."""
    return np.stack([penalties(vectors, k) for k in range(len(vectors.images))], axis=1)


def chosen_coordinates(vectors: Vectors, image: int, other: int) -> tuple[int, int]:
    """Return two coordinates to draw, both without a violation by the image's own caption.

    The first is the largest such coordinate of the image. The second is the one with the largest
    violation by another caption, among those more than half as large as the first.
    """
    limit = vectors.images[image]
    satisfied = np.where(vectors.captions[image] <= limit, limit, -np.inf)
    first = int(satisfied.argmax())
    excess = np.where(satisfied > limit[first] / 2, vectors.captions[other] - limit, -np.inf)
    excess[first] = -np.inf
    return first, int(excess.argmax())


def draw_penalty(
    book: Mapping[tuple[str, int], Vectors],
    image: int,
    other: int,
    *,
    caption: int,
    point: int,
    norm: str,
) -> list[go.Figure]:
    """Draw the violations of a caption, in two coordinates and in all of them.

    Args:
        book: Vectors by norm and point.
        image: Index of the image.
        other: Index of the caption by which the second coordinate is chosen.
        caption: Index of the caption that is compared with the image.
        point: Index of the point of training.
        norm: ``none`` or ``layer``.
    """
    vectors = book[norm, point]
    return [_plane(vectors, image, other, caption), _bars(vectors, image, caption)]


def _plane(vectors: Vectors, image: int, other: int, caption: int) -> go.Figure:
    first, second = chosen_coordinates(vectors, image, other)
    x, y = vectors.images[image][[first, second]]
    a, b = vectors.captions[caption][[first, second]]
    top = 1.12 * vectors.captions[:, [first, second]].max(0).clip(min=(x, y))
    shown = vectors.captions[::EVERY][:, [first, second]].round(3)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, x, x, 0], y=[0, 0, y, y], fill="toself", mode="lines", line={"width": 0},
        fillcolor=fade(CAPTION, 0.22), hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    add_points(
        figure, shown[:, 0], shown[:, 1], (None, COLORS["gray"], "circle"), size=4, opacity=0.45
    )
    corner = [min(a, x), min(b, y)]
    add_guide(figure, [corner[0], a, a], [b, b, corner[1]], color=VIOLATION, width=4)
    for label, point, color, symbol in (
        ("image", (x, y), COLORS["ink"], "diamond"),
        ("caption", (a, b), CAPTION if a <= x and b <= y else VIOLATION, "circle"),
    ):
        figure.add_scatter(
            x=[point[0]], y=[point[1]], mode="markers+text", text=[label],
            textposition="top right", textfont={"color": color}, showlegend=False,
            name=f"coordinate {second}, {label}",
            marker={"color": color, "size": 12, "symbol": symbol},
            hovertemplate=f"{label}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        title="Two of the 128 coordinates",
        height=330,
        xaxis={"title": f"coordinate {first}", "range": [-0.01, 1.15 * top[0]], "zeroline": False},
        yaxis={"title": f"coordinate {second}", "range": [-0.01, top[1]], "zeroline": False},
    )
    return figure


def _bars(vectors: Vectors, image: int, caption: int) -> go.Figure:
    limit, values = vectors.images[image], vectors.captions[caption]
    order = np.argsort(-limit, kind="stable")
    limit, values, x = limit[order], values[order], np.arange(1, len(limit) + 1)
    figure = go.Figure()
    steps = {"x": x, "mode": "lines", "hoverinfo": "skip"}
    line = {"shape": "hvh", "width": 0}
    figure.add_scatter(
        y=values.round(4), name="caption", fill="tozeroy", fillcolor=CAPTION, line=line, **steps
    )
    ink = {**line, "color": COLORS["ink"], "width": 2}
    figure.add_scatter(
        y=limit.round(4), name="image", stackgroup="violation", fill="none", line=ink, **steps
    )
    figure.add_scatter(
        y=np.maximum(0, values - limit).round(4), name="violation", stackgroup="violation",
        fillcolor=VIOLATION, line=line, **steps,
    )  # fmt: skip
    figure.update_layout(
        title="All 128 coordinates, by size in the image",
        height=330,
        xaxis={"title": "coordinate", "showticklabels": False, "showgrid": False,
               "zeroline": False},
        yaxis={"title": "value", "range": [0, 1.1 * float(max(vectors.captions.max(),
                                                              limit.max()))]},
        legend={
            "orientation": "h",
            "y": 0.98,
            "yanchor": "top",
            "x": 0.98,
            "xanchor": "right",
            "traceorder": "normal",
        },
    )  # fmt: skip
    return figure


def describe_penalty(
    book: Mapping[tuple[str, int], Vectors],
    image: int,
    other: int,
    *,
    caption: int,
    point: int,
    norm: str,
) -> str:
    """Describe how many coordinates violate the order, the penalty, and the caption's rank."""
    vectors = book[norm, point]
    violations = np.maximum(0, vectors.captions[caption] - vectors.images[image])
    ranked = penalties(vectors, image)
    rank = int((ranked <= ranked[caption]).sum())
    return (
        f"The caption exceeds the image in {int((violations > 0).sum())} of {len(violations)} "
        f"coordinates. The sum of the squared violations is a penalty of {ranked[caption]:.2f}, "
        f"which gives the caption rank {rank} of {len(ranked)}."
    )


PENALTY = Picture(
    draw_penalty,
    describe_penalty,
    alt="Left, two coordinates of an image and of captions as points: captions in the shaded "
    "rectangle below the image have no penalty in these coordinates. Right, all 128 coordinates of "
    "the image as a line and of one caption as bars; the parts of the bars above the line are red.",
)


def captions(pictures: Sequence[Sequence[Any]], indices: Sequence[int]) -> dict[str, int]:
    """Return the indices of captions by their text, in quotation marks."""
    return {f"“{pictures[k][4]}”": k for k in indices}
