"""Figure 6 of the paper, replayed."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.mnist.formatting import (
    UNITS,
    epoch_text,
    measure_axis,
    nats,
)
from lnbook.chapters.mnist.runs import FIGURE_6_SIZES, MNISTRuns, RunKey
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, add_points, band, cursor, label_ends, spread, suffix

PANELS = [
    ("train_nll", 128, "Training NLL, batch size 128"),
    ("train_nll", 4, "Training NLL, batch size 4"),
    ("test_error", 128, "Test error, batch size 128"),
    ("test_error", 4, "Test error, batch size 4"),
]


LATER = 5  # epochs between stops after some runs have ended


def stops(runs: MNISTRuns) -> list[float]:
    """Return the stops of the cursor: five within the first epoch, then one after each epoch.

    After the end of shorter runs, there are fewer stops.
    """
    epochs = runs.among(RunKey(norm, 4) for norm in runs.norms).common()
    first = epochs[(epochs > 0) & (epochs < 1)]
    later = np.arange(runs.last_common_epoch + LATER, runs.last_epoch + 1, LATER)
    return [0.0, *first[4::5].tolist(), *epochs[epochs >= 1].tolist(), *later.tolist()]


def draw(runs: MNISTRuns, epoch: float, norms: Sequence[str], until: float) -> list[go.Figure]:
    """Draw figure 6: training NLL above test error, batch size 128 next to 4.

    Args:
        runs: The recorded runs.
        epoch: The position of the cursor, at most ``until``.
        norms: The norms to show.
        until: The last epoch of the horizontal axis.

    Returns:
        Four panels. A line is the mean over the seeds; its band reaches from the lowest to the
        highest. The end of runs that are shorter than the cursor's position is marked.
    """
    epoch = min(epoch, until)
    return [_panel(runs, name, size, title, epoch, norms, until) for name, size, title in PANELS]


def describe(runs: MNISTRuns, epoch: float, norms: Sequence[str], until: float) -> str:
    """Describe the mean loss and error of each norm at the cursor, or at the end of its runs."""
    epoch, sentences = min(epoch, until), []
    for size in FIGURE_6_SIZES:
        parts = [_standing(runs, RunKey(n, size), epoch) for n in norms]
        sentences.append(f"Batch size {size}: {'; '.join(parts)}.")
    return f"Training NLL and test error after {epoch_text(epoch)}. {' '.join(sentences)}"


FIGURE_6 = Picture(
    draw,
    describe,
    alt="Four panels of curves over epochs: training NLL above, test error below, batch size 128 "
    "on the left, batch size 4 on the right, one curve per norm.",
)


def _standing(runs: MNISTRuns, cell: RunKey, epoch: float) -> str:
    last_epoch = min(epoch, runs.end(cell))
    nll, error = (runs.at(last_epoch, cell, name).mean() for name in ("train_nll", "test_error"))
    ended = f" after {epoch_text(last_epoch)}" if last_epoch < epoch else ""
    return f"{NORMS[cell.norm][0]} {nats(nll)} nats and {error:.2f}%{ended}"


def _panel(
    runs: MNISTRuns,
    name: str,
    size: int,
    title: str,
    epoch: float,
    norms: Sequence[str],
    until: float,
) -> go.Figure:
    figure = go.Figure()
    for norm in norms:
        cell = RunKey(norm, size)
        values = spread(runs.curves(cell, name))
        hover = f"epoch %{{x:.3g}}: %{{y:.3g}}{suffix(UNITS[name])}"
        band(figure, runs.epochs(cell), values, NORMS[norm], hover)
    for norm in norms:
        last_epoch = min(epoch, runs.end(RunKey(norm, size)))
        add_points(
            figure,
            [last_epoch],
            [runs.at(last_epoch, RunKey(norm, size), name).mean()],
            (None, NORMS[norm][1], "circle"),
            size=10,
        )
    # One range for both batch sizes, so that they can be compared.
    shown = [runs.curves(RunKey(n, s), name) for n in runs.norms for s in FIGURE_6_SIZES]
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epochs", "range": [-0.02 * until, 1.02 * until]},
        yaxis=measure_axis(name, shown),
        shapes=[cursor(epoch)],
    )
    return label_ends(figure)
