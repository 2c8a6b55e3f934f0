"""Batch statistics in a trained network, and networks that train live."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import (
    NORMS,
    add_line,
    add_points,
    band,
    cursor,
    label_ends,
    log_axis,
    spread,
    suffix,
)
from lnlab.analysis.recorded import Record, RecordedRuns

#: Maps the label of a norm in the network to the norm and its index.
PLACES = {
    "batch norm, hidden layer 1": ("batch", 1),
    "batch norm, hidden layer 2": ("batch", 2),
    "batch norm, outputs": ("batch", 3),
    "layer norm, hidden layer 1": ("layer", 1),
    "layer norm, hidden layer 2": ("layer", 2),
}
#: Statistics with which the same network is evaluated: label, color, dash.
STATISTICS = {
    "batches": ("the batch (train mode)", COLORS["batch"], "dash"),
    "test": ("running averages (eval mode)", COLORS["kept"], "solid"),
    "averages": ("averages over all batches", COLORS["third"], "dashdot"),
    "true": ("all examples as one batch", COLORS["gray"], "dot"),
}


class NoiseRuns(RecordedRuns):
    """Recorded runs of ``lnlab.experiments.gradient_noise.run``, one group per norm.

    Args:
        records: Records from :func:`lnlab.records.read_all`, measured at equal epochs.

    Raises:
        ValueError: If there are no records, or they were measured at different epochs.
    """

    def __init__(self, records: Sequence[Record]):
        super().__init__(records, lambda s: s["norm"], "python -m lnlab replay noise")
        self.epochs()  # raises if the epochs differ
        self.norms = [norm for norm in NORMS if norm in self.groups]

    def cloud(self, norm: str, number: int, point: int) -> np.ndarray:
        """Return mean and std ``(40, 2)`` of seed 0: of a unit in batches, or of examples."""
        arrays = self.runs(norm)[0]["arrays"]
        return np.stack([arrays[f"{name}_{number}"][point] for name in ("mean", "std")], axis=1)


def stops(runs: NoiseRuns) -> list[int]:
    """Return the points of the slider, denser within the first epoch."""
    epochs = runs.epochs()
    selected = {*epochs[epochs < 1][::2].tolist(), 1, 2, 3, 5, 10, epochs[-1]}
    return [point for point, epoch in enumerate(epochs.tolist()) if epoch in selected]


# The statistics of batches of four examples.


def draw_statistics(runs: NoiseRuns, point: int, place: tuple[str, int]) -> list[go.Figure]:
    """Draw the statistics of forty batches, or examples, and their errors over training.

    Args:
        runs: The recorded runs.
        point: The index of the measured point.
        place: The norm and its index, a value of :data:`PLACES`.
    """
    return [_cloud(runs, point, *place), _misses(runs, point, *place)]


def _cloud(runs: NoiseRuns, point: int, norm: str, number: int) -> go.Figure:
    figure = go.Figure()
    _, color, _ = NORMS[norm]
    x, y = runs.cloud(norm, number, point).T
    one = "batch" if norm == "batch" else "example"
    add_points(
        figure,
        x,
        y,
        ("batches of 4" if norm == "batch" else "examples", color, "circle"),
        f"mean %{{x:.2f}}, std %{{y:.2f}}<extra>one {one}</extra>",
        size=8,
        opacity=0.7,
    )
    figure.add_scatter(
        x=[0],
        y=[1],
        mode="markers",
        name="all examples" if norm == "batch" else "average example",
        marker={"color": COLORS["gray"], "size": 15, "symbol": "cross-thin", "line": {"width": 3,
                "color": COLORS["gray"]}},
        hovertemplate="mean 0, std 1<extra></extra>",
    )  # fmt: skip
    if norm == "batch":
        running = [runs.curves(norm, f"kept_{name}_{number}")[0, point] for name in ("mean", "std")]
        add_points(
            figure,
            running[:1],
            running[1:],
            ("running averages", COLORS["kept"], "diamond"),
            "mean %{x:.2f}, std %{y:.2f}",
            size=12,
        )
    title = "Mean and std of one unit" if norm == "batch" else "Mean and std over units"
    figure.update_layout(
        title=title,
        height=340,
        xaxis={"title": "mean", "range": [-1.6, 1.6], "zeroline": False},
        yaxis={"title": "standard deviation", "range": [0, 2.4], "zeroline": False},
    )
    return figure


def _misses(runs: NoiseRuns, point: int, norm: str, number: int) -> go.Figure:
    figure = go.Figure()
    lines = {f"moves_{number}": ("same example, other batch", NORMS[norm][1], "solid")}
    if norm == "batch":
        lines |= {
            f"miss_{number}": ("batch mean", COLORS["first"], "dash"),
            f"kept_miss_{number}": ("running mean", COLORS["kept"], "dot"),
        }
    for name, style in lines.items():
        add_line(
            figure,
            runs.epochs(),
            runs.curves(norm, name).mean(0).round(3),
            style,
            "epoch %{x:.3g}: %{y:.2f}",
        )
    figure.update_layout(
        title="Error or change, in std",
        height=340,
        xaxis={"title": "epoch", "range": [-0.03 * runs.epochs()[-1], 1.03 * runs.epochs()[-1]]},
        yaxis={"range": [-0.03, 1], "zeroline": False},
        shapes=[cursor(runs.epochs()[point])],
    )
    return label_ends(figure)


def describe_statistics(runs: NoiseRuns, point: int, place: tuple[str, int]) -> str:
    """Describe the error of the means, and how much an example depends on its batch."""
    norm, number = place
    when = f"After {_epochs(runs.epochs()[point])}"
    moves = runs.curves(norm, f"moves_{number}")[:, point].mean()
    if norm == "layer":
        x, y = runs.cloud(norm, number, point).T
        return (
            f"{when}: over the examples, the means have a standard deviation of {x.std():.2f}, and "
            f"the standard deviations one of {y.std():.2f}. The normalized values of an example "
            f"change by {moves:.2f} in another batch."
        )
    miss, mean = (
        runs.curves(norm, f"{name}_{number}")[:, point].mean() for name in ("miss", "kept_miss")
    )
    return (
        f"{when}: a batch mean is off by {miss:.2f} standard deviations, the running mean by "
        f"{mean:.2f}. The normalized values of an example change by {moves:.2f} in another batch."
    )


SEEN = Picture(
    draw_statistics,
    describe_statistics,
    alt="Left, a cloud of dots, mean and standard deviation, around a cross. Right, lines over "
    "epochs: the error of the batch mean and of the running mean, and the change of an example's "
    "normalized values in another batch.",
)


def _epochs(epochs: float) -> str:
    return f"{epochs:.2g} epoch" + ("s" if epochs != 1 else "")


# One network with four kinds of statistics.


def draw_mismatch(runs: NoiseRuns) -> list[go.Figure]:
    """Draw test NLL and test error of the batch-normed network under four kinds of statistics."""
    panels = []
    for name, title, ticks, unit in (
        ("nll", "Test NLL (nats)", [0.1, 0.2, 0.5, 1, 2], "nats"),
        ("error", "Test error (%)", [3, 5, 10, 20, 50], "%"),
    ):
        figure = go.Figure()
        for kind, style in STATISTICS.items():
            add_line(
                figure,
                runs.epochs(),
                runs.curves("batch", f"{kind}_{name}").mean(0),
                style,
                f"epoch %{{x:.3g}}: %{{y:.3g}}{suffix(unit)}",
            )
        figure.update_layout(
            title=title,
            height=340,
            xaxis={"title": "epoch", "zeroline": False},
            yaxis=log_axis(ticks),
        )
        panels.append(label_ends(figure))
    return panels


def describe_mismatch(runs: NoiseRuns) -> str:
    """Describe the final test NLL and error with each kind of statistics."""
    phrases = []
    for kind, (label, *_) in STATISTICS.items():
        nll, error = (runs.curves("batch", f"{kind}_{name}")[:, -1] for name in ("nll", "error"))
        phrases.append(f"{label} {nll.mean():.3f} nats and {error.mean():.2f}%")
    return f"After {_epochs(runs.epochs()[-1])} with batches of 4: {'; '.join(phrases)}."


MISMATCH = Picture(
    draw_mismatch,
    describe_mismatch,
    alt="Two panels over epochs, test NLL and test error, with one line per kind of statistics.",
)


# Live training.

LIVE_EPOCHS = 3  # the same as in lnlab.experiments.mnist.live
_MEASURES = {
    "train_nll": ("Training NLL (nats)", 1, (0.001, 3), [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]),
    "test_error": ("Test error (%)", 100, (1, 95), [1, 2, 3, 5, 10, 20, 50]),
}


def draw_side_by_side(results: Sequence[dict[str, list[dict]]], **settings: Any) -> list[go.Figure]:
    """Draw norms that train side by side: the mean over the seeds, with a band of their range.

    Args:
        results: Results of :func:`lnlab.experiments.mnist.live.train_norms`, at least one.
        **settings: The arguments of that function; they do not affect the figure.
    """
    return [_draw_measure(results, name) for name in _MEASURES]


def _draw_measure(results: Sequence[dict[str, list[dict]]], name: str) -> go.Figure:
    title, factor, (low, high), ticks = _MEASURES[name]
    figure = go.Figure()
    for norm in results[-1]:
        epochs = [r[norm][0]["epoch"] for r in results]
        values = factor * np.array([[p[name] for p in r[norm]] for r in results]).T
        hover = "epoch %{x:.3g}: %{y:.3g}"
        band(figure, epochs, spread(values), NORMS[norm], hover, "lines+markers")
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epoch", "range": [-0.1, LIVE_EPOCHS + 0.1], "zeroline": False},
        yaxis=log_axis(ticks, [np.log10(low), np.log10(high)]),
    )
    return label_ends(figure)


def describe_side_by_side(results: Sequence[dict[str, list[dict]]], **settings: Any) -> str:
    """Describe the loss and the error of each norm so far, as means over the seeds."""
    if not results:
        return "Press Start to train the networks side by side. Stop keeps the results so far."
    parts = [
        f"{NORMS[norm][0]} {np.mean([p['train_nll'] for p in points]):.3f} nats, "
        f"{np.mean([p['test_error'] for p in points]):.1%} test error"
        for norm, points in results[-1].items()
    ]
    points = next(iter(results[-1].values()))
    seeds = f"{len(points)} seeds" if len(points) > 1 else "one seed"
    return f"After {_epochs(points[0]['epoch'])}, {seeds}: {'; '.join(parts)}."


SIDE_BY_SIDE = Picture(
    draw_side_by_side,
    describe_side_by_side,
    alt="Two panels of curves over epochs, training NLL and test error, one curve per norm.",
)
