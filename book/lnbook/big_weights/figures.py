"""Slow down with big weights: steps, Fisher blocks, recorded runs and the metric of the gains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, band, cursor, grouped, label_ends, spread
from lnbook.show.table import Table
from lnlib.compare import bounds, bounds_name
from lnlib.fisher import GLM

CASES, INPUTS, UNITS = 64, 6, 4
SCALES = [0.125, 0.25, 0.5, 1, 2, 4, 8]
WHOSE = {"one unit's, w₁": "one", "all of W": "all"}
_TOP = 2.1  # of the panel of the scaling
_FINE = 2 ** np.linspace(-3, 3, 25)


@cache
def cases() -> np.ndarray:
    """Return the inputs of 64 cases, ``(64, 6)``."""
    return np.random.default_rng(0).normal(size=(CASES, INPUTS)) + 0.3


def glm(norm: str, family: str = "categorical", scale: float = 1.0, whose: str = "all") -> GLM:
    """Return a model of four units with six inputs; the weights do not depend on the norm.

    Args:
        norm: Of the summed inputs.
        family: Of the labels.
        scale: Factor of weights.
        whose: ``"all"``, or ``"one"`` for the first unit's alone.
    """
    rng = np.random.default_rng(3)
    W, b = 0.4 * rng.normal(size=(UNITS, INPUTS)), 0.3 * rng.normal(size=UNITS)
    W[: 1 if whose == "one" else UNITS] *= scale
    return GLM(W, b, norm=norm, family=family)


# The same step from longer weights.

STEP = 0.02  # length of the step in the weights


def _delta(norm: str, whose: str) -> np.ndarray:
    delta = np.zeros((UNITS, INPUTS + (1 if norm == "none" else 2)))
    rows = slice(0, 1 if whose == "one" else UNITS)
    delta[rows, :INPUTS] = np.random.default_rng(5).normal(size=(UNITS, INPUTS))[rows]
    return (STEP * delta / np.linalg.norm(delta)).ravel()


@cache
def step(norm: str, scale: float, whose: str) -> float:
    """Return how far one and the same step in the weights moves the outputs.

    Args:
        norm: Of the summed inputs.
        scale: Factor of the weights before the step.
        whose: Which weights are scaled and take the step.

    Returns:
        Root mean square of the change of ``s``.
    """
    model = glm(norm, scale=scale, whose=whose)
    return _rms(model.moved(_delta(norm, whose)).natural(cases()) - model.natural(cases()))


@cache
def scaling(norm: str, scale: float, whose: str) -> float:
    """Return how far the scaling itself moves the outputs, as in :func:`step`."""
    moved = glm(norm, scale=scale, whose=whose).natural(cases())
    return _rms(moved - glm(norm).natural(cases()))


def _rms(a: np.ndarray) -> float:
    return float(np.sqrt((a**2).mean()))


def draw_step(scale: float, whose: str) -> list[go.Figure]:
    """Draw what a step does, and what the scaling did, over the scale of the weights."""
    steps, scalings = go.Figure(), go.Figure()
    for norm, (label, color, dash) in NORMS.items():
        for figure, value in ((steps, step), (scalings, scaling)):
            figure.add_scatter(
                x=_FINE.round(4),
                y=[_shown(value(norm, float(d), whose)) for d in _FINE],
                mode="lines",
                name=label,
                line={"color": color, "dash": dash, "width": 2.5},
                hovertemplate=f"times %{{x:.3g}}: %{{y:.3g}}<extra>{label}</extra>",
            )
    for figure, value in ((steps, step), (scalings, scaling)):
        figure.add_scatter(
            x=[scale] * len(NORMS),
            y=[_shown(value(norm, float(scale), whose)) for norm in NORMS],
            mode="markers",
            marker={"color": [look[1] for look in NORMS.values()], "size": 10},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.update_layout(
            height=340,
            xaxis=_doubling("weights multiplied by"),
            shapes=[cursor(scale)],
        )
    steps.update_layout(
        title="Change of the outputs by the same step",
        yaxis={
            "type": "log",
            "range": [-3.6, -0.4],
            "tickvals": [0.001, 0.01, 0.1],
            "ticktext": ["0.001", "0.01", "0.1"],
        },
    )
    scalings.update_layout(
        title="Change of the outputs by the scaling itself",
        yaxis={"range": [-0.1, _TOP], "zeroline": False},
    )
    return [label_ends(steps), label_ends(scalings)]


def _shown(value: float) -> float | None:
    # No norm leaves the right panel at its top: the others would be flat beside it.
    return float(f"{value:.4g}") if value <= _TOP else None


def describe_step(scale: float, whose: str) -> str:
    """Say how far the step goes, against scale 1, and what the scaling did."""
    name = "the weights of one unit" if whose == "one" else "all weights"
    if scale == 1:
        return "The weights are multiplied by 1; move the scale."
    said = [
        f"{NORMS[n][0]} {step(n, scale, whose) / step(n, 1, whose):.2f} times as far"
        f" ({_did(scaling(n, scale, whose))})"
        for n in NORMS
    ]
    return (
        f"With {name} times {scale:g}, the same step moves the outputs: {'; '.join(said)}. In "
        "parentheses: how far the scaling itself had moved them."
    )


SAME_STEP = Picture(
    draw_step,
    describe_step,
    alt="Two line plots over the scale of the weights for four norms. Left, how far one and the "
    "same step moves the outputs; right, how far the scaling itself had moved them.",
)


def _did(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.2f}"


# Blocks of the Fisher matrix.


def blocks(norm: str, whose: str) -> dict[str, float]:
    """Return by which factor parts of the exact Fisher matrix change as weights double.

    Args:
        norm: ``batch``, ``weight`` or ``layer``.
        whose: Whose weights are doubled, ``"one"`` unit's or ``"all"``.

    Returns:
        ``own`` and ``other``: the blocks of w₁ with itself and with w₂, by their Frobenius norms;
        ``length``: ds for a step in w₁; ``along``: the curvature along what was doubled,
        before, not a factor.
    """
    F, doubled = (
        glm(norm, scale=s, whose=whose)
        .fisher(cases())
        .reshape(UNITS, INPUTS + 2, UNITS, INPUTS + 2)[:, :INPUTS, :, :INPUTS]
        for s in (1.0, 2.0)
    )
    w = glm(norm).W.copy()
    if whose == "one":
        w[1:] = 0
    d = _delta(norm, "one").reshape(UNITS, -1)[0, :INPUTS]
    return {
        "own": float(np.linalg.norm(doubled[0, :, 0]) / np.linalg.norm(F[0, :, 0])),
        "other": float(np.linalg.norm(doubled[0, :, 1]) / np.linalg.norm(F[0, :, 1])),
        "length": float(np.sqrt((d @ doubled[0, :, 0] @ d) / (d @ F[0, :, 0] @ d))),
        "along": float(np.einsum("ip,ipjq,jq->", w, F, w)),
    }


# A toy of the right angle.

TURNS = 12


def spiral(length: float, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take twelve steps at right angles, down a gradient that is 1 long at unit length.

    Args:
        length: Of the weights at the start.
        rate: The learning rate.

    Returns:
        The tip of the weights before each step and after the last, ``(13, 2)``; its distance from
        the origin, ``(13,)``; by how many degrees each step turns, ``(12,)``.
    """
    points = [np.array([length, 0.0])]
    for _ in range(TURNS):
        w = points[-1]
        unit = w / np.linalg.norm(w)
        gradient = np.array([unit[1], -unit[0]]) / np.linalg.norm(w)  # at length 1, 1 long
        points.append(w - rate * gradient)
    tips = np.array(points)
    lengths = np.linalg.norm(tips, axis=1)
    angles = np.unwrap(np.arctan2(tips[:, 1], tips[:, 0]))
    return tips, lengths, np.degrees(np.diff(angles))


def draw_circle(length: float, rate: float) -> list[go.Figure]:
    """Draw the way of the tip of the weights, and the angle of each step."""
    tips, lengths, turns = spiral(length, rate)
    way, angles = go.Figure(), go.Figure()
    reach = 1.12 * max(lengths[-1], length)
    around = np.linspace(0, 2 * np.pi, 61)
    way.add_scatter(
        x=(length * np.cos(around)).round(3),
        y=(length * np.sin(around)).round(3),
        mode="lines",
        name="circle of the start",
        line={"color": COLORS["gray"], "dash": "dot", "width": 1.5},
        hoverinfo="skip",
    )
    for i in (0, TURNS):
        way.add_scatter(
            x=[0, float(tips[i, 0].round(3))],
            y=[0, float(tips[i, 1].round(3))],
            mode="lines",
            name=("start", "end")[i > 0],
            line={"color": COLORS["ink" if i else "gray"], "width": 3},
            hoverinfo="skip",
        )
    way.add_scatter(
        x=tips[:, 0].round(3),
        y=tips[:, 1].round(3),
        mode="lines+markers",
        name="steps",
        line={"color": COLORS["first"], "width": 2.5},
        marker={"color": COLORS["first"], "size": 7},
        customdata=lengths.round(3),
        hovertemplate="length %{customdata}<extra>tip of the weights</extra>",
    )
    way.update_layout(
        title="Weights in a plane",
        height=380,
        xaxis={"range": [-reach, reach], "zeroline": False, "constrain": "domain"},
        yaxis={"range": [-reach, reach], "zeroline": False, "scaleanchor": "x"},
    )
    angles.add_bar(
        x=list(range(1, TURNS + 1)),
        y=turns.round(2),
        name="turn",
        marker={"color": COLORS["first"]},
        hovertemplate="step %{x}: %{y}°<extra></extra>",
    )
    angles.update_layout(
        title="Turn of each step, in degrees",
        height=380,
        xaxis={"title": "step", "dtick": 2},
        yaxis={"range": [0, 90], "tickvals": [0, 30, 60, 90]},
    )
    return [way, angles]


def describe_circle(length: float, rate: float) -> str:
    """Say what the first step does, and what the last."""
    _, lengths, turns = spiral(length, rate)
    return (
        f"From length {length:g} at rate {rate:g}: the first step turns the weights by "
        f"{turns[0]:.1f} degrees, the twelfth by {turns[-1]:.1f}; they end {lengths[-1]:.2f} long."
    )


CIRCLE = Picture(
    draw_circle,
    describe_circle,
    alt="Left, the tip of a weight vector in a plane: each step stands at a right angle to the "
    "vector, so the tip leaves its circle. Right, the angle of each step.",
)


# Recorded runs.

RUN_NORMS = ("layer", "batch", "none")
OPTIMIZERS = {"SGD": "sgd", "Adam": "adam"}
STARTS = (0.25, 1.0, 4.0, 16.0)
_START_LOOKS = {
    0.25: ("a quarter", COLORS["third"], "dot"),
    1.0: ("as drawn", COLORS["first"], "solid"),
    4.0: ("4 times", COLORS["second"], "dash"),
    16.0: ("16 times", COLORS["fourth"], "dashdot"),
}


class Runs:
    """Recorded runs of ``lnlib.experiments.weights.run``, ready to be drawn and compared.

    Args:
        records: As :func:`lnlib.runs.record.read_all` returns them, measured at equal epochs.

    Raises:
        ValueError: If there are no records, or they were measured at different epochs.
    """

    def __init__(self, records: Sequence[dict[str, Any]]):
        self.epochs, self._runs = grouped(
            records, ["norm", "optimizer", "scale"], "python -m lnlib replay weights"
        )

    @property
    def said(self) -> str:
        """Say what is shown of the seeds, and how many there are."""
        counts = sorted({len(runs) for runs in self._runs.values()})
        return f"Means of {' or '.join(map(str, counts))} seeds."

    def curves(self, name: str, norm: str, optimizer: str = "sgd", scale: float = 1) -> np.ndarray:
        """Return curves ``(seeds, points)``; NaN where nothing was measured.

        Args:
            name: Of a recorded curve, or ``rate_1``, ``rate_2``: the learning rate over ||W||².
            norm: Of the run.
            optimizer: ``sgd`` or ``adam``.
            scale: Factor of the weights at the start.
        """
        runs = self._runs[norm, optimizer, scale]
        if name.startswith("rate"):
            rate = runs[0]["settings"]["learning_rate"]
            return rate / self.curves(name.replace("rate", "length"), norm, optimizer, scale) ** 2
        return np.array([r["curves"][name] for r in runs], dtype=float)


def draw_training(runs: Runs, optimizer: str, layer: int) -> list[go.Figure]:
    """Draw the length of W over the epochs, and how far an update turns it.

    A line is the mean of the seeds; the turn has a band from the lowest to the highest.
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
            name=f"{label}, right angles",
            showlegend=False,
            marker={"color": color, "symbol": "circle-open", "size": 9, "line": {"width": 2}},
            hovertemplate=f"right angles: %{{y:.2f}}<extra>{label}</extra>",
        )
        _line(lengths, runs.epochs, length, NORMS[norm], "epoch %{x:.3g}: %{y:.2f}")
        turn = runs.curves(f"turn_{layer}", norm, optimizer)[:, 1:]
        _band(turns, runs.epochs[1:], turn, NORMS[norm], "epoch %{x:.3g}: %{y:.3g}°")
    lengths.update_layout(
        title=f"Length of W in hidden layer {layer}; circles: if all at right angles",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis={"range": [4, 11.6]},
    )
    turns.update_layout(
        title="An update turns W by, in degrees",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=_decades(-2.2, 0.9),
    )
    return [label_ends(lengths), label_ends(turns)]


def describe_training(runs: Runs, optimizer: str, layer: int) -> str:
    """Say how much longer the weights are at the end, and how much less they turn."""
    said, falls = [], []
    for norm in RUN_NORMS:
        length = runs.curves(f"length_{layer}", norm, optimizer).mean(0)
        square = runs.curves(f"square_{layer}", norm, optimizer).mean(0)
        rate = runs.curves(f"rate_{layer}", norm, optimizer).mean(0)
        said.append(
            f"{NORMS[norm][0]} from {length[0]:.2f} to {length[-1]:.2f} (right angles: "
            f"{square[-1]:.2f})"
        )
        falls.append(f"{rate[-1] / rate[0]:.0%}")
    return (
        f"In 20 epochs the weights grow: {'; '.join(said)}. The rate over the squared length falls "
        f"to {falls[0]}, {falls[1]} and {falls[2]}. {runs.said}"
    )


TRAINING = Picture(
    draw_training,
    describe_training,
    alt="Two line plots over 20 epochs with layer norm, batch norm and no norm. Left, the length "
    "of the weights, with circles where right angles would put it; right, the mean angle by which "
    "an update turns them, in a band over the seeds.",
)


def draw_starts(runs: Runs, norm: str) -> list[go.Figure]:
    """Draw length and training NLL over the epochs, for four lengths at the start.

    A line is the mean of the seeds; the NLL has a band from the lowest to the highest.
    """
    lengths, losses = go.Figure(), go.Figure()
    for scale, look in _START_LOOKS.items():
        length = runs.curves("length_2", norm, "sgd", scale).mean(0)
        loss = runs.curves("train_nll", norm, "sgd", scale)
        _line(lengths, runs.epochs, length, look, "epoch %{x:.3g}: %{y:.3g}")
        _band(losses, runs.epochs, loss, look, "epoch %{x:.3g}: %{y:.3g} nats")
    lengths.update_layout(
        title="Length of W in hidden layer 2",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=_decades(-0.1, 2.1),
    )
    losses.update_layout(
        title="Training NLL, nats",
        height=340,
        xaxis={"title": "epoch", "range": [-0.4, 20.4]},
        yaxis=_decades(-2.6, 2.6),
    )
    return [label_ends(lengths), label_ends(losses)]


def describe_starts(runs: Runs, norm: str) -> str:
    """Say where each start leads."""
    said = []
    for scale, (label, *_) in _START_LOOKS.items():
        length = runs.curves("length_2", norm, "sgd", scale).mean(0)
        loss = runs.curves("train_nll", norm, "sgd", scale).mean(0)
        said.append(f"{label}, from {length[0]:.3g} to {length[-1]:.3g} and to {loss[-1]:.2g} nats")
    return f"Weights that start, with {NORMS[norm][0]}: {'; '.join(said)}. {runs.said}"


FOUR_LENGTHS = Picture(
    draw_starts,
    describe_starts,
    alt="Two line plots over 20 epochs for weights that start a quarter, 1, 4 and 16 times as "
    "long. Left, the length of the weights in layer 2; right, the training loss, in a "
    "band over the seeds.",
)


def against_drawn(runs: Runs, norm: str, scale: float) -> tuple[float, float, float]:
    """Compare the training NLL at the end with that of weights as drawn, seed by seed.

    Args:
        runs: The recorded runs, at least two seeds.
        norm: Of the runs.
        scale: Factor of the weights at the start.

    Returns:
        The geometric mean of the ratios and its :func:`lnlib.compare.bounds`.
    """
    changed, drawn = (runs.curves("train_nll", norm, "sgd", s)[:, -1] for s in (scale, 1.0))
    logs = np.log(changed / drawn)
    low, high = bounds(logs)
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def recovered(runs: Runs) -> Table:
    """Tabulate how much higher the loss ends from a start that is too short or too long."""
    rows = []
    for scale, (label, *_) in _START_LOOKS.items():
        if scale != 1:
            found = (against_drawn(runs, norm, scale) for norm in RUN_NORMS)
            rows.append([label, *(f"{m:.2f} [{low:.2f}, {high:.2f}]" for m, low, high in found)])
    seeds = len(runs.curves("epoch", RUN_NORMS[0]))
    return Table(
        ["Weights start", *(NORMS[norm][0] for norm in RUN_NORMS)],
        rows,
        "Training NLL at the end, over that of weights as drawn. Geometric "
        f"{runs.said[0].lower()}{runs.said[1:-1]}, {bounds_name(seeds)}.",
    )


def _line(figure: go.Figure, x: np.ndarray, y: np.ndarray, look: tuple, hover: str) -> None:
    label, color, dash = look
    figure.add_scatter(
        x=x,
        y=[float(f"{v:.4g}") for v in y],
        mode="lines",
        name=label,
        line={"color": color, "dash": dash, "width": 2.5},
        hovertemplate=f"{hover}<extra>{label}</extra>",
    )


def _band(figure: go.Figure, x: np.ndarray, curves: np.ndarray, look: tuple, hover: str) -> None:
    values = [np.array([float(f"{v:.4g}") for v in line]) for line in spread(curves)]
    band(figure, x, values, look, hover)


# The metric of the gains.

FAMILIES = {"Gaussian": "gaussian", "Bernoulli": "bernoulli", "categorical": "categorical"}
SCALED = {"the inputs": "inputs", "the weights": "weights"}
FORMULAS = {"exact": "exact", "eqs. 32-35 as printed": "paper"}
_GAIN_STEP = np.array([0.08, -0.02, 0.05, 0.03])


@cache
def gain(norm: str, family: str, scale: float, scaled: str, kind: str) -> float:
    """Return ds² for one step in the gains, or along the unit weights with no norm.

    Args:
        norm: Of the summed inputs.
        family: Of the labels.
        scale: Factor of inputs or weights.
        scaled: ``"inputs"`` or ``"weights"``.
        kind: ``"exact"``, or ``"paper"`` for eqs. 32-35 as printed.
    """
    inputs = scaled == "inputs"
    model = glm(norm, family, 1.0 if inputs else scale)
    return model.gain_metric(cases() * (scale if inputs else 1.0), _GAIN_STEP, kind)


def draw_gain(family: str, scaled: str, kind: str) -> go.Figure:
    """Draw ds² over the scale of the inputs or of the weights."""
    figure = go.Figure()
    for norm, look in NORMS.items():
        values = [gain(norm, family, float(d), scaled, kind) for d in _FINE]
        _line(figure, _FINE.round(4), np.array(values), look, "times %{x:.3g}: %{y:.2g}")
        if norm == "none":  # often lies under weight norm
            figure.data[-1].update(line={"width": 6}, opacity=0.6)
    figure.update_layout(
        title="ds² of the same step in the gains, nats",
        height=360,
        xaxis=_doubling(f"{scaled} multiplied by"),
        yaxis=_decades(-5.4, 0),
    )
    return label_ends(figure)


def describe_gain(family: str, scaled: str, kind: str) -> str:
    """Say how far ds² reaches, from an eighth to eight times."""
    said = []
    for norm in NORMS:
        low, mid, high = (gain(norm, family, s, scaled, kind) for s in (0.125, 1.0, 8.0))
        said.append(f"{NORMS[norm][0]} {_say(low)}, {_say(mid)} and {_say(high)}")
    return f"ds² at an eighth, once and eight times {scaled}: {'; '.join(said)}."


GAIN = Picture(
    draw_gain,
    describe_gain,
    alt="On logarithmic axes, the metric of one step in the gains over the scale of the inputs or "
    "of the weights, for four norms; batch norm and layer norm are flat.",
)


def _say(value: float) -> str:
    return f"{value:.{1 - int(np.floor(np.log10(value)))}f}"  # two digits, no exponent


# Axes.


def _doubling(title: str) -> dict:
    return {
        "type": "log",
        "title": title,
        "range": [-0.95, 0.95],
        "tickvals": SCALES,
        "ticktext": ["⅛", "¼", "½", "1", "2", "4", "8"],
        "zeroline": False,
    }


def _decades(low: float, high: float) -> dict:
    powers = np.arange(np.ceil(low), np.floor(high) + 1)
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": (10.0**powers).tolist(),
        "ticktext": [f"{10.0**p:.{max(0, int(-p))}f}" for p in powers],
        "zeroline": False,
    }
