"""Paint a digit: everything that the chapter's notebook names."""

from lnbook.paint_a_digit.curves import CURVES, RATES, controls
from lnbook.paint_a_digit.network import network
from lnbook.paint_a_digit.runs import MAIN, Runs
from lnbook.show.arms import CHOSEN, LAYER, PLAIN

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
