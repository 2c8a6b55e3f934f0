"""The effect of the same step from rescaled weights, on the outputs and the Fisher matrix."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.effective_learning_rate.lines import FINE, doubling
from lnbook.chapters.effective_learning_rate.models import INPUTS, UNITS, cases, glm
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, add_line, add_points, cursor, label_ends, log_axis

WHOSE = {"one unit, w₁": "one", "all of W": "all"}
_TOP = 2.1  # upper end of the panel on rescaling
STEP = 0.02  # norm of the step in the weights


def _delta(norm: str, whose: str) -> np.ndarray:
    delta = np.zeros((UNITS, INPUTS + (1 if norm == "none" else 2)))
    rows = slice(0, 1 if whose == "one" else UNITS)
    delta[rows, :INPUTS] = np.random.default_rng(5).normal(size=(UNITS, INPUTS))[rows]
    return (STEP * delta / np.linalg.norm(delta)).ravel()


@cache
def step(norm: str, scale: float, whose: str) -> float:
    """Return how much the same step in the weights changes the outputs.

    Args:
        norm: The norm of the summed inputs.
        scale: Factor of the weights before the step.
        whose: Which weights are scaled and updated.

    Returns:
        The root mean square of the change of ``s``.
    """
    model = glm(norm, scale=scale, whose=whose)
    return _rms(model.moved(_delta(norm, whose)).natural(cases()) - model.natural(cases()))


@cache
def scaling(norm: str, scale: float, whose: str) -> float:
    """Return how much the rescaling itself changes the outputs, as in :func:`step`."""
    moved = glm(norm, scale=scale, whose=whose).natural(cases())
    return _rms(moved - glm(norm).natural(cases()))


def _rms(a: np.ndarray) -> float:
    return float(np.sqrt((a**2).mean()))


def draw_step(scale: float, whose: str) -> list[go.Figure]:
    """Draw the effect of a step, and of the rescaling itself, over the scale of the weights."""
    steps, scalings = go.Figure(), go.Figure()
    for norm, style in NORMS.items():
        for figure, value in ((steps, step), (scalings, scaling)):
            add_line(
                figure,
                FINE.round(4),
                [_shown(value(norm, float(d), whose)) for d in FINE],
                style,
                "times %{x:.3g}: %{y:.3g}",
            )
    for figure, value in ((steps, step), (scalings, scaling)):
        add_points(
            figure,
            [scale] * len(NORMS),
            [_shown(value(norm, float(scale), whose)) for norm in NORMS],
            (None, [style[1] for style in NORMS.values()], "circle"),
            size=10,
        )
        figure.update_layout(
            height=340,
            xaxis=doubling("weights multiplied by"),
            shapes=[cursor(scale)],
        )
    steps.update_layout(
        title="Change of the outputs caused by the step (RMS)",
        yaxis=log_axis([0.001, 0.01, 0.1], [-3.6, -0.4]),
    )
    scalings.update_layout(
        title="Change of the outputs caused by the rescaling (RMS)",
        yaxis={"range": [-0.1, _TOP], "zeroline": False},
    )
    return [label_ends(steps), label_ends(scalings)]


def _shown(value: float) -> float | None:
    # The line without a norm ends at the top of the right panel, so that the others are not flat.
    return float(f"{value:.4g}") if value <= _TOP else None


def describe_step(scale: float, whose: str) -> str:
    """Describe the effect of the step relative to that at scale 1, and that of rescaling."""
    if scale == 1:
        return "The weights are multiplied by 1. Move the slider."
    name = "The weights of one unit" if whose == "one" else "All weights"
    ratios = [f"{step(n, scale, whose) / step(n, 1, whose):.2f} ({NORMS[n][0]})" for n in NORMS]
    moved = [
        "without normalization" if n == "none" else f"with {NORMS[n][0]}"
        for n in NORMS
        if scaling(n, scale, whose) >= 1e-12
    ]
    return (
        f"{name} are multiplied by {scale:g}. {' and '.join(moved).capitalize()}, the rescaling "
        f"by itself changes the outputs. The change caused by the step is multiplied by "
        f"{', '.join(ratios)}."
    )


SAME_STEP = Picture(
    draw_step,
    describe_step,
    alt="Two line plots over the scale of the weights, for layer, batch, and weight norm and for "
    "none. Left, the change of the outputs caused by the same step in the weights; right, the "
    "change caused by the rescaling itself.",
)


# Blocks of the Fisher matrix.


def blocks(norm: str, whose: str) -> dict[str, float]:
    """Return the factors by which parts of the exact Fisher matrix change if weights double.

    Args:
        norm: ``batch``, ``weight`` or ``layer``.
        whose: The weights that are doubled: those of ``"one"`` unit, or ``"all"``.

    Returns:
        ``own`` and ``other``: the blocks of w₁ with itself and with w₂, in the Frobenius norm;
        ``length``: ds of a step in w₁; ``along``: the curvature in the direction of the doubling,
        its value before and not a factor.
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
