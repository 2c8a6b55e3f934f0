"""How far its units are from the rest, with an interval over channels."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from lnbook.chapters.convnet.runs import CUTS, LAYERS, NORMS, PICTURES, Runs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS as LOOKS
from lnbook.figures.table import Table
from lnbook.widgets.replay import activation_maps

SHOWN = {"how often on": "on", "deviation": "deviation"}
MARKERS = {"none": "circle", "batch": "square", "layer": "diamond"}
MARGIN = 0.1  # of the rest's: what counts as another deviation
YES, NO, OPEN = "yes", "no", "open"  # of one network: no verdict
_AXIS = {"on": "points; left: more rarely on",
         "deviation": "% of elsewhere; left: smaller"}  # fmt: skip


def apart(
    runs: Runs, data: str, cut: int, norm: str, layer: int, shown: str
) -> tuple[float, float, float]:
    """Return border less elsewhere after training, and the ends of its 95 % interval over channels.

    Of ``on`` in points; of ``deviation`` in percent of the mean elsewhere.
    """
    maps = runs.maps[data, cut, norm]["arrays"][f"{shown}_{layer}"][-1].astype(float)
    border, rest, low, high = activation_maps.apart(maps / (255 if shown == "on" else 1))
    unit = 100 / (1 if shown == "on" else rest)
    return unit * (border - rest), unit * low, unit * high


def rarer(ends: tuple[float, float, float]) -> str:
    """Say whether the whole interval is below the rest."""
    _, low, high = ends
    return YES if high < 0 else NO if low > 0 else OPEN


def draw_border(runs: Runs, shown: str) -> list[go.Figure]:
    """Draw border less elsewhere for all pictures, layers and norms; a panel a kind of pictures."""
    panels = [_panel(runs, data, cut, shown) for data, cut in runs.kinds()]
    for panel in panels[1:]:  # the first has the legend of all
        panel.update_layout(showlegend=False)
    return panels


def _panel(runs: Runs, data: str, cut: int, shown: str) -> go.Figure:
    figure = go.Figure()
    for k, norm in enumerate(NORMS):
        label, color, _ = LOOKS[norm]
        found = [apart(runs, data, cut, norm, layer, shown) for layer in LAYERS]
        figure.add_scatter(
            x=[mean for mean, *_ in found],
            y=[layer + 0.2 * (k - 1) for layer in LAYERS],
            mode="markers",
            name=label,
            marker={"symbol": MARKERS[norm], "size": 10, "color": color},
            error_x={
                "array": [high - mean for mean, _, high in found],
                "arrayminus": [mean - low for mean, low, _ in found],
                "symmetric": False, "color": color, "thickness": 2, "width": 0,
            },
            hovertemplate="%{x:+.0f}" + f"<extra>{label}</extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=[0, 0], y=[0.5, 3.5], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5},
    )  # fmt: skip
    figure.update_layout(
        title=f"{PICTURES[data]}, {CUTS[cut]}",
        height=300,
        xaxis={"title": _AXIS[shown], "range": [-60, 60] if shown == "on" else [-120, 120],
               "zeroline": False, "dtick": 20 if shown == "on" else 50},
        yaxis={"range": [3.5, 0.5], "tickvals": list(LAYERS), "zeroline": False,
               "ticktext": [f"layer {k}" for k in LAYERS], "showgrid": False},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    return figure


def describe_border(runs: Runs, shown: str) -> str:
    """Say in how many of the layers units at the border are more rarely on, or vary less."""
    what = {"on": "more rarely on", "deviation": "of a smaller deviation"}[shown]
    said = []
    for data, cut in runs.kinds():
        counts = [
            sum(rarer(apart(runs, data, cut, norm, layer, shown)) == YES for layer in LAYERS)
            for norm in NORMS
        ]
        each = ", ".join(f"{LOOKS[n][0]} {c}" for n, c in zip(NORMS, counts, strict=True))
        said.append(f"{PICTURES[data]}, {CUTS[cut]}: {each}")
    return (
        f"Layers, of three, in which units at the border are {what} than elsewhere, the whole "
        f"interval over channels on one side: {'; '.join(said)}."
    )


BORDER = Picture(
    draw_border,
    describe_border,
    alt="A panel for each kind of pictures: for three layers and three norms a marker at the "
    "difference between units of the outermost ring and the rest, with a bar for its 95 percent "
    "interval over channels, and a line at zero.",
)


def other(ends: tuple[float, float, float]) -> str:
    """Say whether the whole interval is more than :data:`MARGIN` away from the rest's."""
    _, low, high = ends
    if max(low, -high) > 100 * MARGIN:
        return YES
    return NO if max(high, -low) < 100 * MARGIN else OPEN


def border(runs: Runs, norm: str = "none") -> Table:
    """Say of one network whether units at the border are rarely on, and have other statistics."""
    rows = []
    for data, cut in runs.kinds():
        for layer in LAYERS:
            on, deviation = (apart(runs, data, cut, norm, layer, shown) for shown in SHOWN.values())
            rows.append([
                f"{PICTURES[data]}, {CUTS[cut]}, layer {layer}",
                _told(on), rarer(on),
                _told(deviation), other(deviation),
            ])  # fmt: skip
    return Table(
        ["Units", "On: points from the rest", "more rarely?", "Deviation: % from the rest",
         "a tenth away?"],
        rows,
        f"Units of the outermost ring beside all others, {LOOKS[norm][0]}, after training: mean, "
        "and in brackets the 95 % interval over channels of one run. Yes or no: the whole interval "
        "says so, of this one network; open: it does not.",
        folded=norm != "none",
    )  # fmt: skip


def seeds(runs: Runs, judge: Any) -> Table:
    """Say for each seed that compares the norms how much more often its border is on.

    Args:
        runs: What is recorded.
        judge: Compares them, ``lnlab.experiments.convnet.results.TASK``.
    """
    arms = judge.at_best_rates(runs.compared)
    rows = [[LOOKS[norm][0], *(_by_seed(arms[norm], layer) for layer in LAYERS)]
            for norm in NORMS]  # fmt: skip
    return Table(
        ["Border units on more often, points", *(f"layer {layer}" for layer in LAYERS)],
        rows,
        "Fashion-MNIST as it is, ten passes, each network at its own best rate; seed by seed.",
    )


def _by_seed(arm: Any, layer: int) -> str:
    ends = ([100 * run["curves"][f"{where}_on_{layer}"][-1] for where in ("border", "inner")]
            for run in arm.runs.values())  # fmt: skip
    return ", ".join(f"{round(border - rest):+d}" for border, rest in ends).replace("-", "−")


def _told(ends: tuple[float, float, float]) -> str:
    mean, low, high = ends
    return f"{mean:+.0f} ({low:+.0f} to {high:+.0f})".replace("-", "−")
