"""Recall while it trains, and at each learning rate."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.order_embeddings.runs import NORMS, WAYS, Cell, Runs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS as LOOKS
from lnbook.figures.plots import band, label_ends, spread

AXES = {"updates": "updates", "seconds": "seconds"}
TICKS = {  # few: on a phone more would be turned
    "updates": {"tickvals": [20, 100, 500, 2000], "ticktext": ["20", "100", "500", "2,000"]},
    "seconds": {"tickvals": [0.2, 1, 5, 20], "ticktext": ["0.2", "1", "5", "20"]},
}


def draw_curves(runs: Runs, cut: int, axis: str) -> list[go.Figure]:
    """Draw the recall on validation, of images and of captions, each norm at its best rate."""
    return [_curves(runs, way, cut, axis) for way in WAYS]


def _curves(runs: Runs, way: str, cut: int, axis: str) -> go.Figure:
    figure = go.Figure()
    for norm in NORMS:
        x = runs.updates * (runs.pace(norm) if axis == "seconds" else 1)
        values = 100 * runs.curves(runs.best(norm), f"val_{way}_recall_{cut}")
        hover = f"after %{{x:,.3~r}} {axis}: %{{y:.1f}} %"
        # Before the first update there is nothing to see, and no place for it on this axis.
        band(figure, x[1:], [v[1:] for v in spread(values)], LOOKS[norm], hover)
    figure.update_layout(
        title=f"{WAYS[way]}, R@{cut}",
        height=330,
        xaxis={"title": f"{axis}, logarithmic", "type": "log", **TICKS[axis]},
        yaxis={"title": "% on validation", "rangemode": "tozero", "zeroline": False},
    )
    if axis == "seconds":  # the lines end at different places
        figure.update_layout(legend={"x": 0.97, "y": 0.05, "xanchor": "right", "yanchor": "bottom"})
        return figure
    return label_ends(figure)


def describe_curves(runs: Runs, cut: int, axis: str) -> str:
    """Say where both stand after an epoch, and at the end."""
    said = []
    for way, words in WAYS.items():
        none, layer = (100 * runs.curves(runs.best(norm), f"val_{way}_recall_{cut}").mean(0)
                       for norm in NORMS)  # fmt: skip
        one = int(np.searchsorted(runs.epochs(), 1))
        said.append(
            f"{words}, R@{cut}: after {runs.updates[one]:,} updates {none[one]:.1f} % without a "
            f"norm and {layer[one]:.1f} % with layer norm, at the end {none[-1]:.1f} % and "
            f"{layer[-1]:.1f} %"
        )
    text = ". ".join(said) + "."
    if axis == "seconds":
        paces = [1000 * runs.pace(norm) for norm in NORMS]
        text += (
            f" An update took {paces[0]:.1f} ms without a norm and {paces[1]:.1f} ms with layer "
            "norm, in the fastest run of each."
        )
    return text


CURVES = Picture(
    draw_curves,
    describe_curves,
    alt="Two panels, recall of images and of captions on validation pictures while it trains, "
    "without a norm and with layer norm. Bands: five seeds.",
)


def draw_rates(runs: Runs, point: int) -> list[go.Figure]:
    """Draw the mean recall over the learning rate at a point of training."""
    figure = go.Figure()
    for norm in NORMS:
        cells = [Cell(norm, rate) for rate in runs.rates]
        values = [spread(runs.score(cell)[:, point]) for cell in cells]
        hover = "learning rate %{x:g}: %{y:.1f} %"
        band(figure, runs.rates, np.transpose(values), LOOKS[norm], hover, "lines+markers")
    for norm in NORMS:
        cell = runs.best(norm)
        figure.add_scatter(
            x=[cell.rate],
            y=[runs.score(cell)[:, point].mean()],
            mode="markers",
            marker={"symbol": "star", "size": 15, "color": LOOKS[norm][1]},
            hovertemplate="the rate of all other figures<extra></extra>",
            showlegend=False,
        )
    low, high = np.log10([runs.rates[0], runs.rates[-1]])
    figure.update_layout(
        title="Mean of R@1, R@5 and R@10 of images",
        height=340,
        xaxis={"type": "log", "title": "learning rate", "tickvals": runs.rates,
               "ticktext": [f"{r:g}" for r in runs.rates], "range": [low - 0.1, high + 0.1]},
        yaxis={"title": "% on validation", "range": [-1, 60], "zeroline": False},
        shapes=[{"type": "line", "x0": 1e-3, "x1": 1e-3, "y0": 0, "y1": 1, "yref": "paper",
                 "line": {"color": COLORS["gray"], "width": 1.2, "dash": "dot"}}],
    )  # fmt: skip
    figure.add_annotation(x=-3, y=59, text="Adam’s default", showarrow=False, xanchor="left",
                          xshift=5, font={"color": COLORS["gray"]})  # fmt: skip
    return [label_ends(figure)]


def describe_rates(runs: Runs, point: int) -> str:
    """Say what each rate came to by then."""
    said = []
    for norm in NORMS:
        scores = {rate: runs.score(Cell(norm, rate))[:, point].mean() for rate in runs.rates}
        each = ", ".join(f"{score:.0f} % at {rate:g}" for rate, score in scores.items())
        said.append(f"{LOOKS[norm][0]}: {each}")
    counts = {len(runs.seeds(Cell(norm, rate))) for norm in NORMS for rate in runs.rates}
    seeds = " or ".join(map(str, sorted(counts)))
    return f"After {runs.updates[point]:,} updates, mean of {seeds} seeds: {'; '.join(said)}."


RATES = Picture(
    draw_rates,
    describe_rates,
    alt="Mean recall of images over five learning rates, without a norm and with layer norm; a "
    "star marks the rate at which each norm is compared. Bands: five seeds.",
)
