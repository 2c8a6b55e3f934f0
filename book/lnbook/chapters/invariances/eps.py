"""The effect of eps, and of a bias before the norm, on the invariance to scale."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.invariances.names import format_change
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, add_points, cursor, label_ends, log_axis
from lnlib import norms

EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3}
SCALES = tuple(float(10.0**e) for e in (-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3))
_CURVE = 10.0 ** np.linspace(-3, 3, 37)


def scale_text(scale: float) -> str:
    """Format a factor with few digits."""
    return f"{scale:,.0f}" if scale >= 10 else f"{scale:.3g}"


def scaled(a: np.ndarray, scale: float, eps: float, bias: np.ndarray | float = 0.0) -> np.ndarray:
    """Return layer norm of ``scale * a + bias``."""
    return norms.layer_norm(scale * a + bias, eps=eps)


def draw_scale(a: np.ndarray, bias: np.ndarray, scale: float, before: bool) -> list[go.Figure]:
    """Draw the largest change of an output over the factor, and the outputs at one factor.

    Args:
        a: Summed inputs of one example, shape ``(H,)``.
        bias: Bias that is added before the norm if ``before``.
        scale: The factor of the right panel.
        before: Whether there is a bias before the norm.
    """
    things = ("first", "solid", "circle-open"), ("second", "dash", "diamond"), ("third", "dot", "x")
    styles = dict(zip(EPS, things, strict=True))
    b = bias if before else 0.0
    curve, outputs = go.Figure(), go.Figure()
    units = np.arange(1, len(a) + 1)
    for label, eps in EPS.items():
        color_name, dash, symbol = styles[label]
        color = COLORS[color_name]
        start = scaled(a, 1.0, eps, b)
        add_line(
            curve,
            _CURVE,
            [np.abs(scaled(a, s, eps, b) - start).max() for s in _CURVE],
            (f"eps {label}", color, dash),
            f"eps {label}: %{{y:.2g}}<extra></extra>",
            width=2,
        )
        add_points(
            outputs,
            units,
            scaled(a, scale, eps, b),
            (f"eps {label}", color, symbol),
            f"eps {label}, unit %{{x}}: %{{y:.3f}}<extra></extra>",
            size=8,
            opacity=0.85,
        )
    curve.layout = dict(
        title="Largest change of any output",
        height=340,
        xaxis=log_axis(
            [0.001, 0.01, 0.1, 1, 10, 100, 1000],
            [-3.1, 3.1],
            title="scale factor",
            texts=["10⁻³", "0.01", "0.1", "1", "10", "100", "10³"],
        ),
        yaxis={"range": [-0.1, 4]},
        shapes=[cursor(scale)],
    )
    outputs.layout = dict(
        title=f"Outputs at scale factor {scale_text(scale)}",
        height=340,
        xaxis={"title": "unit", "tick0": 1, "dtick": 3, "range": [0.4, len(a) + 0.6]},
        yaxis={"range": [-2.6, 2.6]},
    )
    return [label_ends(curve), outputs]


def describe_scale(a: np.ndarray, bias: np.ndarray, scale: float, before: bool) -> str:
    """Describe the largest change for each eps."""
    b = bias if before else 0.0
    changes = [
        f"{format_change(np.abs(scaled(a, scale, eps, b) - scaled(a, 1.0, eps, b)).max())} "
        f"with eps {label}"
        for label, eps in EPS.items()
    ]
    where = "a bias before the norm" if before else "no bias before the norm"
    start = f"At scale factor {scale_text(scale)} and with {where}"
    return (
        f"{start}, the largest change of an output is {', '.join(changes[:-1])}, and {changes[-1]}."
    )


SCALE = Picture(
    draw_scale,
    describe_scale,
    alt="Left, the largest change of any output over the scale factor, one curve per eps. Right, "
    "the outputs of twelve units at the chosen factor.",
)
