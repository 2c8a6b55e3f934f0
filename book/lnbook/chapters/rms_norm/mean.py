"""LayerNorm and RMSNorm of eight features, as their mean changes."""

import numpy as np
import plotly.graph_objects as go

import lnlib
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line

MEANS = [0.25 * k for k in range(17)]  # in standard deviations
#: Eight features with mean 0 and standard deviation 1.
FEATURES = lnlib.layer_norm(np.array([-1.0, 0.6, 1.9, -0.4, 0.2, -1.7, 1.2, -0.3]), eps=0)


def outputs(mean: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Normalize the features plus a mean.

    Args:
        mean: The mean that is added, in standard deviations.

    Returns:
        The output of LayerNorm, that of RMSNorm, and the angle between them in degrees.
    """
    x = FEATURES + mean
    layer, rms = lnlib.layer_norm(x, eps=0), lnlib.rms_norm(x, eps=0)
    cosine = layer @ rms / np.linalg.norm(layer) / np.linalg.norm(rms)
    return layer, rms, float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def draw(mean: float) -> list[go.Figure]:
    """Draw the input, both outputs, and the angle between these over all means."""
    layer, rms, angle = outputs(mean)
    channels = np.arange(1, len(FEATURES) + 1)
    x = go.Figure()
    x.add_bar(
        x=channels,
        y=(FEATURES + mean).round(3),
        marker={"color": COLORS["gray"]},
        name="input",
        hovertemplate="feature %{x}: %{y:.2f}<extra></extra>",
    )
    add_line(
        x,
        [0.4, 8.6],
        [mean, mean],
        ("mean", COLORS["ink"], "dash"),
        "mean %{y:.2f}<extra></extra>",
        width=2,
    )
    x.update_layout(title="Input", yaxis={"range": [-2, 6]})
    y = go.Figure()
    for name, values in (("layer", layer), ("rms", rms)):
        y.add_bar(
            x=channels,
            y=values.round(3),
            marker={"color": COLORS[name]},
            name={"layer": "LayerNorm", "rms": "RMSNorm"}[name],
            hovertemplate="feature %{x}: %{y:.2f}<extra></extra>",
        )
    y.update_layout(title="Outputs", yaxis={"range": [-2, 2]}, bargap=0.25)
    for figure in (x, y):
        figure.update_layout(
            height=290,
            xaxis={"title": "feature", "tickvals": [1, 4, 8], "showgrid": False, "zeroline": False},
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        )
    return [x, y, _angles(mean, angle)]


def _angles(mean: float, angle: float) -> go.Figure:
    """Draw the angle over all means, with a point at the current one."""
    figure = go.Figure()
    figure.add_scatter(
        x=MEANS,
        y=[round(outputs(m)[2], 2) for m in MEANS],
        mode="lines",
        line={"color": COLORS["gray"], "width": 2.5},
        hovertemplate="mean %{x:.2f} std: %{y:.0f}°<extra></extra>",
        showlegend=False,
    )
    figure.add_scatter(
        x=[mean],
        y=[round(angle, 2)],
        mode="markers+text",
        marker={"color": COLORS["ink"], "size": 11},
        text=[f"{angle:.0f}°"],
        textposition="bottom right" if mean < 3 else "bottom center",
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_layout(
        title="Angle between the outputs",
        height=290,
        xaxis={"title": "mean / std of the input", "range": [-0.15, 4.2]},
        yaxis={"title": "angle (degrees)", "range": [-4, 90], "tickvals": [0, 30, 60, 90]},
    )
    return figure


def describe(mean: float) -> str:
    """Describe the output of each norm and the angle between them."""
    layer, rms, angle = outputs(mean)

    def span(values: np.ndarray) -> str:
        return f"{values.min():.2f} to {values.max():.2f}".replace("-", "−")

    if not mean:
        return f"With a mean of 0, both outputs are the same, {span(layer)}: the angle is 0°."
    unit = "standard deviation" if mean == 1 else "standard deviations"
    return (
        f"With a mean of {mean:g} {unit}, LayerNorm returns {span(layer)}, as for "
        f"every mean, and RMSNorm returns {span(rms)}. The angle between the two outputs is "
        f"{angle:.0f}°, and RMSNorm's outputs have a standard deviation of {rms.std():.2f}."
    )


MEAN = Picture(
    draw,
    describe,
    alt="Left: bars of eight features and a line at their mean. Middle: the bars of both outputs; "
    "those of LayerNorm do not depend on the mean, those of RMSNorm approach 1 as it grows. Right: "
    "the angle between the outputs, rising from 0 degrees toward 90 with the mean.",
)
