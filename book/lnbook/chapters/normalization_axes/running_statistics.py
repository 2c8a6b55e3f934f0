"""Batch norm in training and at inference: running statistics."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.normalization_axes.followed import (
    BATCH,
    FEATURE,
    FOLLOWED,
    POPULATION,
    all_data_line,
    examples,
    layer_line,
    layer_norm_of_followed,
    number,
    whole_population,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, add_points, cursor, label_ends
from lnlab.analysis import running_statistics

STREAM = 40  # batches


def batches(batch_size: int) -> np.ndarray:
    """Return the stream of batches of the followed feature, shape ``(40, batch_size)``."""
    rng = np.random.default_rng([STREAM, batch_size])
    return examples(STREAM * batch_size, rng)[:, FEATURE].reshape(STREAM, batch_size)


@cache
def stream(momentum: float, batch_size: int) -> running_statistics.RunningStatistics:
    """Follow one feature through 40 batches.

    Args:
        momentum: Weight of the newest batch in the running statistics.
        batch_size: Number of examples in a batch, at least 2 for an unbiased variance.

    Returns:
        Statistics and outputs; running mean and variance start from 0 and 1, as in PyTorch.
    """
    return running_statistics.follow(FOLLOWED, batches(batch_size), momentum)


def draw_running(momentum: float, batch_size: int, seen: int) -> list[go.Figure]:
    """Draw the running mean, and outputs for one number in training and at inference."""
    run, steps = stream(momentum, batch_size), np.arange(STREAM + 1)
    mean = _running_panel(run.batch_mean, run.running_mean, POPULATION[0][FEATURE], seen)
    mean.update_layout(
        title=f"Mean of feature {FEATURE + 1}", yaxis={"title": "mean", "range": [-4, 50]}
    )
    output = _running_panel(run.train, run.test, whole_population(), seen)
    layer_line(output, steps, layer_norm_of_followed())
    output.update_layout(
        title=f"Output for the {FOLLOWED} of example 1",
        yaxis={"title": "output", "range": [-4.5, 12.5]},
    )
    return [label_ends(mean), label_ends(output)]


def _running_panel(
    per_batch: np.ndarray, over_time: np.ndarray, whole: float, seen: int
) -> go.Figure:
    steps = np.arange(STREAM + 1)
    figure = go.Figure()
    add_points(
        figure,
        steps[1:],
        per_batch.round(2),
        ("in training", BATCH, "circle"),
        "batch %{x}: %{y:.2f}",
        size=5,
    )
    add_line(
        figure,
        steps,
        over_time.round(2),
        ("at inference", COLORS["kept"], "solid"),
        "after batch %{x}: %{y:.2f}",
    )
    all_data_line(figure, steps, whole)
    add_points(figure, [seen], [over_time[seen]], (None, COLORS["kept"], "circle"), size=11)
    figure.update_layout(
        height=340,
        xaxis={"title": "batches seen", "range": [-2, STREAM + 2], "zeroline": False},
        shapes=[cursor(seen)],
    )
    return figure


def describe_running(momentum: float, batch_size: int, seen: int) -> str:
    """Describe the running mean, and the output in training and at inference."""
    run = stream(momentum, batch_size)
    after = f"After {seen} batches of {batch_size}" if seen else "Before the first batch"
    if seen == 1:
        after = f"After 1 batch of {batch_size}"
    low, high = np.quantile(run.train, [0.05, 0.95])
    return (
        f"{after}, the running mean is {number(run.running_mean[seen])} (all data: "
        f"{number(POPULATION[0][FEATURE])}), and at inference {FOLLOWED} becomes "
        f"{number(run.test[seen])}. In training, the output lies between {number(low)} and "
        f"{number(high)} in nine out of ten batches."
    )


RUNNING = Picture(
    draw_running,
    describe_running,
    alt="Two panels over the batches seen: the mean of a feature, and the output for one number. "
    "Points use the statistics of each batch, a solid line the running statistics, and a dotted "
    "line those of all data.",
)
