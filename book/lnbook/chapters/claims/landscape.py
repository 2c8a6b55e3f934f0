"""Smoothness of the loss and covariate shift during training."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, RMS, band, label_ends
from lnlab.analysis.recorded import Record, RecordedRuns

STYLES = NORMS | {"rms": RMS}
#: Maps a measure to its label in the menu and to its title with the unit.
MEASURES = {
    "effective smoothness": ("smoothness", "Effective smoothness (lower is smoother)"),
    "range of the loss": ("loss_range", "Range of the loss along the gradient, nats"),
    "change of the gradient": ("gradient_change", "Change of the gradient along the gradient"),
    "covariate shift": ("shift", "Covariate shift: relative change of a layer's gradient"),
}


class LandscapeRuns(RecordedRuns):
    """Recorded runs of ``lnlab.experiments.loss_landscape``, a group for each norm and rate.

    Args:
        records: Records from :func:`lnlab.records.read_all`.
    """

    def __init__(self, records: Sequence[Record]):
        super().__init__(
            records, lambda s: (s["norm"], s["learning_rate"]), "python -m lnlab replay landscape"
        )

    @property
    def rates(self) -> list[float]:
        """The learning rates."""
        return sorted({rate for _, rate in self.groups})

    def measure(self, norm: str, rate: float, name: str) -> np.ndarray:
        """Return a measure, shape ``(seeds, points)``; the geometric mean over layers."""
        if name != "shift":
            return self.curves((norm, rate), name)
        layers = [k for k in self.runs((norm, rate))[0]["curves"] if k.startswith("shift_")]
        with np.errstate(divide="ignore"):
            logs = [np.log(self.curves((norm, rate), k)) for k in layers]
        return np.exp(np.mean(logs, axis=0))


def typical(runs: LandscapeRuns, norm: str, rate: float, name: str) -> float:
    """Return the geometric mean of a measure over seeds and training."""
    values = runs.measure(norm, rate, name)
    return float(np.exp(np.log(values[np.isfinite(values) & (values > 0)]).mean()))


def draw(runs: LandscapeRuns, measure: str, rate: float) -> go.Figure:
    """Draw a measure during training, one line per norm with a band of its seeds."""
    name, title = MEASURES[measure]
    figure = go.Figure()
    for norm, style in STYLES.items():
        if (norm, rate) not in runs.groups:
            continue
        values = runs.measure(norm, rate, name)
        shown = np.isfinite(values).all(0) & (values > 0).all(0)
        logs = np.log(values[:, shown])
        edges = [np.exp(v).round(5) for v in (logs.min(0), logs.mean(0), logs.max(0))]
        band(figure, runs.epochs((norm, rate))[shown], edges, style, "epoch %{x:.3g}: %{y:.3g}")
    figure.update_layout(
        title=title,
        height=360,
        xaxis={"title": "epoch", "zeroline": False},
        yaxis={"type": "log", "dtick": 1},
    )
    return label_ends(figure)


def describe(runs: LandscapeRuns, measure: str, rate: float) -> str:
    """Describe the typical values of all norms."""
    name, _ = MEASURES[measure]
    sentences = [
        f"{style[0]} {typical(runs, norm, rate, name):.2g}"
        for norm, style in STYLES.items()
        if (norm, rate) in runs.groups
    ]
    return (
        f"At learning rate {rate:g}, {measure}, geometric mean over training and "
        f"{len(runs.seeds(next(iter(runs.groups))))} seeds: {', '.join(sentences)}."
    )


LANDSCAPE = Picture(
    draw,
    describe,
    alt="Lines over ten epochs on a logarithmic axis, one per norm, with bands from the lowest to "
    "the highest seed: the chosen measure along the gradient.",
)
