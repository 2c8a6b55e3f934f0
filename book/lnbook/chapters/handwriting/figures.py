"""Everything that the chapter's notebook names."""

from lnbook.chapters.handwriting.curves import CURVES, RATES, controls
from lnbook.chapters.handwriting.network import network
from lnbook.chapters.handwriting.runs import MAIN, Runs
from lnbook.chapters.handwriting.speed import BESIDE, SPEED, apart, moves, readable
from lnbook.chapters.handwriting.splits import SPLITS, ends, splits
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN

__all__ = [
    "BESIDE",
    "CHOSEN",
    "CURVES",
    "LAYER",
    "MAIN",
    "PLAIN",
    "RATES",
    "SPEED",
    "SPLITS",
    "Runs",
    "apart",
    "controls",
    "ends",
    "moves",
    "network",
    "readable",
    "splits",
]
