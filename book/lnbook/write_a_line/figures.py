"""Write a line: everything that the chapter's notebook names."""

from lnbook.show.arms import CHOSEN, LAYER, PLAIN
from lnbook.write_a_line.curves import CURVES, RATES, controls
from lnbook.write_a_line.network import network
from lnbook.write_a_line.runs import MAIN, Runs
from lnbook.write_a_line.speed import BESIDE, SPEED, apart, moves, readable
from lnbook.write_a_line.splits import SPLITS, ends, splits

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
