"""The metric of the gains, eqs. 32-35."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.effective_learning_rate.lines import FINE, doubling
from lnbook.chapters.effective_learning_rate.models import cases, glm
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, add_line, decades, label_ends

FAMILIES = {"Gaussian": "gaussian", "Bernoulli": "bernoulli", "categorical": "categorical"}
SCALED = {"the inputs": "inputs", "the weights": "weights"}
FORMULAS = {"exact": "exact", "eqs. 32–35 as printed": "paper"}
_GAIN_STEP = np.array([0.08, -0.02, 0.05, 0.03])


@cache
def gain(norm: str, family: str, scale: float, scaled: str, kind: str) -> float:
    """Return ds² for a step in the gains or, without a norm, along the unit weight vectors.

    Args:
        norm: The norm of the summed inputs.
        family: The distribution of the labels.
        scale: Factor of the inputs or weights.
        scaled: ``"inputs"`` or ``"weights"``.
        kind: ``"exact"``, or ``"paper"`` for eqs. 32-35 as printed.
    """
    inputs = scaled == "inputs"
    model = glm(norm, family, 1.0 if inputs else scale)
    return model.gain_metric(cases() * (scale if inputs else 1.0), _GAIN_STEP, kind)


def draw_gain(family: str, scaled: str, kind: str) -> go.Figure:
    """Draw ds² over the scale of the inputs or of the weights."""
    figure = go.Figure()
    for norm, style in NORMS.items():
        values = [gain(norm, family, float(d), scaled, kind) for d in FINE]
        add_line(figure, FINE.round(4), np.array(values), style, "times %{x:.3g}: %{y:.2g}")
        if norm == "none":  # often hidden below weight norm
            figure.data[-1].update(line={"width": 6}, opacity=0.6)
    figure.update_layout(
        title="ds² of the same step in the gains (nats)",
        height=360,
        xaxis=doubling(f"{scaled} multiplied by"),
        yaxis=decades(-5.4, 0),
    )
    return label_ends(figure)


def describe_gain(family: str, scaled: str, kind: str) -> str:
    """Describe the values of ds² at factors of 1/8, 1, and 8."""
    texts = []
    for norm in NORMS:
        values = (gain(norm, family, s, scaled, kind) for s in (0.125, 1.0, 8.0))
        low, mid, high = map(_format_value, values)
        texts.append(f"{NORMS[norm][0]} {low}, {mid}, and {high}")
    return f"ds² with {scaled} multiplied by ⅛, 1, and 8: {'; '.join(texts)}."


GAIN = Picture(
    draw_gain,
    describe_gain,
    alt="On logarithmic axes, the metric of one step in the gains over the scale of the inputs or "
    "of the weights. The lines of batch norm and layer norm are flat.",
)


def _format_value(value: float) -> str:
    return f"{value:.{1 - int(np.floor(np.log10(value)))}f}"  # two digits, no exponent
