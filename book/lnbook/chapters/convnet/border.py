"""Difference between border and interior units, with an interval over channels."""

import plotly.graph_objects as go

from lnbook.chapters.convnet.runs import CROPS, DATASETS, LAYERS, NORMS, ConvnetRuns
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS as STYLES
from lnbook.figures.plots import add_guide
from lnbook.widgets.replay import activation_maps

STATISTICS = {"fraction active": "on", "standard deviation": "deviation"}
MARKERS = {"none": "circle", "batch": "square", "layer": "diamond"}
_AXIS = {"on": "difference in percentage points",
         "deviation": "difference in % of the interior"}  # fmt: skip


def border_difference(
    runs: ConvnetRuns, data: str, crop: int, norm: str, layer: int, shown: str
) -> tuple[float, float, float]:
    """Return the mean of border minus interior units after training, and its 95% interval.

    The interval is over channels. ``on`` is in percentage points, ``deviation`` in percent of the
    mean of the interior.
    """
    maps = runs.maps[data, crop, norm]["arrays"][f"{shown}_{layer}"][-1].astype(float)
    border, interior, low, high = activation_maps.border_and_interior(
        maps / (255 if shown == "on" else 1)
    )
    unit = 100 / (1 if shown == "on" else interior)
    return unit * (border - interior), unit * low, unit * high


def draw_border(runs: ConvnetRuns, shown: str) -> list[go.Figure]:
    """Draw border minus interior for all layers and norms, one panel per kind of images."""
    panels = [_panel(runs, data, crop, shown) for data, crop in runs.map_keys()]
    panels[0].update_layout(meta={"phone": 1.35})  # only the first panel shows the legend
    for panel in panels[1:]:
        panel.update_layout(showlegend=False)
    return panels


def _panel(runs: ConvnetRuns, data: str, crop: int, shown: str) -> go.Figure:
    figure = go.Figure()
    for k, norm in enumerate(NORMS):
        label, color, _ = STYLES[norm]
        results = [border_difference(runs, data, crop, norm, layer, shown) for layer in LAYERS]
        figure.add_scatter(
            x=[mean for mean, *_ in results],
            y=[layer + 0.2 * (k - 1) for layer in LAYERS],
            mode="markers",
            name=label,
            marker={"symbol": MARKERS[norm], "size": 10, "color": color},
            error_x={
                "array": [high - mean for mean, _, high in results],
                "arrayminus": [mean - low for mean, low, _ in results],
                "symmetric": False, "color": color, "thickness": 2, "width": 0,
            },
            hovertemplate="%{x:+.0f}" + f"<extra>{label}</extra>",
        )  # fmt: skip
    add_guide(figure, [0, 0], [0.5, 3.5])
    figure.update_layout(
        title=f"{DATASETS[data]}, {CROPS[crop]}",
        height=300,
        xaxis={"title": _AXIS[shown], "range": [-60, 60] if shown == "on" else [-120, 120],
               "zeroline": False, "dtick": 20 if shown == "on" else 50},
        yaxis={"range": [3.5, 0.5], "tickvals": list(LAYERS), "zeroline": False,
               "ticktext": [f"layer {k}" for k in LAYERS], "showgrid": False},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    return figure


def describe_border(runs: ConvnetRuns, shown: str) -> str:
    """Count the layers in which border units are active less often, or vary less."""
    what = {"on": "are active less often", "deviation": "vary less"}[shown]
    texts = []
    for data, crop in runs.map_keys():
        counts = [
            sum(border_difference(runs, data, crop, norm, layer, shown)[2] < 0 for layer in LAYERS)
            for norm in NORMS
        ]
        networks = ["without a norm" if n == "none" else f"with {STYLES[n][0]}" for n in NORMS]
        counts_text = ", ".join(
            f"{c} {network}" for c, network in zip(counts, networks, strict=True)
        )
        texts.append(f"{DATASETS[data]}, {CROPS[crop]}: {counts_text}.")
    return (
        f"Layers (of three) in which border units {what} than interior units, with the whole "
        f"interval below 0. {' '.join(texts)}"
    )


BORDER = Picture(
    draw_border,
    describe_border,
    alt="One panel for each kind of image. For three layers and three norms a marker shows the "
    "difference between border and interior units, with a bar for its 95 percent interval over "
    "channels, and a line at zero.",
)
