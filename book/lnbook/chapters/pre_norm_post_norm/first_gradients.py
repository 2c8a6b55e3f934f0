"""The gradient at initialization, by block and by depth."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import (
    DEPTHS,
    INITIALIZATION_NAMES,
    KINDS,
    TransformerRuns,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import add_guide, band, cursor, label_ends, log_axis, spread

STARTED = ("post", "pre")


def last_gradients(runs: TransformerRuns, initialization: str, kind: str) -> np.ndarray:
    """Return the norm of the gradient in the last block, ``(seeds, depths)``."""
    columns = [runs.initial(initialization, kind, depth, "gradient") for depth in DEPTHS]
    return np.array([result[:, -1] for result in columns]).T


def draw_first_gradients(runs: TransformerRuns, initialization: str, depth: int) -> list[go.Figure]:
    """Draw the gradient in each block, and in the last block over the depth."""
    blocks, last = go.Figure(), go.Figure()
    for kind in STARTED:
        result = runs.initial(initialization, kind, depth, "gradient")
        hover = "block %{x}: %{y:.3g}"
        band(blocks, np.arange(1, depth + 1), spread(result), KINDS[kind], hover, "lines+markers")
        values = last_gradients(runs, initialization, kind)
        hover = "%{x} blocks: %{y:.3g}"
        band(last, DEPTHS, spread(values), KINDS[kind], hover, "lines+markers")
    pre = last_gradients(runs, initialization, "pre").mean(0)
    falls = pre[0] * np.sqrt(DEPTHS[0] / np.array(DEPTHS))
    add_guide(last, DEPTHS, falls, "1/√depth", dash="dot")
    blocks.update_layout(
        title=f"In each of {depth} blocks",
        xaxis={"title": "block", "range": [0.5 - 0.02 * depth, depth + 0.5], "zeroline": False},
        yaxis={"title": "gradient norm", "range": _range(runs, initialization)[:2]},
    )
    ticks = [v for v in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)]
    last.update_layout(
        title="In the last block, by depth",
        xaxis=log_axis(DEPTHS, [np.log10(1.8), np.log10(28)], title="blocks"),
        yaxis=log_axis(ticks, np.log10(_range(runs, initialization)[2:]), title="gradient norm"),
        shapes=[cursor(depth)],
    )  # fmt: skip
    return [label_ends(blocks), label_ends(last)]


def _range(runs: TransformerRuns, initialization: str) -> tuple[float, float, float, float]:
    """Return the ranges of both vertical axes, the same at every depth."""
    results = [
        runs.initial(initialization, kind, depth, "gradient")
        for kind in STARTED
        for depth in DEPTHS
    ]
    lasts = [result[:, -1] for result in results]
    top = max(result.max() for result in results)
    low, high = min(f.min() for f in lasts), max(f.max() for f in lasts)
    return 0, 1.05 * top, 0.75 * low, 1.35 * high


def describe_first_gradients(runs: TransformerRuns, initialization: str, depth: int) -> str:
    """Describe the norm of the gradient in the first and the last block, for both placements."""
    texts = []
    for kind in STARTED:
        result = runs.initial(initialization, kind, depth, "gradient").mean(0)
        texts.append(f"{KINDS[kind][0]} {result[0]:.2g} in the first block, {result[-1]:.2g} in the"
                    " last")  # fmt: skip
    name = INITIALIZATION_NAMES[initialization]
    return f"{name}, {depth} blocks, gradient norm before the first update: {'; '.join(texts)}."


FIRST_GRADIENTS = Picture(
    draw_first_gradients,
    describe_first_gradients,
    alt="Two panels with the norm of the gradient at initialization, in post-norm and in pre-norm. "
    "Left, in each block. Right, in the last block over the number of blocks, next to a dotted "
    "line that decreases as one over the square root of the depth. Bands: the range of ten seeds.",
)
