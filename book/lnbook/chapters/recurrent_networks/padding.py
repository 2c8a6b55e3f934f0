"""Sequences of unequal length, and how their padding affects the states."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.recurrent_networks.network import INPUTS, parameters
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_guide
from lnlab.analysis import recurrence

LENGTHS = (8, 6, 5, 3, 2)
PADDED = {
    "layer norm": "layer",
    "batch norm, padding included": "counted",
    "batch norm, padding excluded": "left out",
}


def padded_run(norm: str, value: float) -> np.ndarray:
    """Run five sequences of unequal length, padded with a constant.

    Args:
        norm: ``"layer"``, ``"counted"`` or ``"left out"``: a value of :data:`PADDED`.
        value: The value of the padding.

    Returns:
        States ``(5, 8, 32)``, sequence by step; NaN after the end of a sequence, if padding is left
        out.
    """
    x = np.random.default_rng(3).normal(size=(len(LENGTHS), max(LENGTHS), INPUTS))
    for row, length in enumerate(LENGTHS):
        x[row, length:] = value
    form = "paper" if norm == "layer" else "batch"
    states = recurrence.padded_states(
        x.swapaxes(0, 1), LENGTHS, parameters(form), form=form, leave_out=norm == "left out"
    )
    return states.swapaxes(0, 1)


def rows(t: int) -> int:
    """Return the number of sequences that have a step ``t``, counted from 0."""
    return sum(length > t for length in LENGTHS)


def padding_change(norm: str, value: float) -> np.ndarray:
    """Return the largest difference of each state from the one without padding.

    Shape ``(5, 8)``; NaN for padding. Without padding, each step contains only the sequences that
    reach it.
    """
    reference = padded_run("layer" if norm == "layer" else "left out", 0.0)
    changed = np.abs(padded_run(norm, value) - reference).max(-1)
    steps = np.arange(max(LENGTHS))
    return np.where(steps < np.array(LENGTHS)[:, None], changed, np.nan)


def draw_padding(norm: str, value: float) -> list[go.Figure]:
    """Draw the change of every state, and the rows that share a mean at each step."""
    changed, steps = padding_change(norm, value), np.arange(1, max(LENGTHS) + 1)
    table = go.Figure(
        go.Heatmap(
            x=steps,
            y=np.arange(1, len(LENGTHS) + 1),
            z=changed.round(2),
            text=[["pad" if np.isnan(v) else f"{v:.2f}" for v in row] for row in changed],
            texttemplate="%{text}",
            coloraxis="coloraxis",
            hovertemplate="sequence %{y}, step %{x}: %{text}<extra></extra>",
            hoverongaps=False,
            xgap=2,
            ygap=2,
        )
    )
    edge = np.repeat(LENGTHS, 2) + 0.5  # the border between the sequences and their padding
    add_guide(
        table,
        [edge[0], *edge],
        [0.5, *np.repeat(np.arange(len(LENGTHS) + 1) + 0.5, 2)[1:-1]],
        width=2,
    )
    bare = {"showgrid": False, "zeroline": False}
    table.layout = dict(
        title="Change of the state (largest of 32 units)",
        height=320,
        coloraxis={"cmin": -2, "cmax": 2, "cmid": 0, "showscale": False},
        xaxis={
            "title": "step →",
            "side": "top",
            "range": [0.5, len(steps) + 0.55],
            "tickvals": list(steps),
            **bare,
        },
        yaxis={"title": "← sequence", "range": [len(LENGTHS) + 0.5, 0.5], "dtick": 1, **bare},
    )
    real = np.array([1 if norm == "layer" else rows(t) for t in range(len(steps))])
    filled = len(LENGTHS) - real if norm == "counted" else np.zeros_like(real)
    sharing = go.Figure()
    for counts, name, color in ((real, "sequences", "first"), (filled, "padding", "gray")):
        sharing.add_bar(
            x=steps,
            y=counts,
            name=name,
            marker={"color": COLORS[color]},
            hovertemplate=f"step %{{x}}: %{{y}}<extra>{name}</extra>",
        )
    sharing.layout = dict(
        title="Rows that share a mean",
        height=320,
        barmode="stack",
        bargap=0.2,
        xaxis={"title": "step", "tickvals": list(steps), **bare},
        yaxis={"title": "rows", "range": [0, 5.4], "dtick": 1},
    )
    return [table, sharing]


def describe_padding(norm: str, value: float) -> str:
    """Describe which states the padding changes."""
    largest = np.nanmax(padding_change(norm, value))
    if norm == "layer":
        return (
            f"Padding with {value:g} changes states by at most {largest:.2f}, because no row "
            "shares its mean with another."
        )
    if norm == "counted":
        moved = np.nanmax(padding_change(norm, value), axis=0) > 0.005
        first = int(np.argmax(moved)) + 1
        return (
            f"Padding with {value:g} changes states by up to {largest:.2f}, from step {first} on: "
            f"the shortest sequence ends at step {first - 1}, and its padding then enters the mean."
        )
    alone = int(np.argmax([rows(t) == 1 for t in range(max(LENGTHS))])) + 1
    size = np.abs(padded_run(norm, value)[0, alone - 1 :]).max()
    return (
        f"With the padding excluded no state changes, but from step {alone} on only one sequence "
        f"is left. Its summed inputs equal their mean, so its state is {size:.2f} in every unit."
    )


PADDING = Picture(
    draw_padding,
    describe_padding,
    alt="Left, a table of five sequences by eight steps: the difference of each state from the one "
    "without padding. Right, bars: how many rows share a mean at each step.",
)
