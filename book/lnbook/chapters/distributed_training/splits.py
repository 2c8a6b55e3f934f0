"""Errors of normalization layers whose input is split between devices without communication."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS

BATCH, TOKENS, GROUPS, FEATURES = 8, 16, 4, 8  # shape of x; 4 groups of 8 features
AXES = {  # the axes over which the statistics run
    "LayerNorm": (2, 3),
    "RMSNorm": (2, 3),
    "GroupNorm": (1, 3),
    "BatchNorm": (0, 1),
}
SPLITS = {
    "batch (data parallel)": 0,
    "tokens (sequence parallel)": 1,
    "features (tensor parallel)": 2,
}
ROWS = "output", "gradient of the input", "gradient of the gain"


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return an input and the gradient of its output, of shape (batch, tokens, groups, features).

    Features have different means, and tokens different scales, as in a transformer.
    """
    rng = np.random.default_rng(0)
    shape = BATCH, TOKENS, GROUPS, FEATURES
    scale = np.exp(0.5 * rng.normal(size=(BATCH, TOKENS, 1, 1)))
    x = scale * (rng.normal(size=shape) + rng.normal(size=(1, 1, GROUPS, FEATURES)))
    return x, rng.normal(size=shape) + 0.5 * x


def forward(x: np.ndarray, norm: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the normalized input and 1 / σ."""
    centered = x if norm == "RMSNorm" else x - x.mean(AXES[norm], keepdims=True)
    rstd = 1 / np.sqrt(np.square(centered).mean(AXES[norm], keepdims=True) + 1e-5)
    return centered * rstd, rstd


def backward(dy: np.ndarray, x_hat: np.ndarray, rstd: np.ndarray, norm: str) -> np.ndarray:
    """Return the gradient of the input; its two means run over the same axes as the statistics."""
    mean = 0 if norm == "RMSNorm" else dy.mean(AXES[norm], keepdims=True)
    return rstd * (dy - mean - x_hat * (dy * x_hat).mean(AXES[norm], keepdims=True))


@cache
def errors(norm: str, split: str) -> tuple[float, float, float]:
    """Measure the errors if two devices do not communicate.

    Args:
        norm: A key of :data:`AXES`.
        split: A key of :data:`SPLITS`.

    Returns:
        Relative errors in the Euclidean norm: of the output, with the statistics of each half; of
        the gradient of the input, with the means of each half for a correct output; of the gradient
        of the gain from the first half, as a mean over its examples.
    """
    (x, dy), axis = data(), SPLITS[split]
    x_hat, rstd = forward(x, norm)
    halves = [np.split(array, 2, axis) for array in (x, dy, x_hat)]
    rstds = np.split(rstd, 2, axis) if rstd.shape[axis] > 1 else [rstd, rstd]
    output = np.concatenate([forward(half, norm)[0] for half in halves[0]], axis)
    dx = np.concatenate(
        [backward(d, h, r, norm) for d, h, r in zip(*halves[1:], rstds, strict=True)], axis
    )
    gain, of_half = [(d * h).mean((0, 1)) for d, h in ((dy, x_hat), (halves[1][0], halves[2][0]))]
    if axis == 2:  # each device has the gains of its own features
        of_half = np.concatenate([of_half, gain[GROUPS // 2 :]])
    pairs = (output, x_hat), (dx, backward(dy, x_hat, rstd, norm)), (of_half, gain)
    return tuple(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs)  # type: ignore


def draw(norm: str, split: str) -> go.Figure:
    """Draw the three errors as bars."""
    result = errors(norm, split)
    figure = go.Figure()
    figure.add_bar(
        x=[round(100 * v, 1) for v in result],
        y=list(ROWS),
        orientation="h",
        marker={"color": COLORS["layer"]},
        name="relative error",
        text=[f"{v:.0%}" if v > 1e-9 else "0" for v in result],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{x}%<extra></extra>",
    )
    figure.update_layout(
        title="Error if two devices do not communicate",
        xaxis={"title": "relative error (%)", "range": [0, 45]},
        yaxis={"range": [len(ROWS) - 0.5, -0.5]},
        height=230,
    )
    return figure


def describe(norm: str, split: str) -> str:
    """Describe which of the three has to be communicated."""
    output, dx, gain = errors(norm, split)
    axis = split.partition(" ")[0]
    if output > 1e-9:
        first = (
            f"{norm} computes its statistics over the split axis ({axis}), so the devices have to "
            f"combine them in the forward and in the backward pass. Without this, the output is "
            f"off by {output:.0%} and the gradient of the input by {dx:.0%}."
        )
    elif norm == "GroupNorm" and SPLITS[split] == 2:
        first = (
            "GroupNorm computes its statistics within groups of features, and no group is split: "
            "the output and the gradient of the input are exact without communication."
        )
    else:
        first = (
            f"{norm} computes no statistics over the split axis ({axis}): the output and the "
            "gradient of the input are exact without communication."
        )
    if gain > 1e-9:
        return (
            f"{first} Both devices have a copy of the gain, and each computes only a part of its "
            f"gradient, which differs from the full gradient by {gain:.0%}. This gradient must be "
            "all-reduced."
        )
    return f"{first} Each device has the gains of its own features, and their full gradient."


ERRORS = Picture(
    draw,
    describe,
    alt="Three bars: the relative errors of the output, of the gradient of the input, and of the "
    "gradient of the gain if two devices that share the input do not communicate. A bar of length "
    "0 needs no communication.",
)
