"""The output of batch norm for one number in many random batches of several sizes."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.chapters.normalization_axes.followed import (
    BATCH,
    FEATURE,
    FOLLOWED,
    all_data_line,
    examples,
    layer_line,
    layer_norm_of_followed,
    number,
    whole_population,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import fade
from lnbook.figures.plots import add_points, cursor, label_ends

BATCHES = 2000
SHOWN = 20  # number of outputs drawn as points
SIZES = 16  # largest batch size on the horizontal axis, unless a live slider goes further


@cache
def outputs(batch_size: int) -> np.ndarray:
    """Return the output of batch norm for one number in many batches.

    Args:
        batch_size: Number of examples in a batch: example 1 of :data:`TABLE` and random ones.

    Returns:
        Shape ``(2000,)``: the output for :data:`FOLLOWED`, one per batch.
    """
    rng = np.random.default_rng(batch_size)
    others = examples(BATCHES * (batch_size - 1), rng)[:, FEATURE].reshape(-1, BATCHES)
    batches = np.vstack([np.full(BATCHES, FOLLOWED), others])  # (batch_size, batches)
    return lnlib.batch_norm(batches)[0]


@cache
def band(batch_size: int) -> tuple[float, float]:
    """Return the 5% and the 95% quantile of the outputs."""
    low, high = np.quantile(outputs(batch_size), [0.05, 0.95])
    return float(low), float(high)


def draw_batch_size(batch_size: int) -> list[go.Figure]:
    """Draw outputs for one number in 20 batches of one size, and their band at every size."""
    layer, indices = layer_norm_of_followed(), np.arange(1, SHOWN + 1)
    points = go.Figure()
    add_points(
        points,
        indices,
        outputs(batch_size)[:SHOWN].round(2),  # as in the text, and fewer bytes
        ("batch norm", BATCH, "circle"),
        "batch %{x}: %{y:.2f}",
        size=8,
    )
    layer_line(points, indices, layer)
    all_data_line(points, indices, whole_population())
    points.update_layout(
        title=f"One number in {SHOWN} batches of {batch_size}",
        xaxis={"title": "batch", "range": [0, SHOWN + 1], "zeroline": False},
        yaxis=_output_axis(),
    )
    sizes = np.arange(1, max(SIZES, batch_size) + 1)
    low, high = np.transpose([band(size) for size in sizes])
    bands = go.Figure()
    bands.add_scatter(
        x=np.r_[sizes, sizes[::-1]],
        y=np.r_[high, low[::-1]].round(2),
        fill="toself",
        fillcolor=fade(BATCH),
        mode="lines",
        line={"width": 1, "color": BATCH},
        name="batch norm",
        hoverinfo="skip",
    )
    layer_line(bands, sizes, layer)
    all_data_line(bands, sizes, whole_population())
    bands.update_layout(
        title="Middle 90% of the outputs, by batch size",
        xaxis={"title": "batch size", "range": [0.5, sizes[-1] + 0.5], "zeroline": False},
        yaxis=_output_axis(),
        shapes=[cursor(batch_size)],
    )
    return [label_ends(points), label_ends(bands)]


def describe_batch_size(batch_size: int) -> str:
    """Describe the range of the output, and that layer norm's output is always the same."""
    always = f"Layer norm's output is {number(layer_norm_of_followed())} in every batch."
    if batch_size == 1:
        return f"In a batch of one, {FOLLOWED} becomes 0 under batch norm. {always}"
    low, high = band(batch_size)
    return (
        f"In nine out of ten batches of {batch_size}, batch norm's output for {FOLLOWED} lies "
        f"between {number(low)} and {number(high)}. {always}"
    )


BATCH_SIZE = Picture(
    draw_batch_size,
    describe_batch_size,
    alt="Left: the output for one number in 20 random batches, scattered points for batch norm "
    "and a flat line for layer norm. Right: the range of the middle 90% of batch norm's outputs "
    "over the batch size, and the flat line of layer norm.",
)


def _output_axis() -> dict:
    return {"title": "output", "range": [-2.2, 2.2], "dtick": 1}
