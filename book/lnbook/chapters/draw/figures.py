"""Everything that the chapter's notebook names."""

from lnbook.chapters.draw.curves import CURVES, RATES, controls
from lnbook.chapters.draw.network import network
from lnbook.chapters.draw.runs import MAIN, Runs
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN

__all__ = [
    "CHOSEN",
    "CURVES",
    "LAYER",
    "MAIN",
    "PLAIN",
    "RATES",
    "Runs",
    "controls",
    "network",
]
