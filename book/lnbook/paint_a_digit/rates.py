"""Paint a digit: what each arm comes to at each learning rate."""

from __future__ import annotations

import plotly.graph_objects as go

from lnbook.paint_a_digit.runs import LOOKS, MISSING, Runs
from lnbook.show.picture import Picture
from lnbook.show.plots import label_ends


def draw_rates(runs: Runs) -> list[go.Figure]:
    """Draw the lowest bound on validation over the learning rate, and mark each arm's lowest."""
    figure = go.Figure()
    for name, arm in runs.sweep.items():
        label, color, dash = LOOKS[name]
        rates, bounds = list(arm.rates), list(arm.rates.values())
        hover = "rate %{x:g}: %{y:.1f} nats<extra>" + label + "</extra>"
        figure.add_scatter(
            x=rates, y=bounds, name=label, mode="lines+markers", hovertemplate=hover,
            line={"color": color, "dash": dash, "width": 2.5}, marker={"size": 7},
        )  # fmt: skip
        figure.add_scatter(
            x=[arm.rate], y=[arm.rates[arm.rate]], mode="markers", showlegend=False,
            hoverinfo="skip", marker={"color": color, "size": 15, "symbol": "circle-open",
                                      "line": {"width": 2.5}},
        )  # fmt: skip
    ticks = sorted({rate for arm in runs.sweep.values() for rate in arm.rates})
    figure.update_layout(
        title="Lowest bound of validation images",
        height=360,
        xaxis={"title": "learning rate", "type": "log", "tickvals": ticks,
               "ticktext": [f"{rate:g}" for rate in ticks]},
        yaxis={"title": "nats an image", "zeroline": False},
    )  # fmt: skip
    return [label_ends(figure)]


def describe_rates(runs: Runs) -> str:
    """Say which rate is each arm's best, and what its best and its worst come to."""
    if not runs.sweep:
        return f"The runs at several rates are {MISSING}."
    said = []
    for name, arm in runs.sweep.items():
        edge = ", the end of those tried" if arm.at_edge else ""
        low, high = min(arm.rates.values()), max(arm.rates.values())
        said.append(f"{LOOKS[name][0]} at {arm.rate:g}{edge} ({low:.1f} nats, {high:.1f} at worst)")
    return f"Each is at its best at a rate of its own: {'; '.join(said)}."


RATES = Picture(
    draw_rates,
    describe_rates,
    alt="Lines of the lowest bound on validation over five learning rates, one for no norm, one "
    "for no norm from a chosen start, one for layer norm; a ring marks each one's best.",
)
