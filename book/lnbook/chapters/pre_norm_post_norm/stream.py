"""Standard deviation of the residual stream, and the share of the mean in its mean square."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import (
    INITIALIZATION_NAMES,
    KINDS,
    RunKey,
    TransformerRuns,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import band, label_ends, log_axis, spread

DEPTH, RATE, WARM_UP = 12, 1e-3, 60
TIMES = {
    "start": ("before training", COLORS["gray"], "dot"),
    "end": ("after training", COLORS["ink"], "solid"),
}
TICKS = {"deviation": (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
         "mean_share": (0.05, 0.1, 0.2, 0.5, 1, 2, 5)}  # fmt: skip
TITLES = {"deviation": "Standard deviation", "mean_share": "Share of the mean (%)"}
RANGES = {"deviation": (0.02, 24), "mean_share": (0.04, 6)}


def at(
    runs: TransformerRuns, initialization: str, kind: str, name: str, when: str
) -> np.ndarray | None:
    """Return a measure after each block, ``(seeds, 13)``; the share is in percent."""
    if when == "start":
        result = runs.initial(initialization, kind, DEPTH, name)
    else:
        result = runs.end(RunKey(initialization, kind, DEPTH, RATE, WARM_UP), name)
    return result if result is None or name == "deviation" else 100 * result


def draw_stream(runs: TransformerRuns, kind: str, initialization: str) -> list[go.Figure]:
    """Draw standard deviation and share of the mean after each block, before and after training."""
    return [_panel(runs, kind, initialization, name) for name in TITLES]


def _panel(runs: TransformerRuns, kind: str, initialization: str, name: str) -> go.Figure:
    figure, blocks = go.Figure(), np.arange(DEPTH + 1)
    low, high = RANGES[name]
    for when, style in TIMES.items():
        result = at(runs, initialization, kind, name, when)
        if result is not None:
            values = np.clip(result, low, high)
            band(figure, blocks, spread(values), style, "after block %{x}: %{y:.3g}",
                 "lines+markers")  # fmt: skip
    figure.update_layout(
        title=TITLES[name],
        xaxis={"title": "after block", "range": [-0.4, DEPTH + 0.4], "zeroline": False,
               "dtick": 3},
        yaxis=log_axis(TICKS[name], [np.log10(low * 0.9), np.log10(high * 1.1)]),
    )  # fmt: skip
    return label_ends(figure) if figure.data else figure


def describe_stream(runs: TransformerRuns, kind: str, initialization: str) -> str:
    """Describe both values after the last block, before and after training."""
    texts = []
    for when, (label, *_) in TIMES.items():
        size_and_share = [at(runs, initialization, kind, name, when) for name in TITLES]
        if size_and_share[0] is None:
            texts.append(f"{label} not recorded")
        else:
            size, share = (v.mean(0)[-1] for v in size_and_share)
            texts.append(f"{label} {size:.2f} (share of the mean {max(share, 0):.2f}%)")
    start = INITIALIZATION_NAMES[initialization]
    return (
        f"{start}, {KINDS[kind][0]}, standard deviation after the last block: {'; '.join(texts)}."
    )


STREAM = Picture(
    draw_stream,
    describe_stream,
    alt="Two panels over the blocks: the standard deviation of the residual stream, and "
    "the share of its mean square that is due to the mean, before training and after 600 updates.",
)
