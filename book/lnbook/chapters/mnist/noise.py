"""Noise, statistics, a race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, band, cursor, label_ends, spread
from lnlab.analysis.recorded import Record, Recorded

#: Where a norm stands: what the reader sees, and (norm, its number).
PLACES = {
    "batch norm, hidden layer 1": ("batch", 1),
    "batch norm, hidden layer 2": ("batch", 2),
    "batch norm, outputs": ("batch", 3),
    "layer norm, hidden layer 1": ("layer", 1),
    "layer norm, hidden layer 2": ("layer", 2),
}
#: Statistics with which one and the same network is tested: label, color, dash.
STATISTICS = {
    "batches": ("each batch's own", COLORS["batch"], "dash"),
    "test": ("running averages", COLORS["kept"], "solid"),
    "averages": ("averages of all batches", COLORS["third"], "dashdot"),
    "true": ("all examples as one batch", COLORS["gray"], "dot"),
}


class Runs(Recorded):
    """Recorded runs of ``lnlab.experiments.noise.run``, a group a norm.

    Args:
        records: As :func:`lnlab.records.read_all` returns them, measured at equal epochs.

    Raises:
        ValueError: If there are no records, or they were measured at different epochs.
    """

    def __init__(self, records: Sequence[Record]):
        super().__init__(records, lambda s: s["norm"], "python -m lnlab replay noise")
        self.epochs()  # are the same
        self.norms = [norm for norm in NORMS if norm in self.groups]

    def cloud(self, norm: str, number: int, point: int) -> np.ndarray:
        """Return mean and deviation ``(40, 2)`` of seed 0: of a unit in batches, or of cases."""
        arrays = self.runs(norm)[0]["arrays"]
        return np.stack([arrays[f"{name}_{number}"][point] for name in ("mean", "std")], axis=1)


def stops(runs: Runs) -> list[int]:
    """Return which points a slider shows: some within the first epoch, then fewer and fewer."""
    epochs = runs.epochs()
    wanted = {*epochs[epochs < 1][::2].tolist(), 1, 2, 3, 5, 10, epochs[-1]}
    return [point for point, epoch in enumerate(epochs.tolist()) if epoch in wanted]


# What four examples say.


def draw_statistics(runs: Runs, point: int, place: tuple[str, int]) -> list[go.Figure]:
    """Draw the statistics of forty batches, or cases, and over training how far they miss.

    Args:
        runs: The recorded runs.
        point: Which of the measured points.
        place: Norm and its number, from :data:`PLACES`.
    """
    return [_cloud(runs, point, *place), _misses(runs, point, *place)]


def _cloud(runs: Runs, point: int, norm: str, number: int) -> go.Figure:
    figure = go.Figure()
    _, color, _ = NORMS[norm]
    x, y = runs.cloud(norm, number, point).T
    one = "batch" if norm == "batch" else "example"
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        name="batches of 4" if norm == "batch" else "examples",
        marker={"color": color, "size": 8, "opacity": 0.7},
        hovertemplate=f"mean %{{x:.2f}}, deviation %{{y:.2f}}<extra>one {one}</extra>",
    )
    figure.add_scatter(
        x=[0],
        y=[1],
        mode="markers",
        name="all examples" if norm == "batch" else "average example",
        marker={"color": COLORS["gray"], "size": 15, "symbol": "cross-thin", "line": {"width": 3,
                "color": COLORS["gray"]}},
        hovertemplate="mean 0, deviation 1<extra></extra>",
    )  # fmt: skip
    if norm == "batch":
        running = [runs.curves(norm, f"kept_{name}_{number}")[0, point] for name in ("mean", "std")]
        figure.add_scatter(
            x=running[:1],
            y=running[1:],
            mode="markers",
            name="running averages",
            marker={"color": COLORS["kept"], "size": 12, "symbol": "diamond"},
            hovertemplate="mean %{x:.2f}, deviation %{y:.2f}<extra>running averages</extra>",
        )
    title = "One unit: mean and deviation" if norm == "batch" else "Mean and deviation over units"
    figure.update_layout(
        title=title,
        height=340,
        xaxis={"title": "mean", "range": [-1.6, 1.6], "zeroline": False},
        yaxis={"title": "deviation", "range": [0, 2.4], "zeroline": False},
    )
    return figure


def _misses(runs: Runs, point: int, norm: str, number: int) -> go.Figure:
    figure = go.Figure()
    lines = {f"moves_{number}": ("an example, in other batches", NORMS[norm][1], "solid")}
    if norm == "batch":
        lines |= {
            f"miss_{number}": ("a batch's mean", COLORS["first"], "dash"),
            f"kept_miss_{number}": ("the running mean", COLORS["kept"], "dot"),
        }
    for name, (label, color, dash) in lines.items():
        figure.add_scatter(
            x=runs.epochs(),
            y=runs.curves(norm, name).mean(0).round(3),
            mode="lines",
            name=label,
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"epoch %{{x:.3g}}: %{{y:.2f}}<extra>{label}</extra>",
        )
    figure.update_layout(
        title="Off by so many deviations",
        height=340,
        xaxis={"title": "epoch", "range": [-0.03 * runs.epochs()[-1], 1.03 * runs.epochs()[-1]]},
        yaxis={"range": [-0.03, 1], "zeroline": False},
        shapes=[cursor(runs.epochs()[point])],
    )
    return label_ends(figure)


def describe_statistics(runs: Runs, point: int, place: tuple[str, int]) -> str:
    """Say how far the means miss, and how far a case moves with its batch."""
    norm, number = place
    when = f"After {_epochs(runs.epochs()[point])}"
    moves = runs.curves(norm, f"moves_{number}")[:, point].mean()
    if norm == "layer":
        x, y = runs.cloud(norm, number, point).T
        return (
            f"{when}: the means of examples lie {x.std():.2f} apart, their deviations "
            f"{y.std():.2f}; each example keeps its own in every batch, and "
            f"its numbers move by {moves:.2f}."
        )
    miss, mean = (
        runs.curves(norm, f"{name}_{number}")[:, point].mean() for name in ("miss", "kept_miss")
    )
    return (
        f"{when}: a batch's mean is off by {miss:.2f} deviations, the running mean by {mean:.2f}; "
        f"the numbers of an example move by {moves:.2f} when it comes in other batches."
    )


SEEN = Picture(
    draw_statistics,
    describe_statistics,
    alt="Left, a cloud of dots, mean against deviation, around a cross. Right, lines over epochs: "
    "how far means are off, and how far an example moves.",
)


def _epochs(epochs: float) -> str:
    return f"{epochs:.2g} epoch" + ("s" if epochs != 1 else "")


# The gradient.


def draw_gradient(runs: Runs, against: str) -> go.Figure:
    """Draw how many batches of 4 it takes until the gradient's noise is as long as the gradient.

    Args:
        runs: The recorded runs.
        against: ``epoch``, or ``train_nll``: where the networks are equally far.
    """
    figure = go.Figure()
    for norm in runs.norms:
        label, color, dash = NORMS[norm]
        noise, nll = runs.curves(norm, "gradient_noise"), runs.curves(norm, "train_nll")
        x = runs.epochs() if against == "epoch" else nll.mean(0)
        known = np.isfinite(noise).all(0)
        mean = np.exp(np.log(noise[:, known]).mean(0))  # of ratios
        figure.add_scatter(
            x=x[known].round(4),
            y=mean.round(1),
            mode="lines+markers",
            name=label,
            line={"color": color, "dash": dash, "width": 2.5},
            marker={"color": color, "size": 5},
            hovertemplate=f"%{{x:.3g}}: %{{y:.0f}} batches<extra>{label}</extra>",
        )
    ticks = [0.01, 0.03, 0.1, 0.3, 1, 3]
    axes = {
        "epoch": {"title": "epoch", "range": [-0.03 * runs.epochs()[-1], 1.03 * runs.epochs()[-1]]},
        # From right to left, as training goes down.
        "train_nll": {"type": "log", "title": "training NLL, nats", "tickvals": ticks,
                      "ticktext": [f"{t:g}" for t in ticks], "autorange": "reversed"},
    }  # fmt: skip
    figure.update_layout(
        title="Batches of 4 until noise is as long as the gradient",
        height=360,
        xaxis=axes[against] | {"zeroline": False},
        yaxis={"type": "log", "tickvals": [1, 3, 10, 30, 100, 300, 1000, 3000]},
    )
    return label_ends(figure)


def describe_gradient(runs: Runs, against: str) -> str:
    """Say the ratio early and at the end."""
    early, phrases = 1, []
    for norm in runs.norms:
        noise = np.exp(np.log(runs.curves(norm, "gradient_noise")).mean(0))
        phrases.append(f"{NORMS[norm][0]} {noise[early]:.0f} and {noise[-1]:.0f}")
    when = f"After {_epochs(runs.epochs()[early])} and {_epochs(runs.epochs()[-1])}"
    if against == "epoch":
        return f"{when}, batches of 4: {'; '.join(phrases)}."
    nll = [f"{NORMS[n][0]} at {runs.curves(n, 'train_nll')[:, -1].mean():.2f}" for n in runs.norms]
    return f"{when}, batches of 4: {'; '.join(phrases)}. They end {', '.join(nll)} nats."


GRADIENT = Picture(
    draw_gradient,
    describe_gradient,
    alt="One line a norm: batches of 4 until noise is as long as the gradient.",
)


# One network, four kinds of statistics.


def draw_mismatch(runs: Runs) -> list[go.Figure]:
    """Draw test NLL and test error of the batch-normed network under four kinds of statistics."""
    panels = []
    for name, title, ticks, unit in (
        ("nll", "Test NLL, nats", [0.1, 0.2, 0.5, 1, 2], "nats"),
        ("error", "Test error, %", [3, 5, 10, 20, 50], "%"),
    ):
        figure = go.Figure()
        for kind, (label, color, dash) in STATISTICS.items():
            figure.add_scatter(
                x=runs.epochs(),
                y=runs.curves("batch", f"{kind}_{name}").mean(0),
                mode="lines",
                name=label,
                line={"color": color, "dash": dash, "width": 2.5},
                hovertemplate=f"epoch %{{x:.3g}}: %{{y:.3g}} {unit}<extra>{label}</extra>",
            )
        figure.update_layout(
            title=title,
            height=340,
            xaxis={"title": "epoch", "zeroline": False},
            yaxis={"type": "log", "tickvals": ticks, "ticktext": [f"{t:g}" for t in ticks]},
        )
        panels.append(label_ends(figure))
    return panels


def describe_mismatch(runs: Runs) -> str:
    """Say what each kind of statistics gives at the end."""
    phrases = []
    for kind, (label, *_) in STATISTICS.items():
        nll, error = (runs.curves("batch", f"{kind}_{name}")[:, -1] for name in ("nll", "error"))
        phrases.append(f"{label} {nll.mean():.3f} nats and {error.mean():.2f} %")
    return f"After {_epochs(runs.epochs()[-1])}, batches of 4: {'; '.join(phrases)}."


MISMATCH = Picture(
    draw_mismatch,
    describe_mismatch,
    alt="Two panels over epochs, test NLL and test error: one line for each kind of statistics.",
)


# Side by side.

RACE_EPOCHS = 3  # as lnlab.experiments.mnist.live has it
_RACE = {
    "train_nll": ("Training NLL, nats", 1, (0.001, 3), [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]),
    "test_error": ("Test error, %", 100, (1, 95), [1, 2, 3, 5, 10, 20, 50]),
}


def draw_race(results: Sequence[dict[str, list[dict]]], **settings: Any) -> list[go.Figure]:
    """Draw norms that train side by side: the mean of the seeds, in a band from low to high.

    Args:
        results: As :func:`lnlab.experiments.mnist.live.race` yields them, at least one.
        **settings: As given to it; they do not change the picture.
    """
    return [_race(results, name) for name in _RACE]


def _race(results: Sequence[dict[str, list[dict]]], name: str) -> go.Figure:
    title, factor, (low, high), ticks = _RACE[name]
    figure = go.Figure()
    for norm in results[-1]:
        epochs = [r[norm][0]["epoch"] for r in results]
        values = factor * np.array([[p[name] for p in r[norm]] for r in results]).T
        look = "epoch %{x:.3g}: %{y:.3g}"
        band(figure, epochs, spread(values), NORMS[norm], look, "lines+markers")
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epoch", "range": [-0.1, RACE_EPOCHS + 0.1], "zeroline": False},
        yaxis={
            "type": "log",
            "range": [np.log10(low), np.log10(high)],
            "tickvals": ticks,
            "ticktext": [f"{t:g}" for t in ticks],
        },
    )
    return label_ends(figure)


def describe_race(results: Sequence[dict[str, list[dict]]], **settings: Any) -> str:
    """Say where each norm stands, mean of its seeds."""
    if not results:
        return "Press Start to train the networks side by side; Stop keeps what was reached."
    parts = [
        f"{NORMS[norm][0]} {np.mean([p['train_nll'] for p in points]):.3f} nats, "
        f"{np.mean([p['test_error'] for p in points]):.1%} wrong"
        for norm, points in results[-1].items()
    ]
    points = next(iter(results[-1].values()))
    seeds = f"{len(points)} seeds" if len(points) > 1 else "one seed"
    return f"After {_epochs(points[0]['epoch'])}, {seeds}: {'; '.join(parts)}."


RACE = Picture(
    draw_race,
    describe_race,
    alt="Two panels of curves over epochs, training NLL and test error, one curve a norm.",
)
