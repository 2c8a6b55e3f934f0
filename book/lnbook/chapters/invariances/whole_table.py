"""Find what is unchanged: Table 1 and beyond, measured."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.invariances.names import NAMES, short
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.table import Table
from lnlib import invariance
from lnlib.invariance import ROUNDING

#: The six transformations of Table 1.
PAPERS = invariance.TRANSFORMS[:6]

#: How a transformation is written where there is little room.
SHORT = {
    "weight_matrix_rescaling": "W · s",
    "weight_matrix_recentering": "W + 1sᵀ",
    "weight_vector_rescaling": "w₁ · s",
    "dataset_rescaling": "data · s",
    "dataset_recentering": "data + s",
    "single_case_rescaling": "example · s",
    "negative_rescaling": "W · (−s)",
    "input_bias": "a + b",
    "feature_shift": "x₁ + s",
    "unit_permutation": "reordered",
}
DEPTHS = {"one layer": (12,), "three layers, tanh": (12, 16, 8)}


@cache
def sample(kind: str) -> np.ndarray:
    """Return 16 cases of 8 features, ``random`` or ``adversarial``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 8))
    if (
        kind == "adversarial"
    ):  # tied features, scales from 0.01 to 100, far from 0; one tiny example
        X[:, 1:] += 0.9 * X[:, :-1]
        X = (X + 5) * np.logspace(-2, 2, 8)
        X[-1] *= 1e-3
    return X


@cache
def _changes(kind: str, depth: str, eps: float, strength: float, digits: bytes) -> np.ndarray:
    X = np.frombuffer(digits).reshape(-1, 64) if kind == "digits" else sample(kind)
    return invariance.changes(X, DEPTHS[depth], eps=eps, strength=strength)


def draw_table(digits: np.ndarray, data: str, depth: str, eps: float, strength: float) -> go.Figure:
    """Draw the largest change of the output: transformations down, norms across."""
    measured = _changes(data, depth, eps, strength, digits.tobytes())
    size = np.clip(1 + np.log10(np.maximum(measured, ROUNDING)) / 9, 0.15, 0.8)
    z = np.where(measured < ROUNDING, 0, size)
    figure = go.Figure(
        go.Heatmap(
            x=list(range(7)),
            y=list(range(10)),
            z=z,
            text=[[short(v) for v in row] for row in measured],
            texttemplate="%{text}",
            textfont={"size": 10},
            coloraxis="coloraxis",
            hovertemplate="%{text}<extra></extra>",
            xgap=2,
            ygap=2,
        )
    )
    figure.layout = dict(
        title="Largest change of an output; framed: Table 1",
        height=440,
        coloraxis={"cmin": -1, "cmax": 1, "cmid": 0, "showscale": False},
        xaxis={
            "tickvals": list(range(7)),
            "ticktext": ["batch", "weight", "layer", "none", "RMS", "group", "inst."],
            "tickangle": -45,
            "side": "top",
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "tickvals": list(range(10)),
            "ticktext": list(SHORT.values()),
            "range": [9.55, -0.55],
            "showgrid": False,
            "zeroline": False,
        },
        shapes=[
            {"type": "rect", "x0": -0.5, "x1": 2.5, "y0": -0.5, "y1": 5.5,
             "line": {"width": 3, "color": COLORS["ink"]}}
        ],
    )  # fmt: skip
    return figure


def describe_table(digits: np.ndarray, data: str, depth: str, eps: float, strength: float) -> str:
    """Say how many cells of Table 1 hold, and how far the invariant and the other cells are."""
    measured = _changes(data, depth, eps, strength, digits.tobytes())[:6, :3]
    invariant = np.array([[t[name] for t in invariance.TABLE_1.values()] for name in PAPERS])
    held = (measured < ROUNDING) == invariant
    worst, least = measured[invariant].max(), measured[~invariant].min()
    ten = "no output changes" if worst < ROUNDING else f"outputs change by up to {short(worst)}"
    return (
        f"{held.sum()} of the 18 cells are as Table 1 says: where it says invariant, {ten}; "
        f"where it says no, by {short(least)} or more."
    )


TABLE = Picture(
    draw_table,
    describe_table,
    alt="A table of ten transformations by seven norms. Each cell holds the largest change of an "
    "output and is red, the fuller the larger, where that is not 0.",
)


def verdicts() -> Table:
    """Tabulate the verdicts of Table 1, each as measured on random data."""
    measured = invariance.changes(sample("random"), (12,), strength=3.0)
    rows = [
        [NAMES[name], *("✓ stays" if v < ROUNDING else "✗ moves" for v in measured[i, :3])]
        for i, name in enumerate(PAPERS)
    ]
    return Table(
        ["Does the output stay?", "batch norm", "weight norm", "layer norm"],
        [[row[0][0].upper() + row[0][1:], *row[1:]] for row in rows],
        "Table 1, measured: 16 random examples, 12 units, strength 3, eps 0.",
    )
