"""A small layer before and after a transformation of its weights or data."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.invariances.names import LABELS, NAMES, format_change
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide, add_line
from lnlib import invariance
from lnlib.invariance import ROUNDING

CASES, FEATURES, UNITS = 4, 3, 4
STRENGTHS = (0.5, 2.0, 3.0)
#: Positions of the sliders; 1 is left out, because nothing changes there.
TRIED = tuple(s / 4 for s in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12))
HEIGHT = 360
#: Whether the lines of a norm stand for examples or for units.
COMMON = {"batch": "unit", "weight": "unit", "none": "unit", "layer": "example", "rms": "example"}


@cache
def small() -> tuple[np.ndarray, invariance.Layer]:
    """Return four examples of three features, and a layer of four units without gain and bias."""
    rng = np.random.default_rng(381)
    X = rng.normal(size=(CASES, FEATURES)) + 0.5
    W = rng.normal(size=(UNITS, FEATURES))
    return X.round(1), invariance.Layer(W.round(1), np.ones(UNITS), np.zeros(UNITS))


def change(name: str, transformation: str, strength: float) -> invariance.Change:
    """Return summed inputs and outputs before and after, each of shape (examples, units).

    Args:
        name: A norm, one of :data:`COMMON`.
        transformation: One of :data:`lnlib.invariance.TRANSFORMS`.
        strength: Its factor or shift.
    """
    return invariance.change(name, transformation, *small(), strength=strength)


def draw_change(
    name: str, transformation: str, strength: float, reveal: bool = True
) -> list[go.Figure]:
    """Draw the changed weights and data, then summed inputs and outputs, after over before."""
    here, extreme = (change(name, transformation, s) for s in (strength, max(STRENGTHS)))
    common = COMMON[name]
    stays = np.abs(here.new_output - here.output).max() < ROUNDING
    return [
        _changed(transformation, strength),
        _against(
            here.summed,
            here.new_summed,
            extreme.new_summed,
            common,
            f"Summed inputs, one line per {common}",
            "first",
        ),
        _against(
            here.output,
            here.new_output if reveal else None,
            extreme.new_output,
            common,
            "Outputs: unchanged on the dotted line" if reveal else "Outputs: your prediction?",
            "holds" if stays else "fails",
        ),
    ]


def describe_change(name: str, transformation: str, strength: float, reveal: bool = True) -> str:
    """Describe how much summed inputs and outputs change, and the entry of Table 1."""
    here = change(name, transformation, strength)
    moved = np.abs(here.new_summed - here.summed).max()
    changed = np.abs(here.new_output - here.output).max()
    head = f"{NAMES[transformation]}, {LABELS[name]}: "
    head = head[0].upper() + head[1:]
    if moved < ROUNDING:
        return f"{head}a factor of 1 changes nothing."
    head += f"the summed inputs change by up to {format_change(moved)}"
    if not reveal:
        return f"{head}. Does any output change? Predict, then reveal."
    verdict = (
        "but no output changes"
        if changed < ROUNDING
        else f"and the outputs change by up to {format_change(changed)}"
    )
    table = ""
    if name in invariance.TABLE_1 and transformation in invariance.TABLE_1[name]:
        entry = "Invariant" if invariance.TABLE_1[name][transformation] else "No"
        table = f". Table 1 says: {entry}"
    return f"{head}, {verdict}{table}."


CHANGE = Picture(
    draw_change,
    describe_change,
    alt="A table of weights and data with a frame around what has changed. Next to it, in one lane "
    "per example or per unit, the new summed inputs plotted against the old ones, and then the new "
    "outputs plotted against the old ones, or a question mark.",
)


def _changed(transformation: str, strength: float) -> go.Figure:
    """Draw the weights of the units above the data, with a frame around what has changed."""
    X, layer = small()
    new_X, (new,), order = invariance.transform(transformation, X, (layer,), strength=strength)
    bias = new.input_bias is not None
    z = np.full((UNITS + 1 + CASES, FEATURES + bias), None)
    z[:UNITS, :FEATURES], z[UNITS + 1 :, :FEATURES] = new.W, new_X
    moved = np.zeros(z.shape, dtype=bool)
    moved[:UNITS, :FEATURES] = new.W != layer.W
    moved[UNITS + 1 :, :FEATURES] = new_X != X
    if bias:
        z[:UNITS, FEATURES] = new.input_bias
        moved[:UNITS, FEATURES] = True
    rows, columns = (np.flatnonzero(moved.any(axis)) for axis in (1, 0))
    names = [f"unit {i + 1}" for i in order] + [""] + [f"example {i + 1}" for i in range(CASES)]
    features = [str(i + 1) for i in range(FEATURES)] + ["bias"] * bias
    figure = go.Figure(
        go.Heatmap(
            z=z,
            text=[["" if v is None else _cell(v) for v in row] for row in z],
            texttemplate="%{text}",
            textfont={"size": 12},
            coloraxis="coloraxis",
            hovertemplate="%{text}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
            meta={"x": features, "y": names},
        )
    )
    figure.layout = dict(
        title="Weights (top), data (bottom); frame: changed",
        height=HEIGHT,
        meta={"phone": 1.5},  # nine rows of numbers
        coloraxis={"cmin": -4, "cmax": 4, "cmid": 0, "showscale": False},
        xaxis={
            "tickvals": list(range(z.shape[1])),
            "ticktext": features,
            "title": "feature",
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "tickvals": [i for i in range(len(names)) if names[i]],
            "ticktext": [n for n in names if n],
            "range": [len(z) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
        },
    )
    if moved.any():  # a factor of 1 changes nothing
        figure.add_shape(
            type="rect",
            x0=columns[0] - 0.49,
            x1=columns[-1] + 0.49,
            y0=rows[0] - 0.49,
            y1=rows[-1] + 0.49,
            line={"width": 3, "color": COLORS["ink"]},
        )
    return figure


def _cell(value: float) -> str:
    # Rounding first turns -0.0 into 0.0.
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _against(
    before: np.ndarray,
    after: np.ndarray | None,
    extreme: np.ndarray,
    common: str,
    title: str,
    color_name: str,
) -> go.Figure:
    """Draw values after over values before, in one lane per example or unit.

    Args:
        before: Shape ``(cases, units)``.
        after: As ``before``; ``None`` leaves the lanes empty, with a question mark.
        extreme: ``after`` at the largest strength, for the axes.
        common: ``case`` or ``unit``.
        title: The title of the panel.
        color_name: The name that determines the color of lines and points.
    """
    known = before if after is None else after
    wide = 1.15 * np.abs(before).max()
    high = 1.15 * max(np.abs(before).max(), np.abs(extreme).max(), np.abs(known).max())
    if common == "unit":
        before, known = before.T, known.T
    figure, lanes, axes = go.Figure(), len(before), {}
    for i, (x, y) in enumerate(zip(before, known, strict=True)):
        ascending, axis = np.argsort(x), "y" if i == 0 else f"y{i + 1}"
        ends = [-wide, wide]
        add_guide(figure, ends, ends, width=2, dash="dot", yaxis=axis, showlegend=None)
        if after is not None:
            add_line(
                figure,
                x[ascending],
                y[ascending],
                (f"{common} {i + 1}", COLORS[color_name], "solid"),
                f"{common} {i + 1}: %{{x:.2f}} → %{{y:.2f}}<extra></extra>",
                width=2,
                size=8,
                yaxis=axis,
            )
        top = 1 - i / lanes
        axes[f"yaxis{'' if i == 0 else i + 1}"] = {
            "domain": [top - 0.92 / lanes, top],
            "range": [-high, high],
            "tickvals": [0],
            "ticktext": [f"{common} {i + 1}"],
            "zeroline": False,
        }
    figure.layout = dict(
        **axes,
        title=title,
        height=HEIGHT,
        meta={"phone": 0.9},
        showlegend=False,
        xaxis={
            "title": "before (y axis: after)",
            "range": [-wide, wide],
            "anchor": f"y{lanes}",
        },
    )
    if after is None:
        figure.add_annotation(
            text="?", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False, font={"size": 64}
        )
    return figure
