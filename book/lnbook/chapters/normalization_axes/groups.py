"""One example of twelve channels under group norm and RMS norm."""

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.chapters.normalization_axes.followed import number
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS, fade

CHANNELS = np.array([-3.0, -1.5, -2.0, -2.5, 0.5, 1.0, 0.0, 2.5, 3.0, 5.0, 4.0, 6.5])


def draw_groups(groups: int, shift: float) -> list[go.Figure]:
    """Draw one example of 12 channels, its group norm and its RMS norm."""
    x = CHANNELS[None] + shift
    size = len(CHANNELS) // groups
    means = x.reshape(groups, size).mean(1)
    group_title = f"Group norm, {groups} group{'s' * (groups > 1)}"
    shown = [
        (f"Input and its {groups} mean{'s' * (groups > 1)}", x[0]),
        (group_title, lnlib.group_norm(x, groups)[0]),
        ("RMS norm", lnlib.rms_norm(x)[0]),
    ]
    figures = []
    for k, (title, values) in enumerate(shown):
        figure = go.Figure(
            go.Bar(
                x=np.arange(1, len(CHANNELS) + 1),
                y=values.round(3),
                marker=_stripes(groups) if k < 2 else {"color": COLORS["rms"]},
                name="value",
                hovertemplate="channel %{x}: %{y:.2f}<extra></extra>",
                showlegend=False,
            )
        )
        if k == 0:  # a line at each group's mean
            edges = np.arange(groups) * size + 0.5
            figure.add_scatter(
                x=np.column_stack([edges, edges + size, np.full(groups, np.nan)]).ravel(),
                y=np.column_stack([means, means, np.full(groups, np.nan)]).ravel(),
                mode="lines",
                line={"color": COLORS["ink"], "width": 3},
                name="mean of the group",
                hovertemplate="mean %{y:.2f}<extra></extra>",
                showlegend=False,
            )
        figure.update_layout(
            title=title,
            height=260,
            bargap=0.15,
            xaxis={"title": "channel", "tickvals": [1, 4, 8, 12], "showgrid": False,
                   "zeroline": False},
            yaxis={"range": [-4, 18] if k == 0 else [-2.4, 2.8]},
        )  # fmt: skip
        figures.append(figure)
    return figures


def describe_groups(groups: int, shift: float) -> str:
    """Describe the means of the groups, and the effect of a shift on each norm."""
    x = CHANNELS[None] + shift
    size = len(CHANNELS) // groups
    means = x.reshape(groups, size).mean(1)
    text = ", ".join(number(m, 1) for m in means)
    if groups > 4:
        text = f"from {number(means.min(), 1)} to {number(means.max(), 1)}"
    outputs_are = {1: "this is layer norm", 12: "each number is its own mean, and all become 0"}
    note = f": {outputs_are[groups]}" if groups in outputs_are else ""
    moved = np.abs(lnlib.group_norm(x, groups) - lnlib.group_norm(CHANNELS[None], groups)).max()
    rms = lnlib.rms_norm(x)[0]
    change = "No shift"
    if shift:
        still = "does not change" if moved < 1e-9 else f"changes by {moved:.2g}"
        change = f"With {shift:g} added, group norm's output {still}"
    return (
        f"{groups} group{'s' * (groups > 1)} of {size} channel{'s' * (size > 1)}{note}. "
        f"Mean{'s' * (groups > 1)}: {text}. {change}; RMS norm's outputs range from "
        f"{number(rms.min())} to {number(rms.max())}."
    )


GROUPS = Picture(
    draw_groups,
    describe_groups,
    alt="Three bar charts over twelve channels: the input with a line at the mean of each group, "
    "the output of group norm, and the output of RMS norm. Every second group is hatched.",
)


def _stripes(groups: int) -> dict:
    """Hatch every second group."""
    size = len(CHANNELS) // groups
    hatched = ["/" if i // size % 2 else "" for i in range(len(CHANNELS))]
    ground = fade(COLORS["group"], 0.3)
    return {
        "color": COLORS["group"],
        "pattern": {"shape": hatched, "size": 6, "bgcolor": ground},
    }
