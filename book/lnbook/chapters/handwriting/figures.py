"""Everything that the chapter's notebook names."""

from lnbook.chapters.handwriting.curves import CURVES, RATES, controls
from lnbook.chapters.handwriting.network import network
from lnbook.chapters.handwriting.runs import MAIN, Runs
from lnbook.chapters.handwriting.speed import (
    EXTRA_INPUTS,
    SPEED,
    distance,
    explained_variance,
    moves,
)
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN

__all__ = [
    "CHOSEN",
    "CURVES",
    "EXTRA_INPUTS",
    "LAYER",
    "MAIN",
    "PLAIN",
    "RATES",
    "SPEED",
    "Runs",
    "controls",
    "distance",
    "explained_variance",
    "moves",
    "network",
]
