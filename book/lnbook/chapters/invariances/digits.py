"""Test errors of the networks as a function of the contrast or the brightness of the images."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.invariances import contrast
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, add_line, cursor, label_ends

#: Maps each of :data:`lnbook.chapters.invariances.contrast.KINDS` to label, color, dash.
READERS = {
    "none": NORMS["none"],
    "batch": ("batch norm, train mode", *NORMS["batch"][1:]),
    "running": ("batch norm, eval mode", COLORS["kept"], "longdash"),
    "layer": NORMS["layer"],
    "equal": ("layer norm, equal sums", COLORS["variant"], "dashdot"),
}
AMOUNTS = {
    "contrast": (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0),
    "brightness": (-1.0, -0.5, -0.25, 0.0, 0.5, 1.0, 2.0),
}
LABELS = {"contrast": "contrast factor", "brightness": "brightness shift"}
#: Positions among the amounts where the slider stops.
PLACES = tuple(i / 4 for i in range(25))


def draw_contrast(
    classifiers: contrast.DigitClassifiers, change: str, place: float
) -> list[go.Figure]:
    """Draw one digit, and the test error of each network over all amounts."""
    amounts = AMOUNTS[change]
    ticks = [0, (len(amounts) - 1) // 2, len(amounts) - 1]
    figure = go.Figure()
    for kind, style in READERS.items():
        add_line(
            figure,
            PLACES,
            [classifiers.error(kind, change, amount_at(change, p)) for p in PLACES],
            style,
            f"{style[0]}: %{{y:.1f}}%<extra></extra>",
            width=5 if kind == "batch" else 2,
        )
    figure.layout = dict(
        title="Test error",
        height=400,
        xaxis={
            "title": LABELS[change],
            "tickvals": ticks,
            "ticktext": [amount_text(change, i) for i in ticks],
            "zeroline": False,
        },
        yaxis={"range": [0, 100], "ticksuffix": "%"},
        shapes=[cursor(place)],
    )
    return [_digit(classifiers, change, amount_at(change, place)), label_ends(figure)]


def _digit(classifiers: contrast.DigitClassifiers, change: str, amount: float) -> go.Figure:
    shown = np.clip(contrast.altered(classifiers.X[1], change, amount), 0, 1).reshape(8, 8)
    figure = go.Figure(
        go.Heatmap(
            z=shown,  # the same in both themes: 0 is black, larger values are brighter
            zmin=0,
            zmax=1,
            colorscale=[[0, "rgb(20, 20, 20)"], [1, "rgb(255, 255, 255)"]],
            autocolorscale=False,
            showscale=False,
            hovertemplate="%{z:.2f}<extra></extra>",
        )
    )
    figure.layout = dict(
        title="A test image (clipped at black and white)",
        height=400,
        xaxis={"visible": False, "constrain": "domain"},
        yaxis={"visible": False, "autorange": "reversed", "scaleanchor": "x"},
    )
    return figure


def describe_contrast(classifiers: contrast.DigitClassifiers, change: str, place: float) -> str:
    """Describe the test errors."""
    errors = [
        f"{READERS[kind][0]}, {classifiers.error(kind, change, amount_at(change, place)):.1f}%"
        for kind in READERS
    ]
    amount = amount_text(change, place)
    return f"Test errors at a {LABELS[change]} of {amount}: {'; '.join(errors)}."


CONTRAST = Picture(
    draw_contrast,
    describe_contrast,
    alt="Left, a handwritten digit with the chosen contrast or brightness. Right, the test errors "
    "of five networks over the contrast factor or the brightness shift.",
)


def amount_at(change: str, place: float) -> float:
    """Return the amount at a position; contrasts are interpolated in their logarithm."""
    amounts, positions = np.array(AMOUNTS[change]), np.arange(len(AMOUNTS[change]))
    if change == "contrast" and place % 1:
        return float(np.exp(np.interp(place, positions, np.log(amounts))))
    return float(np.interp(place, positions, amounts))


def amount_text(change: str, place: float) -> str:
    """Format the amount at a position."""
    amount = amount_at(change, place)
    if change == "contrast":
        return f"{amount:.3g}"
    return f"{amount:+.3g}".replace("-", "−") if amount else "0"
