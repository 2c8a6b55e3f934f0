"""The list of puzzles, three positions of eps, and two positions of b."""

from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import (
    GATES,
    add_guide,
    add_line,
    add_points,
    cursor,
    label_ends,
    log_axis,
)
from lnbook.figures.table import Table
from lnlib import norms
from lnlib.numerics import deviation_after, variant

# The list.

#: Name, conflicting sources, whether it matters to someone who runs the code.
PUZZLES = (
    ("1 Initial gain and bias", "appendix, eq. 15", "yes, for initialization"),
    ("2 Order of the equations", "section 5.1, eqs. 2 and 3", "no"),
    ("3 Sign of the log likelihood", "section 6.4, figure 4", "no"),
    ("4 Update gate convention", "eq. 28, Theano", "yes, to load weights"),
    ("5 Position of eps", "eq. 16, Theano, Lua", "yes, for small inputs"),
    ("6 Norm of the sum or of its parts", "eq. 4, eq. 20", "yes"),
    ("7 One bias or two", "eq. 20, Theano", "yes, to load weights"),
    ("8 Hidden state or cell state", "appendix, eq. 31", "yes"),
    ("9 Forget gate bias of −4", "Lua, internally", "no"),
    ("10 Rescaling the dataset", "section 5.1, table 1", "yes, to choose a norm"),
    ("11 Rescaling one weight vector", "section 5.2.2, table 1", "yes, to choose a norm"),
    ("12 Sign of δ", "eqs. 6 and 7, arithmetic", "rarely"),
    ("13 Meaning of feature", "section 7, table 1", "yes, to prepare data"),
    ("14 A factor of one half", "section 5.2.2, eq. 13", "for theory"),
    ("15 A missing factor", "eq. 32, eq. 33", "for theory"),
    ("16 Fisher matrix of any norm", "eq. 13, eq. 9", "for theory"),
    ("17 No baseline in Figure 6", "section 6.6, figure 6", "yes, to compare norms"),
    ("18 Time per update", "section 6.3, other programs", "yes, to plan a run"),
    ("19 Sequence length", "section 6.5, figure 5", "yes, to repeat it"),
    ("20 Normalizing a pen movement", "section 6.5, eq. 20", "yes, to repeat it"),
    ("21 Initialization of the four gates", "section 6.2, the code", "yes, to compare norms"),
)


def overview() -> Table:
    """Return a table of the puzzles of the chapter, without the verdicts."""
    return Table(
        ["puzzle", "conflicting sources", "does it matter?"],
        PUZZLES,
        "Twenty-one puzzles, and whether they matter if you run the code.",
    )


# The position of eps.

#: Maps the position of eps to label, color, dash, symbol.
EPS_PLACEMENTS = {
    "none": ("no eps (paper)", COLORS["gray"], "dot", "x"),
    "inside": ("inside (Theano)", COLORS["first"], "solid", "circle"),
    "outside": ("outside (Lua)", COLORS["second"], "dash", "diamond"),
}
SIZES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
UNITS = 6


def _switches(place: str, eps: float) -> dict[str, Any]:
    return (
        {"eps_placement": "inside", "eps": 0.0}
        if place == "none"
        else {"eps_placement": place, "eps": eps}
    )


@cache
def _units() -> np.ndarray:
    x = np.random.default_rng(4).normal(size=UNITS)
    return (x - x.mean()) / x.std()


def draw_eps(size: float, eps: float) -> list[go.Figure]:
    """Draw the standard deviation after the norm over that before, and six units."""
    curves, units = go.Figure(), go.Figure()
    fine = 10 ** np.linspace(-6, 0, 61)
    for place, (label, color, dash, symbol) in EPS_PLACEMENTS.items():
        add_line(
            curves,
            fine,
            deviation_after(fine, **_switches(place, eps)).round(3),
            (label, color, dash),
            "σ %{x:.1e}: %{y:.3f}",
        )
        add_points(
            units,
            np.arange(1, UNITS + 1),
            variant(size * _units(), **_switches(place, eps)).round(3),
            (label, color, symbol),
            "unit %{x}: %{y:.3f}",
            size=11,
            opacity=0.85,
        )
    curves.layout = dict(
        title="Standard deviation after the norm",
        height=340,
        xaxis=log_axis(list(SIZES[::2]), [-6.15, 0.15], title="standard deviation σ before",
                       texts=[power(value) for value in SIZES[::2]]),
        yaxis={"range": [-0.04, 1.12], "dtick": 0.25},
        shapes=[cursor(size)],
    )  # fmt: skip
    units.layout = dict(
        title=f"Six units, σ = {power(size)} before",
        height=340,
        xaxis={"title": "unit", "dtick": 1, "range": [0.5, UNITS + 0.5]},
        yaxis={"range": [-2.3, 2.3], "dtick": 1},
    )
    return [label_ends(curves), units]


def describe_eps(size: float, eps: float) -> str:
    """State the three standard deviations after the norm."""
    inside, outside = (
        float(deviation_after(size, eps=eps, eps_placement=place))
        for place in ("inside", "outside")
    )
    return (
        f"With eps {power(eps)}, summed inputs with standard deviation {power(size)} have a "
        f"standard deviation after the norm of {inside:.3f} if eps is inside the square root, "
        f"{outside:.3f} if it is outside, and 1 without eps."
    )


EPS = Picture(
    draw_eps,
    describe_eps,
    alt="Left, the standard deviation after the norm over that before, on a logarithmic axis: it "
    "is 1 without eps, an S-shaped curve with eps inside the square root, and another curve "
    "further left with eps outside. Right, six units after each of the three norms.",
)


def power(value: float) -> str:
    """Return a number as text, small numbers as powers of ten."""
    digits, exponent = f"{value:.1e}".split("e")
    if int(exponent) >= -1:
        return f"{value:.2g}"
    raised = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if digits == "1.0" else f"{float(digits):g}·{raised}"


# A bias that is added twice.

HIDDEN, INPUTS, CASES = 16, 8, 8
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
BIASES = (0.0, 0.25, 0.5, 1.0)
STYLES = {
    "paper": ("eq. 20: b once", COLORS["gray"], "solid"),
    "theano": ("Theano: b twice", COLORS["first"], "dash"),
}


@cache
def _cell() -> tuple[np.ndarray, ...]:
    """Return x, h, c, W_ih, W_hh and b of scale 1; W_ih is not smaller than b."""
    rng = np.random.default_rng(5)
    return (
        rng.normal(size=(CASES, INPUTS)),
        rng.uniform(-1, 1, size=(CASES, HIDDEN)),
        rng.normal(size=(CASES, HIDDEN)),
        rng.normal(size=(4 * HIDDEN, INPUTS)) / np.sqrt(INPUTS),
        rng.normal(size=(4 * HIDDEN, HIDDEN)) / np.sqrt(HIDDEN),
        rng.normal(size=4 * HIDDEN),
    )


def summed(form: str, bias: float, factor: float = 1.0) -> np.ndarray:
    """Return the summed inputs of the four gates, ``(8, 64)``, with gain 1, shift 0, eps 0.

    Args:
        form: ``paper``: LN(W_h h) + LN(W_x x) + b; ``theano``: LN(W_h h) + LN(W_x x + b) + b.
        bias: Scale of b.
        factor: Multiplies the input x.
    """
    x, h, _, W_ih, W_hh, b = _cell()
    from_x, b = factor * x @ W_ih.T, bias * b
    inside = b if form == "theano" else 0
    return norms.layer_norm(h @ W_hh.T, eps=0) + norms.layer_norm(from_x + inside, eps=0) + b


def output(form: str, bias: float, factor: float = 1.0) -> np.ndarray:
    """Return the hidden state after the step, ``(8, 16)``; arguments as in :func:`summed`."""
    i, f, g, o = np.split(summed(form, bias, factor), 4, axis=1)
    i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
    c = f * _cell()[2] + i * np.tanh(g)
    return o * np.tanh(norms.layer_norm(c, eps=0))


def change(form: str, bias: float, factor: float) -> float:
    """Return the largest change of the output when the input is multiplied by ``factor``."""
    return float(np.abs(output(form, bias, factor) - output(form, bias)).max())


def draw_bias(bias: float) -> list[go.Figure]:
    """Draw the gates of both versions, and the effect of scaling the input."""
    gates, changes = go.Figure(), go.Figure()
    limit = 6.0
    add_guide(gates, [-limit, limit], [-limit, limit], width=1)
    once, twice = (np.split(summed(form, bias)[0], 4) for form in STYLES)
    for style, a, b in zip(GATES.values(), once, twice, strict=True):
        add_points(
            gates,
            a.round(3),
            b.round(3),
            style,
            "eq. 20 %{x:.2f}, Theano %{y:.2f}",
            size=7,
            opacity=0.8,
        )
    fine = 10 ** np.linspace(-1, 1, 21)
    for form, style in STYLES.items():
        add_line(
            changes,
            fine.round(4),
            [round(change(form, bias, float(factor)), 3) for factor in fine],
            style,
            "input times %{x:.2g}: %{y:.3f}",
        )
    gates.layout = dict(
        title="Summed inputs of the gates, one example",
        height=360,
        xaxis={"title": "eq. 20", "range": [-limit, limit], "dtick": 4},
        yaxis={"title": "Theano", "range": [-limit, limit], "dtick": 4},
    )
    changes.layout = dict(
        title="Largest change of the output",
        height=360,
        xaxis=log_axis(list(FACTORS), [-1.05, 1.05], title="input x multiplied by"),
        yaxis={"title": "change", "range": [-0.05, 1.3], "dtick": 0.25},
    )
    return [gates, label_ends(changes)]


def describe_bias(bias: float) -> str:
    """State how far the gates differ, and the effect of dividing the input by ten."""
    apart = np.abs(summed("theano", bias)[0] - summed("paper", bias)[0]).max()
    if apart < 1e-9:
        return "With b = 0 the two are the same, and both are invariant to the scale of the input."
    once, twice = (change(form, bias, 0.1) for form in STYLES)
    return (
        f"With b of scale {bias:g}, these gates differ by up to {apart:.2f}. Multiplying the input "
        f"by 0.1 changes an output by up to {once:.2f} if b is added once, and by up to "
        f"{twice:.2f} if it is added twice."
    )


BIAS = Picture(
    draw_bias,
    describe_bias,
    alt="Left, the summed inputs of 64 gates, with b added once on the horizontal axis and added "
    "twice on the vertical axis: on the diagonal at b = 0, off it otherwise. Right, the change of "
    "the output over the factor of the input: 0 with b added once, a valley around factor 1 with "
    "b added twice.",
)
