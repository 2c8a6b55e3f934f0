"""Paint a digit: the bound while it falls, and layer norm's lead, by updates and by seconds."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.paint_a_digit.runs import CHOSEN, LAYER, LOOKS, MAIN, PLAIN, Runs
from lnbook.show.colors import COLORS
from lnbook.show.control import Control, choice
from lnbook.show.picture import Picture
from lnbook.show.plots import band, label_ends, spread

TOP = 215  # nats: the first falls, from 543, are quick and all alike
SHOWN = {"the bound": "bound", "layer norm's lead": "lead", "the share it needs": "share"}
AXES = {"updates": "updates", "seconds": "seconds"}
UNIT = {"updates": "updates", "seconds": "seconds on one thread"}
OF = {"lead": "", "share": " of the other"}


def controls(runs: Runs) -> dict[str, Control]:
    """Return what a reader may choose; among kinds of runs, once there are two."""
    kinds = runs.recorded()
    several = {"kind": choice("Runs", kinds)} if len(kinds) > 1 else {}
    return several | {"shown": choice("Shown", SHOWN), "axis": choice("Over", AXES)}


def draw_curves(runs: Runs, shown: str, axis: str, kind: str = MAIN) -> list[go.Figure]:
    """Draw the bound of test images in training; or how far layer norm is ahead, in two ways."""
    figure = go.Figure()
    draw = {"bound": _bounds, "lead": _lead, "share": _share}[shown]
    end = draw(figure, runs, kind, axis)
    figure.update_layout(
        title={
            "bound": "Bound of test images",
            "lead": "Layer norm's bound less another's",
            "share": f"What layer norm needs of another's {axis}, to be as good",
        }[shown],
        height=400,
        xaxis={"title": UNIT[axis] if shown == "bound" else f"{UNIT[axis]}{OF[shown]}",
               "range": [0, end], "zeroline": False, "tickformat": ",d"},
        yaxis={"zeroline": False},
    )  # fmt: skip
    return [label_ends(figure)]


def _bounds(figure: go.Figure, runs: Runs, kind: str, axis: str) -> float:
    lowest, where = [], np.zeros(1)
    for arm in runs.kinds[kind]:
        where, values = runs.curves(kind, arm, axis)
        hover = "after %{x:,.0f} " + axis + ": %{y:.1f} nats"
        band(figure, where, spread(values), LOOKS[arm], hover)
        lowest.append(np.nanmin(values))
    figure.update_layout(yaxis={"title": "nats an image", "range": [min(lowest) - 4, TOP]})
    return float(where[-1])


def _lead(figure: go.Figure, runs: Runs, kind: str, axis: str) -> float:
    ends, where = [0.0], np.zeros(1)
    for other in _others(runs, kind):
        where, values = runs.lead(kind, other, axis)
        band(figure, where, spread(values), _against(other),
             "after %{x:,.0f} " + axis + ": %{y:+.1f} nats")  # fmt: skip
        ends += [np.nanmin(values), np.nanmax(values)]
    _level(figure, 0, where[-1])
    span = [min(ends) - 3, max(ends) + 3]
    figure.update_layout(yaxis={"title": "nats; below 0: layer norm leads", "range": span})
    return float(where[-1])


def _share(figure: go.Figure, runs: Runs, kind: str, axis: str) -> float:
    most, where = 110.0, np.zeros(1)
    for other in _others(runs, kind):
        where, values = runs.share(kind, other, axis)
        band(figure, where, spread(100 * values), _against(other),
             "for its bound after %{x:,.0f} " + axis + ": %{y:.0f} %")  # fmt: skip
        most = max(most, 100 * np.nanmax(values, initial=1) + 5)
    _level(figure, 100, where[-1])
    _level(figure, 50, where[-1], "dot")
    figure.update_layout(yaxis={"title": "%; 50 is twice as fast", "range": [0, most]})
    return float(where[-1])


def _others(runs: Runs, kind: str) -> list[str]:
    return [other for other in (PLAIN, CHOSEN) if other in runs.kinds[kind]]


def _against(other: str) -> tuple[str, str, str]:
    label, color, dash = LOOKS[other]
    return f"against {label}", color, dash


def _level(figure: go.Figure, y: float, end: float, dash: str = "solid") -> None:
    figure.add_scatter(
        x=[0, end], y=[y, y], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5, "dash": dash},
    )  # fmt: skip


def describe_curves(runs: Runs, shown: str, axis: str, kind: str = MAIN) -> str:
    """Say where the curves end; or where the lead was largest, and what is left of it."""
    arms = runs.kinds[kind]
    seeds = len(arms[LAYER].runs)
    count = f"mean of {seeds} seeds" if seeds > 1 else "one seed"
    if shown == "bound":
        ends = [
            f"{LOOKS[arm][0]} {runs.curves(kind, arm, axis)[1][:, -1].mean():.1f}" for arm in arms
        ]
        where = runs.curves(kind, LAYER, axis)[0][-1]
        return f"After {where:,.0f} {axis}, {count}, in nats: {', '.join(ends)}."
    said = []
    for other in _others(runs, kind):
        where, values = getattr(runs, shown)(kind, other, axis)
        means, label = values.mean(0), LOOKS[other][0]
        if shown == "lead":
            at = int(np.nanargmin(means))
            said.append(
                f"against {label} layer norm is {_ahead(means[at])} after {where[at]:,.0f} {axis} "
                f"and {_ahead(means[-1])} at the end"
            )
        else:
            at = len(where) // 4
            said.append(
                f"for {label}'s best bound up to {where[at]:,.0f} {axis} layer norm needs "
                f"{_part(means[at])} of them, up to {where[-1]:,.0f}, {_part(means[-1])}"
            )
    first = "At most, " if shown == "lead" else ""
    text = "; ".join(said)
    return f"{first or text[0].upper()}{text if first else text[1:]} ({count})."


def _ahead(nats: float) -> str:
    return f"{abs(nats):.1f} nats {'ahead' if nats < 0 else 'behind'}"


def _part(share: float) -> str:
    return "more than all" if np.isnan(share) else f"{100 * share:.0f} %"


CURVES = Picture(
    draw_curves,
    describe_curves,
    alt="Curves of the bound on test images in nats over updates or seconds: no norm dotted, no "
    "norm from a chosen start dashed, layer norm solid, with a band from the lowest seed to the "
    "highest; or layer norm's bound less each of the others', with a line at zero; or the share of "
    "the other's updates or seconds that layer norm needs, with lines at 100 and 50 percent.",
)
