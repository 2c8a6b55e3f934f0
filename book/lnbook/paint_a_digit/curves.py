"""Paint a digit: the bound while it falls, and layer norm's lead, by updates and by seconds."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.paint_a_digit.runs import CHOSEN, LAYER, LOOKS, PLAIN, Runs
from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import band, label_ends, spread

TOP = 215  # nats: the first falls, from 543, are quick and all alike
SHOWN = {"the bound": "bound", "layer norm's lead": "lead"}
AXES = {"updates": "updates", "seconds": "seconds"}
UNIT = {"updates": "updates", "seconds": "seconds, on one thread of a busy machine"}


def draw_curves(runs: Runs, kind: str, shown: str, axis: str) -> list[go.Figure]:
    """Draw the bound of test images in training, or how far layer norm's lies below the others."""
    figure = go.Figure()
    if shown == "bound":
        lowest = []
        for arm in runs.kinds[kind]:
            where, values = runs.curves(kind, arm, axis)
            hover = "after %{x:,.0f} " + axis + ": %{y:.1f} nats"
            band(figure, where, spread(np.minimum(values, 2 * TOP)), LOOKS[arm], hover)
            lowest.append(np.nanmin(values))
        y = {"title": "nats an image", "range": [min(lowest) - 4, TOP]}
    else:
        where = np.zeros(1)
        ends = [0.0]
        for other in (PLAIN, CHOSEN):
            if other not in runs.kinds[kind]:
                continue
            where, values = runs.lead(kind, other, axis)
            label, color, dash = LOOKS[other]
            hover = "after %{x:,.0f} " + axis + ": %{y:+.1f} nats"
            band(figure, where, spread(values), (f"against {label}", color, dash), hover)
            ends += [np.nanmin(values), np.nanmax(values)]
        y = {"title": "nats; below 0: layer norm leads", "range": [min(ends) - 2, max(ends) + 4]}
    end = float(where[-1])
    if shown == "lead":
        figure.add_scatter(
            x=[0, end], y=[0, 0], mode="lines", showlegend=False, hoverinfo="skip",
            line={"color": COLORS["gray"], "width": 1.5},
        )  # fmt: skip
    figure.update_layout(
        title="Bound of test images" if shown == "bound" else "Layer norm's bound less another's",
        height=400,
        xaxis={"title": UNIT[axis], "range": [0, end], "zeroline": False, "tickformat": ",d"},
        yaxis={**y, "zeroline": False},
    )
    return [label_ends(figure)]


def describe_curves(runs: Runs, kind: str, shown: str, axis: str) -> str:
    """Say where the curves end, or where the lead was largest and what is left of it."""
    arms = runs.kinds[kind]
    seeds = len(arms[LAYER].runs)
    count = f"{seeds} seed{'s' * (seeds > 1)}"
    if shown == "bound":
        ends = [
            f"{LOOKS[arm][0]} {runs.curves(kind, arm, axis)[1][:, -1].mean():.1f}" for arm in arms
        ]
        where = runs.curves(kind, LAYER, axis)[0][-1]
        return f"After {where:,.0f} {axis}, mean of {count}, in nats: {', '.join(ends)}."
    said = []
    for other in (PLAIN, CHOSEN):
        if other in arms:
            where, values = runs.lead(kind, other, axis)
            means = values.mean(0)
            at = int(np.nanargmin(means))
            said.append(
                f"against {LOOKS[other][0]} layer norm is {_ahead(means[at])} after "
                f"{where[at]:,.0f} {axis} and {_ahead(means[-1])} at the end"
            )
    return f"At most, {'; '.join(said)} (mean of {count})."


def _ahead(nats: float) -> str:
    return f"{abs(nats):.1f} nats {'ahead' if nats < 0 else 'behind'}"


CURVES = Picture(
    draw_curves,
    describe_curves,
    alt="Curves of the bound on test images in nats over updates or seconds: no norm dotted, no "
    "norm from a chosen start dashed, layer norm solid, with a band from the lowest seed to the "
    "highest; or layer norm's bound less each of the others', with a line at zero.",
)
