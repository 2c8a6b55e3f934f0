"""Figures on the steps of layer norm, its implementations, and floating-point errors."""

import functools
from typing import Any

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.control import round_numbers
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade
from lnbook.figures.plots import (
    add_guide,
    add_line,
    add_points,
    cursor,
    label_ends,
    log_axis,
    signs,
)
from lnbook.figures.table import Table
from lnlib import numerics

# The three steps.

#: Maps a label to the index of the last step that :func:`steps` takes.
STEPS = {"mean subtracted": 1, "divided by σ": 2, "gain and bias": 3}


def steps(
    a: np.ndarray, gain: np.ndarray, bias: np.ndarray, step: int, shift: float, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the summed inputs ``scale * a + shift`` and the result of a step, each (H,)."""
    x = scale * a + shift
    y = x - x.mean()
    if step >= 2:
        y = y / x.std()
    return x, gain * y + bias if step == 3 else y


def draw_steps(
    a: np.ndarray, gain: np.ndarray, bias: np.ndarray, step: int, shift: float, scale: float
) -> list[go.Figure]:
    """Draw the summed inputs of one example, and the result of a step."""
    x, y = steps(a, gain, bias, step, shift, scale)
    before = _bars(x, "Summed inputs; line: μ, band: ±σ", 17)
    _level(before, len(x), x.mean(), "mean μ")
    before.update_layout(
        shapes=[
            {"type": "rect", "x0": 0.4, "x1": len(x) + 0.6, "layer": "below",
             "y0": x.mean() - x.std(), "y1": x.mean() + x.std(),
             "fillcolor": fade(COLORS["gray"]), "line": {"width": 0}}
        ]
    )  # fmt: skip
    titles = {1: "Mean subtracted", 2: "Divided by σ", 3: "With gain and bias"}
    return [before, _bars(y, titles[step], 17 if step == 1 else 3.2)]


def describe_steps(
    a: np.ndarray, gain: np.ndarray, bias: np.ndarray, step: int, shift: float, scale: float
) -> str:
    """Describe the statistics, and whether the result differs from that of the original inputs."""
    x, y = steps(a, gain, bias, step, shift, scale)
    start = steps(a, gain, bias, step, 0.0, 1.0)[1]
    same = ""
    if (shift, scale) != (0, 1):
        same = (
            ", the same as without the change"
            if np.allclose(y, start)
            else f" instead of {_format_number(start[0])}"
        )
    return (
        f"μ = {_format_number(x.mean())} and σ = {_format_number(x.std())}. The summed input of "
        f"unit 1, {_format_number(x[0])}, becomes {_format_number(y[0])}{same}."
    )


THREE_STEPS = Picture(
    draw_steps,
    describe_steps,
    alt="Two bar charts over twelve units: the summed inputs with a line at their mean and a band "
    "of one standard deviation around it, and the same numbers after one to three steps.",
)


# Implementations compared.

#: The row of a user's question, and two rows of our own below it: one sample (T, C) each.
SAMPLES = {
    "0.0948, 0.1644": np.array([[0.09484422, 0.16441762], [0.3, 0.1], [0.2, 0.6]]),
    "1, 0, 0, 0": np.array([[1.0, 0, 0, 0], [0, 2, 1, 0], [3, 1, 1, 2]]),
}
EPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, *round_numbers(1e-6, 1e-2))


def eps_text(eps: float) -> str:
    """Format an eps: 0, 1e-5, 0.002."""
    return f"{eps:g}".replace("e-0", "e-")


def draw_variant(sample: str, axis: str, ddof: int, place: str, eps: float) -> list[go.Figure]:
    """Draw a sample and the result of :func:`lnlib.numerics.variant`, with the first row framed."""
    x = SAMPLES[sample]
    y = numerics.variant(x, axis=axis, ddof=ddof, eps_placement=place, eps=eps)
    return [_table(x, "Input", 4, 3.0), _table(y, "Output", 5, 2.5)]


def describe_variant(sample: str, axis: str, ddof: int, place: str, eps: float) -> str:
    """Describe the result for the first row, and which implementations have these settings."""
    y = numerics.variant(SAMPLES[sample], axis=axis, ddof=ddof, eps_placement=place, eps=eps)
    row = ", ".join(_format_number(v, 5) for v in y[0])
    names = [
        r.name
        for r in numerics.RECIPES
        # Without eps, its position does not matter.
        if (r.axis, r.ddof, r.eps) == (axis, ddof, eps) and (r.eps_placement == place or eps == 0)
    ]
    implementations = ". No implementation in the table uses these settings"
    if names:
        implementations = f". These are the settings of {_and(names)}"
    return f"The first row becomes ({row}){implementations}."


VARIANT = Picture(
    draw_variant,
    describe_variant,
    alt="Two small tables: a sample of three rows, and its normalized version.",
)


def recipes() -> Table:
    """Return a table of the settings of implementations and of their outputs for two rows."""
    rows = []
    for r in numerics.RECIPES:
        pair, four = (r(x)[0] for x in SAMPLES.values())
        opposite = np.isclose(pair.sum(), 0)
        rows.append(
            [
                r.name,
                r.source,
                _denominator(r),
                f"±{pair[1]:.5f}" if opposite else " and ".join(_format_number(v, 3) for v in pair),
                _format_number(four[0], 4),
            ]
        )
    return Table(
        ["Implementation", "Source", "Divides by", "0.0948, 0.1644", "First of 1, 0, 0, 0"],
        rows,
        "Outputs of several implementations for two rows, before gain and bias. The last two also "
        "use the other rows of the sample in the figure above; the last is batch norm, for "
        "comparison. s is the standard deviation computed with n − 1.",
    )


def _denominator(r: numerics.Recipe) -> str:
    std, size = "s" if r.ddof else "σ", f"{r.eps:.0e}".replace("e-0", "e−").replace("e-", "e−")
    if r.eps:
        # No-break spaces: a formula stays on one line.
        std = (
            f"√({std}²\u00a0+\u00a0{size})"
            if r.eps_placement == "inside"
            else f"{std}\u00a0+\u00a0{size}"
        )
    return std + {"features": "", "sample": ", of the sample", "batch": ", of the column"}[r.axis]


# Floating-point errors.

EXPONENTS = np.arange(19) / 3  # log10 of the offset
DRAWS = 20
WIDTHS = (16, 256)
DTYPES = {"float32": np.float32, "float16": np.float16}
STYLES = {
    "naive": (COLORS["second"], "solid", "x"),
    "Welford": (COLORS["third"], "dot", "diamond"),
    "two-pass": (COLORS["fourth"], "dash", "square"),
    "shifted": (COLORS["first"], "solid", "circle"),
}


def offset_text(exponent: float) -> str:
    """Format the offset 10**exponent."""
    value = 10.0**exponent
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


FLOOR, LOST = 1e-8, 1e4  # positions of errors below the axis, and of NaN


@functools.cache
def _draws(width: int) -> np.ndarray:
    """Vectors of mean 0 and standard deviation 1, shape ``(draws, width)``."""
    z = np.random.default_rng(width).normal(size=(DRAWS, width))
    return (z - z.mean(-1, keepdims=True)) / z.std(-1, keepdims=True)


def offset_numbers(exponent: float, dtype: str, width: int) -> np.ndarray:
    """Return 20 vectors of std 1 around 10**exponent, rounded to ``dtype``, ``(20, width)``."""
    with np.errstate(over="ignore"):
        return (10.0**exponent + _draws(width)).astype(DTYPES[dtype])


@functools.cache
def error_of_std(exponent: float, dtype: str, width: int) -> dict[str, float]:
    """Return the largest relative error of the standard deviation, by method.

    It is computed by :func:`lnlib.numerics.errors_of_std` for :func:`offset_numbers`.
    """
    return numerics.errors_of_std(offset_numbers(exponent, dtype, width))


def draw_floats(exponent: float, dtype: str, width: int) -> list[go.Figure]:
    """Draw the error of the standard deviation over the offset, and the outputs at one offset."""
    errors = go.Figure()
    measured = [error_of_std(float(e), dtype, width) for e in EXPONENTS]
    offsets = 10.0**EXPONENTS
    for name, (color, dash, symbol) in STYLES.items():
        values = np.array([e[name] for e in measured])
        add_line(
            errors,
            offsets,
            np.where(np.isinf(values), LOST, np.maximum(values, FLOOR)),
            (name, color, dash, symbol),
            f"{name}, offset %{{x:.3g}}: %{{y:.2g}}<extra></extra>",
            width=2,
            size=5,
            meta={"values": ["∞ or NaN" if np.isinf(v) else v for v in values.tolist()]},
        )
    limit = numerics.breaking_offset(DTYPES[dtype])
    errors.layout = dict(
        title=f"Relative error of σ, largest of {DRAWS} vectors",
        height=340,
        xaxis=log_axis(10.0 ** np.arange(7), [-0.15, 6.15], title="offset",
                       texts=["1", "10", "10²", "10³", "10⁴", "10⁵", "10⁶"]),
        yaxis=log_axis([1e-8, 1e-6, 1e-4, 1e-2, 1, LOST], [-8.3, 4.5],
                       texts=["10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1", "∞, NaN"]),
        shapes=[_rule(10.0**exponent, COLORS["gray"], "solid"), _rule(limit, COLORS["ink"], "dot")],
        annotations=[
            {"x": np.log10(limit), "y": 0.02, "yref": "paper", "yanchor": "bottom",
             "xanchor": "left", "xshift": 3, "text": "σ/√u", "showarrow": False,
             "font": {"color": COLORS["ink"]}}
        ],
    )  # fmt: skip
    return [label_ends(errors), _outputs(exponent, dtype, width)]


def _outputs(exponent: float, dtype: str, width: int) -> go.Figure:
    x = offset_numbers(exponent, dtype, width)[0]
    exact = _exact(x)[:8]
    figure = go.Figure()
    add_guide(figure, [-3, 3], [-3, 3], width=1)
    for name, (color, _, symbol) in STYLES.items():
        y = numerics.layer_norm(x, name)[:8].astype(np.float64)
        add_points(
            figure,
            exact,
            np.where(np.abs(y) < 1e6, y, np.nan),
            (name, color, symbol),
            f"{name}: %{{y:.3f}} for %{{x:.3f}}<extra></extra>",
            size=7,
            opacity=0.8,
        )
    figure.layout = dict(
        title="Eight outputs of one vector",
        height=340,
        xaxis={"title": "correct output", "range": [-3, 3]},
        yaxis={"title": "computed output", "range": [-3, 3]},
    )
    return figure


def _exact(x: np.ndarray) -> np.ndarray:
    """Normalize in float64, with the same eps; NaN where ``x`` is infinite."""
    if not np.isfinite(x).all():
        return np.full(x.shape, np.nan)
    return lnlib.layer_norm(x.astype(np.float64))


def describe_floats(exponent: float, dtype: str, width: int) -> str:
    """Describe the relative error of each method at the offset."""
    x, errors = offset_numbers(exponent, dtype, width), error_of_std(exponent, dtype, width)
    where = f"At offset {offset_text(exponent)} in {dtype}, with H = {width}"
    if not np.isfinite(x).all():
        return f"{where}, the numbers themselves are infinite: the largest {dtype} is 65,504."
    if np.isnan(errors["naive"]):
        return f"{where}: rounding has made all numbers of a vector equal, so their variance is 0."
    parts = [
        f"{name} " + ("∞ or NaN" if np.isinf(e) else f"{e:.1e}".replace("-", "−"))
        for name, e in errors.items()
    ]
    return f"{where}, largest relative error of σ: {', '.join(parts)}."


FLOATS = Picture(
    draw_floats,
    describe_floats,
    alt="Left, the relative error of the standard deviation over the offset, one curve per method, "
    "on logarithmic axes. Right, computed outputs over correct outputs of one vector.",
)


def reported() -> dict[str, np.ndarray]:
    """Return float32 vectors for which a user reported a wrong layer norm."""
    nearly = np.full(10240, 256, np.float32)
    nearly[-1] = 255
    return {
        "onnxruntime 28463": np.array([40000, 40001, 40002, 40003], np.float32),
        "trt-samples 88": nearly,
    }


# Shared helpers.


def _units(a: np.ndarray) -> np.ndarray:
    return np.arange(1, len(a) + 1)


def _bars(y: np.ndarray, title: str, limit: float) -> go.Figure:
    figure = go.Figure()
    figure.add_bar(
        x=_units(y),
        y=y,
        name="value",
        marker={"color": signs(y)},
        hovertemplate="unit %{x}: %{y:.3f}<extra></extra>",
    )
    figure.layout = dict(
        title=title,
        height=290,
        showlegend=False,
        xaxis={"title": "unit", "tick0": 1, "dtick": 3, "range": [0.4, len(y) + 0.6]},
        yaxis={"range": [-limit, limit]},
    )
    return figure


def _level(figure: go.Figure, H: int, y: float, name: str) -> None:
    add_line(
        figure,
        [0.4, H + 0.6],
        [y, y],
        (name, COLORS["ink"], "dash"),
        f"{name}: %{{y:.3f}}<extra></extra>",
        width=2,
    )


def _rule(x: float, color: str, dash: str) -> dict[str, Any]:
    return cursor(x) | {"line": {"width": 1.5, "dash": dash, "color": color}}


def _table(x: np.ndarray, title: str, digits: int, limit: float) -> go.Figure:
    figure = go.Figure(
        go.Heatmap(
            z=x,
            x=_units(x.T),
            y=_units(x),
            text=[[_format_number(v, digits) for v in row] for row in x],
            texttemplate="%{text}",
            coloraxis="coloraxis",
            hovertemplate="row %{y}, feature %{x}: %{text}<extra></extra>",
            xgap=2,
            ygap=2,
        )
    )
    bare = {"showgrid": False, "zeroline": False}
    figure.layout = dict(
        title=title,
        height=200,
        coloraxis={"cmin": -limit, "cmax": limit, "cmid": 0, "showscale": False},
        xaxis={"side": "top", "tickvals": [], "title": "features →", **bare},
        yaxis={"range": [len(x) + 0.52, 0.45], "tickvals": [], "title": "← positions", **bare},
        shapes=[
            {"type": "rect", "x0": 0.5, "x1": x.shape[1] + 0.5, "y0": 0.5, "y1": 1.5,
             "line": {"width": 2.5, "color": COLORS["ink"]}}
        ],
    )  # fmt: skip
    return figure


def _format_number(value: float, digits: int = 2) -> str:
    # Rounding first turns -0.00 into 0.00.
    return f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", "−")


def _and(names: list[str]) -> str:
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"
