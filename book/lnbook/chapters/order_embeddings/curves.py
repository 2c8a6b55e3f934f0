"""Validation recall during training, and by learning rate."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.order_embeddings.runs import DIRECTIONS, NORMS, OrderEmbeddingsRuns, RunKey
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS as STYLES
from lnbook.figures.plots import band, label_ends, log_axis, spread

UPDATES = {"tickvals": [20, 100, 500, 2000], "ticktext": ["20", "100", "500", "2,000"]}


def draw_curves(runs: OrderEmbeddingsRuns, cut: int) -> list[go.Figure]:
    """Draw R@cut of images and of captions on validation data, each norm at its best rate."""
    return [_curves(runs, direction, cut) for direction in DIRECTIONS]


def _curves(runs: OrderEmbeddingsRuns, direction: str, cut: int) -> go.Figure:
    figure = go.Figure()
    for norm in NORMS:
        values = 100 * runs.curves(runs.best(norm), f"val_{direction}_recall_{cut}")
        hover = "after %{x:,.3~r} updates: %{y:.1f}%"
        # The axis is logarithmic, so it has no place for update 0.
        band(figure, runs.updates[1:], [v[1:] for v in spread(values)], STYLES[norm], hover)
    figure.update_layout(
        title=f"{DIRECTIONS[direction]}, R@{cut}",
        height=330,
        xaxis={"title": "updates (log scale)", "type": "log", **UPDATES},
        yaxis={"title": "validation recall (%)", "rangemode": "tozero", "zeroline": False},
    )
    return label_ends(figure)


def describe_curves(runs: OrderEmbeddingsRuns, cut: int) -> str:
    """Describe the recall of both networks after one epoch and at the end."""
    sentences = []
    for direction, title in DIRECTIONS.items():
        none, layer = (
            100 * runs.curves(runs.best(norm), f"val_{direction}_recall_{cut}").mean(0)
            for norm in NORMS
        )
        first_epoch = int(np.searchsorted(runs.epochs(), 1))
        sentences.append(
            f"{title}, R@{cut}: after {runs.updates[first_epoch]:,} updates "
            f"{none[first_epoch]:.1f}% without normalization and {layer[first_epoch]:.1f}% with "
            f"layer norm, at the end {none[-1]:.1f}% and {layer[-1]:.1f}%"
        )
    return ". ".join(sentences) + "."


CURVES = Picture(
    draw_curves,
    describe_curves,
    alt="Two panels with validation recall during training, for images and for captions, without "
    "normalization and with layer norm. The bands show the range of five seeds.",
)


def draw_rates(runs: OrderEmbeddingsRuns, point: int) -> list[go.Figure]:
    """Draw the mean recall by learning rate at one point of training."""
    figure = go.Figure()
    for norm in NORMS:
        cells = [RunKey(norm, rate) for rate in runs.rates]
        values = [spread(runs.score(cell)[:, point]) for cell in cells]
        hover = "learning rate %{x:g}: %{y:.1f}%"
        band(figure, runs.rates, np.transpose(values), STYLES[norm], hover, "lines+markers")
    for norm in NORMS:
        cell = runs.best(norm)
        figure.add_scatter(
            x=[cell.rate],
            y=[runs.score(cell)[:, point].mean()],
            mode="markers",
            marker={"symbol": "star", "size": 15, "color": STYLES[norm][1]},
            name=f"{STYLES[norm][0]}, best rate",
            hovertemplate="best rate, used in the other figures<extra></extra>",
            showlegend=False,
        )
    low, high = np.log10([runs.rates[0], runs.rates[-1]])
    figure.update_layout(
        title="Image retrieval, mean of R@1, R@5, and R@10",
        height=340,
        xaxis=log_axis(runs.rates, [low - 0.1, high + 0.1], title="learning rate"),
        yaxis={"title": "validation recall (%)", "range": [-1, 60], "zeroline": False},
        shapes=[{"type": "line", "x0": 1e-3, "x1": 1e-3, "y0": 0, "y1": 1, "yref": "paper",
                 "line": {"color": COLORS["gray"], "width": 1.2, "dash": "dot"}}],
    )  # fmt: skip
    figure.add_annotation(x=-3, y=3, text="rate of the paper’s code", showarrow=False,
                          xanchor="left", xshift=5, font={"color": COLORS["gray"]})  # fmt: skip
    return [label_ends(figure)]


def describe_rates(runs: OrderEmbeddingsRuns, point: int) -> str:
    """Describe the mean recall at each learning rate."""
    sentences = []
    for norm in NORMS:
        scores = {rate: runs.score(RunKey(norm, rate))[:, point].mean() for rate in runs.rates}
        text_by_rate = ", ".join(f"{score:.0f}% at {rate:g}" for rate, score in scores.items())
        sentences.append(f"{STYLES[norm][0].capitalize()}: {text_by_rate}.")
    counts = {len(runs.seeds(RunKey(norm, rate))) for norm in NORMS for rate in runs.rates}
    seeds = " or ".join(map(str, sorted(counts)))
    return (
        f"After {runs.updates[point]:,} updates, mean of {seeds} seeds. {' '.join(sentences)} "
        "Stars mark the best rates, and bands the range of the seeds."
    )


RATES = Picture(
    draw_rates,
    describe_rates,
    alt="Mean recall of image retrieval at five learning rates, without normalization and with "
    "layer norm. A star marks the best rate of each. The bands show the range of five seeds.",
)
