"""The RMS of the summed inputs and the norm of the gradient over many steps."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.recurrent_networks.network import (
    HIDDEN,
    INPUTS,
    SEQUENCES,
    STYLES,
    format_size,
    parameters,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, add_line, label_ends, log_axis, power_of_ten
from lnlab.analysis import recurrence

STEPS = 200


@cache
def carry(
    form: str, scale: float, nonlinearity: str, inputs: str, gain: float = 1.0, eps: float = 1e-5
) -> recurrence.SequenceOutputs:
    """Run 16 sequences of 200 steps forward, and the gradient of the last state backward.

    Args:
        form: A form of :func:`lnlib.cells.rnn_step`.
        scale: Factor of W_hh.
        nonlinearity: ``tanh``, ``relu`` or ``identity``.
        inputs: ``"every"``: random inputs at every step; ``"first"``: zeros after the first step.
        gain: Gain of every norm.
        eps: Constant inside the square root of every norm.
    """
    rng = np.random.default_rng(1)
    x = rng.normal(size=(STEPS, SEQUENCES, INPUTS))
    gradient = rng.normal(size=(SEQUENCES, HIDDEN))
    if inputs == "first":
        x[1:] = 0
    params, options = parameters(form, scale, gain), {"nonlinearity": nonlinearity, "eps": eps}
    return recurrence.carry(x, gradient, params, form=form, **options)


_SHOWN = np.r_[1:5, 5:201:5]  # steps in the figure
_WIDE = 12  # powers of ten above and below 1


def draw_forward(scale: float, nonlinearity: str, inputs: str) -> go.Figure:
    """Draw the root mean square of the summed inputs over the steps."""
    figure = go.Figure()
    for form in ("plain", "paper", "batch"):
        run = carry(form, scale, nonlinearity, inputs)
        style = NORMS["layer"] if form == "paper" else STYLES[form]  # only one form here
        _curve(figure, style, _SHOWN, run.summed[_SHOWN - 1], "step")
    _logarithmic(figure, "step", "Root mean square of the summed inputs")
    return label_ends(figure)


def describe_forward(scale: float, nonlinearity: str, inputs: str) -> str:
    """Describe the root mean square of the summed inputs at the last step."""
    ends = {
        form: format_size(carry(form, scale, nonlinearity, inputs).summed[-1])
        for form in ("plain", "paper", "batch")
    }
    return (
        f"At step {STEPS}, the RMS of the summed inputs is {ends['plain']} with no norm, "
        f"{ends['paper']} with layer norm, and {ends['batch']} with batch norm."
    )


FORWARD = Picture(
    draw_forward,
    describe_forward,
    alt="One logarithmic line plot over 200 steps: the RMS of the summed inputs with no norm, "
    "with layer norm, and with batch norm.",
)


def draw_backward(scale: float, nonlinearity: str, inputs: str, gain: float) -> go.Figure:
    """Draw the norm of the gradient over the number of steps back."""
    figure, back = go.Figure(), np.r_[0, _SHOWN[:-1]]
    for form in STYLES:
        run = carry(form, scale, nonlinearity, inputs, 1.0 if form == "plain" else gain)
        _curve(figure, STYLES[form], back, run.gradient[back], "steps back")
    _logarithmic(figure, "steps back from the last", "Norm of the gradient (1 at the last state)")
    return label_ends(figure)


def describe_backward(scale: float, nonlinearity: str, inputs: str, gain: float) -> str:
    """Describe the norm of the gradient after fifty steps back."""
    left = {
        form: format_size(
            carry(form, scale, nonlinearity, inputs, 1.0 if form == "plain" else gain).gradient[50]
        )
        for form in STYLES
    }
    return (
        f"Fifty steps back, a gradient of norm 1 has norm {left['plain']} without normalization, "
        f"{left['paper']} with layer norm of the sum (eq. 4), {left['parts']} with layer norm of "
        f"the parts, and {left['batch']} with batch norm."
    )


BACKWARD = Picture(
    draw_backward,
    describe_backward,
    alt="One logarithmic line plot over the steps back from the last state: the norm of the "
    "gradient with no norm, with layer norm of the sum and of the parts, and with batch norm.",
)


def _curve(figure: go.Figure, style: tuple, x: np.ndarray, y: np.ndarray, along: str) -> None:
    # Three digits over 24 powers of ten; below the smallest float there is nothing to draw.
    shown = [float(f"{v:.3g}") if v > 0 else np.nan for v in y]
    add_line(figure, x, shown, style, f"{along} %{{x}}: %{{y:.2g}}")


def _logarithmic(figure: go.Figure, along: str, title: str) -> None:
    powers = np.arange(-_WIDE, _WIDE + 1, 4)
    figure.layout = dict(
        title=title,
        height=360,
        xaxis={"title": along, "range": [-3, STEPS + 3], "zeroline": False},
        yaxis=log_axis(
            10.0**powers, [-_WIDE - 0.5, _WIDE + 0.5], texts=[power_of_ten(p) for p in powers]
        ),
    )
