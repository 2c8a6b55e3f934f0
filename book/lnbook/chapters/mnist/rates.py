"""Other learning rates."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.mnist.runs import Cell, Runs
from lnbook.chapters.mnist.words import (
    NAMES,
    UNITS,
    bounds_of,
    epoch_text,
    log_axis,
    nats,
    seeds,
    with_bounds,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, band, label_ends, labels, spread
from lnbook.figures.table import Table


def rate_stops(runs: Runs) -> list[float]:
    """Return the epochs at which the whole sweep was measured, from a quarter of the first on."""
    epochs = runs.sweep.common()
    first = epochs[(epochs > 0) & (epochs < 1)]
    return [*first[4::5].tolist(), *epochs[epochs >= 1].tolist()]


def draw_rates(runs: Runs, epoch: float) -> list[go.Figure]:
    """Draw training NLL and test error at batch size 4 over the learning rate."""
    return [_over_rates(runs, epoch, name) for name in ("train_nll", "test_error")]


def _over_rates(runs: Runs, epoch: float, name: str) -> go.Figure:
    figure, runs = go.Figure(), runs.sweep
    rates = runs.rates
    for norm in runs.swept:
        values = [spread(runs.at(epoch, Cell(norm, 4, r), name)) for r in rates]
        hover = f"learning rate %{{x:g}}: %{{y:.3g}} {UNITS[name]}"
        band(figure, rates, np.transpose(values), NORMS[norm], hover, "lines+markers")
    stops = rate_stops(runs)
    shown = [runs.at(e, Cell(n, 4, r), name) for e in stops for n in runs.swept for r in rates]
    figure.update_layout(
        title=f"{NAMES[name]}, batch size 4",
        height=320,
        xaxis={
            "type": "log",
            "title": "learning rate",
            "tickvals": rates,
            "ticktext": [f"{r:g}" for r in rates],
            "range": [np.log10(rates[0]) - 0.1, np.log10(rates[-1]) + 0.1],
        },
        yaxis=log_axis(name, shown),
    )
    return label_ends(figure)


def describe_rates(runs: Runs, epoch: float) -> str:
    """Say at which learning rate each norm is best."""
    phrases, runs = [], runs.sweep
    for norm in runs.swept:
        rate = best_rate(runs, norm, epoch)
        nll, error = (
            runs.at(epoch, Cell(norm, 4, rate), name).mean() for name in ("train_nll", "test_error")
        )
        phrases.append(f"{NORMS[norm][0]} at {rate:g} ({nats(nll)} nats, {error:.2f} %)")
    return f"After {epoch_text(epoch)} the training NLL is lowest with {'; '.join(phrases)}."


RATES = Picture(
    draw_rates,
    describe_rates,
    alt="Two panels over the learning rate, training NLL and test error, one curve a norm.",
)


def best_rate(runs: Runs, norm: str, epoch: float) -> float:
    """Return the learning rate of the lowest mean training NLL at batch size 4.

    The choice looks at training cases alone, never at the test cases it is then judged by.
    """
    return min(runs.rates, key=lambda r: runs.at(epoch, Cell(norm, 4, r), "train_nll").mean())


def rates(runs: Runs) -> Table:
    """Compare layer norm at each learning rate, and with each norm at its own best."""
    runs = runs.sweep
    end = rate_stops(runs)[-1]
    lines = [(f"batch norm, both at {r:g}", "batch", (r, r)) for r in runs.rates]
    for norm in (n for n in ("batch", "none") if n in runs.swept):
        best = tuple(best_rate(runs, n, end) for n in ("layer", norm))
        lines.append((f"{NORMS[norm][0]}, each at its best: {best[0]:g}, {best[1]:g}", norm, best))
    columns = [[text for text, *_ in lines]]
    for name in ("train_nll", "test_error"):
        found = [
            runs.difference(end, Cell("layer", 4, of_layer), Cell(norm, 4, of_other), name)
            for _, norm, (of_layer, of_other) in lines
        ]
        columns += [labels(found), [with_bounds(d, name) for d in found]]
    return Table(
        [
            "Layer norm against",
            "Lower training NLL",
            "Difference, nats",
            "Lower test error",
            "Difference, points",
        ],
        [*zip(*columns, strict=True)],
        f"With batches of 4 after {epoch_text(end)}: mean difference of {seeds(runs)}, "
        f"{bounds_of(runs)}. The best rate is that of the lowest training NLL.",
    )
