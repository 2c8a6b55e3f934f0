"""The error of a batch mean as an estimate of a unit's mean, as a function of the batch size."""

import functools

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, add_line, cursor, label_ends, log_axis

BATCH_SIZES = [2, 4, 8, 16, 32, 64, 128, 256]
BATCHES = 10_000
EDGES = np.linspace(-2.05, 2.05, 42)


@functools.cache
def errors(batch_size: int) -> np.ndarray:
    """Return the means of many batches of a unit with mean 0 and standard deviation 1.

    Args:
        batch_size: Examples per batch.
    """
    return np.random.default_rng(batch_size).normal(size=(BATCHES, batch_size)).mean(axis=1)


def draw_batch_means(batch_size: int) -> list[go.Figure]:
    """Draw a histogram of the batch means, and their standard deviation over the batch size."""
    histogram, sizes = go.Figure(), go.Figure()
    shares = np.histogram(errors(batch_size), EDGES)[0] / BATCHES
    histogram.add_bar(
        x=((EDGES[1:] + EDGES[:-1]) / 2).round(2),
        y=(100 * shares).round(2),
        marker={"color": COLORS["batch"]},
        hovertemplate="off by %{x:.1f} σ: %{y:.1f}%<extra></extra>",
    )
    histogram.update_layout(
        title=f"Means of batches of {batch_size}",
        height=320,
        showlegend=False,
        bargap=0.1,
        xaxis={"title": "batch mean − true mean, in σ", "range": [-2.1, 2.1]},
        yaxis={"title": "% of batches", "range": [0, 65]},
    )
    for norm, values in (
        ("batch", [errors(b).std() for b in BATCH_SIZES]),
        ("layer", [0.0] * len(BATCH_SIZES)),
    ):
        hover = "batch size %{x}: %{y:.2f} σ"
        add_line(sizes, BATCH_SIZES, np.round(values, 4), NORMS[norm], hover, size=6)
    sizes.update_layout(
        title="Typical error of the mean, in σ",
        height=320,
        xaxis=log_axis(
            BATCH_SIZES,
            [0.2, 2.5],
            title="batch size",
            texts=["" if k % 2 else str(b) for k, b in enumerate(BATCH_SIZES)],
        ),
        yaxis={"range": [-0.03, 0.8], "zeroline": False},
        shapes=[cursor(batch_size)],
    )
    return [histogram, label_ends(sizes)]


def describe_batch_means(batch_size: int) -> str:
    """Describe the measured error and the theoretical one."""
    return (
        f"The mean of a batch of {batch_size} differs from the true mean by "
        f"{errors(batch_size).std():.2f} σ (root mean square over {BATCHES:,} batches); "
        f"1/√{batch_size} = {batch_size**-0.5:.2f}."
    )


BATCH_MEANS = Picture(
    draw_batch_means,
    describe_batch_means,
    alt="Left, a histogram of the errors of batch means, which becomes narrower as the batch "
    "grows. Right, their standard deviation over the batch size: it falls for batch norm and is 0 "
    "for layer norm.",
)
