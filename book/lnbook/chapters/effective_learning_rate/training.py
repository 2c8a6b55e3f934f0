"""Norm of the weights, and the angle of each update, in recorded runs."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, add_line, band, decades, label_ends, labels, spread
from lnbook.figures.table import Table
from lnlab.analysis.recorded import Record, RecordedRuns
from lnlab.comparison import limits, limits_name

RUN_NORMS = ("layer", "batch", "none")
OPTIMIZERS = {"SGD": "sgd", "Adam": "adam"}
INITIAL_SCALES = (0.25, 1.0, 4.0, 16.0)
_START_STYLES = {
    0.25: ("× 0.25", COLORS["third"], "dot"),
    1.0: ("× 1", COLORS["first"], "solid"),
    4.0: ("× 4", COLORS["second"], "dash"),
    16.0: ("× 16", COLORS["fourth"], "dashdot"),
}


class WeightGrowthRuns:
    """Recorded runs of ``lnlab.experiments.weight_growth.run``, with methods for the figures.

    Runs whose weights are rescaled to their initial norm are left out.

    Args:
        records: Records from :func:`lnlab.records.read_all`, measured at equal epochs.

    Raises:
        ValueError: If there are no records, or they were measured at different epochs.
    """

    def __init__(self, records: Sequence[Record]):
        self._recorded = RecordedRuns(
            [run for run in records if "magnitude" not in run["settings"]],
            lambda s: (s["norm"], s["optimizer"], s["scale"]),
            "python -m lnlab replay weights",
        )
        self.epochs = self._recorded.epochs()

    @property
    def sentence(self) -> str:
        """Describe how the seeds are shown, and how many there are."""
        counts = sorted({len(runs) for runs in self._recorded.groups.values()})
        return f"Means of {' or '.join(map(str, counts))} seeds."

    def curves(self, name: str, norm: str, optimizer: str = "sgd", scale: float = 1) -> np.ndarray:
        """Return curves ``(seeds, points)``; NaN where nothing was measured.

        Args:
            name: The name of a recorded curve, or ``rate_1``, ``rate_2``: the learning rate over
                ||W||².
            norm: The norm of the run.
            optimizer: ``sgd`` or ``adam``.
            scale: Factor of the initial weights.
        """
        key = norm, optimizer, scale
        if name.startswith("rate"):
            rate = self._recorded.runs(key)[0]["settings"]["learning_rate"]
            return rate / self.curves(name.replace("rate", "length"), norm, optimizer, scale) ** 2
        return self._recorded.curves(key, name)


def draw_training(runs: WeightGrowthRuns, optimizer: str, layer: int) -> list[go.Figure]:
    """Draw the norm of W over the epochs, and the angle by which an update rotates it.

    A line is the mean over the seeds; the angle has a band from the lowest to the highest.
    """
    lengths, turns = go.Figure(), go.Figure()
    for norm in RUN_NORMS:
        label, color, _ = NORMS[norm]
        square = runs.curves(f"square_{layer}", norm, optimizer).mean(0)
        length = runs.curves(f"length_{layer}", norm, optimizer).mean(0)
        lengths.add_scatter(
            x=runs.epochs[::3],
            y=square[::3].round(3),
            mode="markers",
            name=f"{label}, Pythagoras",
            showlegend=False,
            marker={"color": color, "symbol": "circle-open", "size": 9, "line": {"width": 2}},
            hovertemplate=f"Pythagoras: %{{y:.2f}}<extra>{label}</extra>",
        )
        add_line(lengths, runs.epochs, length, NORMS[norm], "epoch %{x:.3g}: %{y:.2f}")
        turn = runs.curves(f"turn_{layer}", norm, optimizer)[:, 1:]
        band(turns, runs.epochs[1:], spread(turn), NORMS[norm], "epoch %{x:.3g}: %{y:.3g}°")
    lengths.update_layout(
        title=f"Norm of W, hidden layer {layer} (circles: Pythagoras)",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis={"range": [4, 11.6]},
    )
    turns.update_layout(
        title="Angle of one update, degrees",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=decades(-2.2, 0.9),
    )
    return [label_ends(lengths), label_ends(turns)]


def describe_training(runs: WeightGrowthRuns, optimizer: str, layer: int) -> str:
    """Describe how the norm of the weights grows, and how the effective learning rate falls."""
    text, falls = [], []
    for norm in RUN_NORMS:
        length = runs.curves(f"length_{layer}", norm, optimizer).mean(0)
        square = runs.curves(f"square_{layer}", norm, optimizer).mean(0)
        rate = runs.curves(f"rate_{layer}", norm, optimizer).mean(0)
        text.append(
            f"{NORMS[norm][0]} from {length[0]:.2f} to {length[-1]:.2f} (Pythagoras: "
            f"{square[-1]:.2f})"
        )
        falls.append(f"{rate[-1] / rate[0]:.0%}")
    return (
        f"In 20 epochs the norm of W grows: {'; '.join(text)}. The ratio λ/‖W‖² falls "
        f"to {falls[0]}, {falls[1]}, and {falls[2]} of its initial value. {runs.sentence}"
    )


TRAINING = Picture(
    draw_training,
    describe_training,
    alt="Two line plots over 20 epochs, with layer norm, with batch norm and without "
    "normalization. Left, the norm of the weights, with circles at the norm that Pythagoras "
    "predicts; right, the mean angle by which an update turns them, with a band over the seeds.",
)


def draw_starts(runs: WeightGrowthRuns, norm: str) -> list[go.Figure]:
    """Draw the norm of W and the training NLL over the epochs, for four initial scales.

    A line is the mean over the seeds; the NLL has a band from the lowest to the highest.
    """
    lengths, losses = go.Figure(), go.Figure()
    for scale, style in _START_STYLES.items():
        length = runs.curves("length_2", norm, "sgd", scale).mean(0)
        loss = runs.curves("train_nll", norm, "sgd", scale)
        add_line(lengths, runs.epochs, length, style, "epoch %{x:.3g}: %{y:.3g}")
        band(losses, runs.epochs, spread(loss), style, "epoch %{x:.3g}: %{y:.3g} nats")
    lengths.update_layout(
        title="Norm of W, hidden layer 2",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=decades(-0.1, 2.1),
    )
    losses.update_layout(
        title="Training NLL (nats)",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=decades(-2.6, 2.6),
    )
    return [label_ends(lengths), label_ends(losses)]


def describe_starts(runs: WeightGrowthRuns, norm: str) -> str:
    """Describe the final norm and loss for each initial scale."""
    texts = []
    for scale, (label, *_) in _START_STYLES.items():
        length = runs.curves("length_2", norm, "sgd", scale).mean(0)
        loss = runs.curves("train_nll", norm, "sgd", scale).mean(0)
        texts.append(f"{label}, {length[0]:.3g} to {length[-1]:.3g}, loss {loss[-1]:.2g} nats")
    which = "without normalization" if norm == "none" else f"with {NORMS[norm][0]}"
    return f"Norm of W and final loss, {which}: {'; '.join(texts)}. {runs.sentence}"


FOUR_LENGTHS = Picture(
    draw_starts,
    describe_starts,
    alt="Two line plots over 20 epochs for initial weights multiplied by 0.25, 1, 4, and 16. Left, "
    "the norm of the weights of layer 2; right, the training loss, with a band over the seeds.",
)


def against_drawn(runs: WeightGrowthRuns, norm: str, scale: float) -> np.ndarray:
    """Return the log ratio of the final training NLL to that of unscaled initial weights, by seed.

    Args:
        runs: The recorded runs.
        norm: The norm of the runs.
        scale: Factor of the initial weights.
    """
    changed, drawn = (runs.curves("train_nll", norm, "sgd", s)[:, -1] for s in (scale, 1.0))
    return np.log(changed / drawn)


def recovered(runs: WeightGrowthRuns) -> Table:
    """Return a table of how much higher the final loss is from rescaled initial weights."""
    scales = [scale for scale in _START_STYLES if scale != 1]
    results = [against_drawn(runs, norm, scale) for scale in scales for norm in RUN_NORMS]
    cells = [cell for d, label in zip(results, labels([-d for d in results]), strict=True)
             for cell in (_ratio(d), label)]  # fmt: skip
    n = 2 * len(RUN_NORMS)
    seeds = len(runs.curves("epoch", RUN_NORMS[0]))
    return Table(
        ["Initial weights", *(h for norm in RUN_NORMS for h in (NORMS[norm][0], "higher loss?"))],
        [[_START_STYLES[s][0], *cells[n * k : n * k + n]] for k, s in enumerate(scales)],
        "Final training NLL, divided by that from unscaled initial weights. Geometric "
        f"{runs.sentence[0].lower()}{runs.sentence[1:-1]}, {limits_name(seeds)}. The labels are "
        f"corrected for the {len(results)} comparisons of this table.",
    )


def _ratio(logs: np.ndarray) -> str:
    mean, low, high = np.exp([logs.mean(), *limits(logs)])
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"
