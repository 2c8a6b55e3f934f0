"""The loss on held-out chapters during training."""

from __future__ import annotations

import plotly.graph_objects as go

from lnbook.chapters.skip_thoughts.runs import MAIN, SkipThoughtsRuns
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.learning_curves import LearningCurves

LEARNING_CURVES = LearningCurves(
    "loss",
    "held-out chapters",
    "held-out chapters",
    unit="nats",
    axis="nats per word",
    top=5.5,  # the loss falls from 7.6 to this within a few updates in every run
    digits=3,
    pad=0.05,
)


def draw_losses(runs: SkipThoughtsRuns, kind: str = MAIN) -> list[go.Figure]:
    """Draw the loss of each network over its updates."""
    return LEARNING_CURVES.draw_curves(runs, "loss", kind)


def describe_losses(runs: SkipThoughtsRuns, kind: str = MAIN) -> str:
    """Describe the loss of each network at the end."""
    return LEARNING_CURVES.describe_curves(runs, "loss", kind)


LOSSES = Picture(
    draw_losses,
    describe_losses,
    alt="Loss on held-out chapters, in nats per word, over updates, each network with a band over "
    f"its seeds: {LEARNING_CURVES.lines}.",
)
