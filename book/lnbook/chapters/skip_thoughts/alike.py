"""Do sentences that have something in common lie next to each other?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import label_ends
from lnbook.figures.run_groups import CHOSEN, LAYER, LOOKS, PLAIN
from lnbook.widgets.replay import base
from lnbook.widgets.replay.sentence_neighbors import ALIKE, alike

ARMS = {
    PLAIN: {"norm": "none", "start": "code"},
    CHOSEN: {"norm": "none", "start": "scaled"},
    LAYER: {"norm": "layer", "start": "code"},
}
MARKS = {name: name for name in ALIKE}


def kept(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the run of each arm that kept a map."""
    return base.kept(records, ARMS, "neighbors")


def draw_alike(runs: Mapping[str, Mapping[str, Any]], mark: str) -> list[go.Figure]:
    """Draw how many of the nearest are of the same kind, at each point of training."""
    figure, end, luck = go.Figure(), 0, 0.0
    for arm, run in runs.items():
        label, color, dash = LOOKS[arm]
        shares, luck = alike(run, mark)
        where = base.updates(run)
        figure.add_scatter(
            x=where, y=(100 * shares).round(1), name=label, mode="lines",
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"after %{{x:,}} updates: %{{y:.0f}} %<extra>{label}</extra>",
        )  # fmt: skip
        end = max(end, where[-1])
    figure.add_scatter(
        x=[0, end], y=[100 * luck] * 2, name="luck", mode="lines", hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5},
    )  # fmt: skip
    figure.update_layout(
        title=f"Of the nearest to {ALIKE[mark][0]}, so many are such",
        height=360,
        xaxis={"title": "updates", "range": [0, end], "zeroline": False, "tickformat": ",d"},
        yaxis={"title": "%", "range": [0, 103], "zeroline": False},
    )
    return [label_ends(figure)]


def describe_alike(runs: Mapping[str, Mapping[str, Any]], mark: str) -> str:
    """Say what the shares are before training and after it."""
    said, luck = [], 0.0
    for arm, run in runs.items():
        shares, luck = alike(run, mark)
        said.append(f"{LOOKS[arm][0]} {100 * shares[0]:.0f} and {100 * shares[-1]:.0f} %")
    return (
        f"Of the nearest to {ALIKE[mark][0]}, before training and after it: {', '.join(said)} are "
        f"such; luck would give {100 * luck:.0f} %."
    )


KINDRED = Picture(
    draw_alike,
    describe_alike,
    alt="Lines over updates: the share of the five nearest to sentences with something in common "
    "that have it, too, for no norm, no norm from a tuned initialization and layer norm; a gray "
    "line is what luck would give.",
)
