"""The KL divergence and its quadratic approximation along a line in the parameters, eq. 8."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.fisher_information.models import INPUTS, UNITS, ZERO, cases, glm
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, add_points, cursor, label_ends, log_axis, power_of_ten

DIRECTIONS = {
    "random": "random",
    "scale all weights": "matrix",
    "scale one unit's weights": "unit",
}
_LINE = np.linspace(-0.8, 0.8, 33).round(3)
_LENGTHS = 0.8 / 2 ** np.arange(0, 6.5, 0.5)[::-1]


@cache
def direction(norm: str, family: str, along: str) -> np.ndarray:
    """Return a unit vector in the space of the parameters.

    Args:
        norm: The norm of the model.
        family: The distribution of the labels.
        along: A value of :data:`DIRECTIONS`.
    """
    model = glm(norm, family)
    delta = np.random.default_rng(44).normal(size=(UNITS, INPUTS + 2))
    if along != "random":
        delta[:] = 0
        rows = slice(0, 1) if along == "unit" else slice(None)
        delta[rows, :INPUTS] = model.W[rows]
    delta = delta[:, : model.size // UNITS].ravel()
    return delta / np.linalg.norm(delta)


@cache
def moved(norm: str, family: str, along: str, step: float) -> tuple[float, float]:
    """Return the two sides of eq. 8 for one step: the divergence, and the quadratic form."""
    model, delta = glm(norm, family), step * direction(norm, family, along)
    return model.kl(cases(), delta), model.quadratic(cases(), delta)


def remainder(norm: str, family: str, along: str, step: float) -> float:
    """Return the difference of the two sides of eq. 8; 0 if it is below rounding errors."""
    kl, quadratic = moved(norm, family, along, step)
    apart = abs(kl - quadratic)
    return apart if apart > 1e-9 * quadratic and quadratic > ZERO else 0.0


def flat(norm: str, family: str, along: str) -> bool:
    """Return whether the model does not change along a direction."""
    return abs(moved(norm, family, along, 0.4)[0]) < ZERO


def draw_line(norm: str, family: str, along: str, step: float) -> list[go.Figure]:
    """Draw both sides of eq. 8 along a line, and their sizes and difference over the step."""
    line, sizes = go.Figure(), go.Figure()
    pairs = np.array([moved(norm, family, along, float(t)) for t in _LINE])
    styles = (("divergence", "first", "solid"), ("quadratic form", "second", "dash"))
    for k, (label, color, dash) in enumerate(styles):
        add_line(
            line,
            _LINE,
            np.round(np.maximum(pairs[:, k], 0), 5),
            (label, COLORS[color], dash),
            "step %{x:.2f}: %{y:.4f}",
        )
    add_points(
        line,
        [step] * 2,
        [max(v, 0) for v in moved(norm, family, along, step)],
        (None, [COLORS[color] for _, color, _ in styles], "circle"),
        size=10,
    )
    still = flat(norm, family, along)
    line.layout = dict(
        title="Both sides of eq. 8, in nats",
        height=340,
        xaxis={"title": "step", "range": [-0.84, 0.84], "dtick": 0.4, "zeroline": False},
        yaxis={
            "range": [-0.05, 1] if still else [-0.04 * pairs.max(), 1.05 * pairs.max()],
            "zeroline": False,
        },
        shapes=[cursor(step)],
    )
    apart = [remainder(norm, family, along, float(t)) for t in _LENGTHS]
    ends = np.array([moved(norm, family, along, float(t)) for t in _LENGTHS])
    curves = (*zip(styles, ends.T, strict=True), (("their difference", "third", "dot"), apart))
    for (label, color, dash), values in curves:
        shown = np.array([float(f"{v:.3g}") if v > ZERO else np.nan for v in values])
        add_line(
            sizes, _LENGTHS.round(4), shown, (label, COLORS[color], dash), "step %{x:.3f}: %{y:.2g}"
        )
    powers = np.arange(-8, 1, 2)
    sizes.layout = dict(
        title="The same for smaller steps",
        height=340,
        xaxis=log_axis([0.01, 0.1, 1], [-2.03, 0.0], title="step"),
        yaxis=log_axis(10.0**powers, [-8.5, 1.2], texts=[power_of_ten(p) for p in powers]),
        shapes=[cursor(step)],
    )
    if still:
        sizes.add_annotation(
            text="0 at every step", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False
        )
    return [label_ends(line), label_ends(sizes)]


def describe_line(norm: str, family: str, along: str, step: float) -> str:
    """Describe both sides of eq. 8, and how their difference changes for half the step."""
    kl, quadratic = moved(norm, family, along, step)
    if flat(norm, family, along):
        return (
            f"A step of {step:g} does not change any prediction: the divergence is 0, and so is "
            "the quadratic form."
        )
    text = (
        f"A step of {step:g} changes the predictions by {_digits(kl)} nats; the quadratic form "
        f"gives {_digits(quadratic)}"
    )
    apart, half = (remainder(norm, family, along, t) for t in (step, step / 2))
    if not apart:
        return f"{text}, and for this family without normalization, the two are equal."
    return f"{text}. Halving the step divides their difference by {apart / half:.1f}."


def _digits(value: float) -> str:
    """Format a positive number with three digits, small ones with a power of ten."""
    if value >= 1e-4:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}·{power_of_ten(int(exponent))}"


LINE = Picture(
    draw_line,
    describe_line,
    alt="Left, the divergence and the quadratic form along a line in parameter space. Right, both "
    "and their difference for steps from 0.0125 to 0.8, on logarithmic axes.",
)
