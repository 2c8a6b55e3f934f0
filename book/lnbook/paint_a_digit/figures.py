"""Paint a digit: everything that the chapter's notebook names."""

from lnbook.paint_a_digit.curves import CURVES, controls
from lnbook.paint_a_digit.network import network
from lnbook.paint_a_digit.rates import RATES
from lnbook.paint_a_digit.runs import CHOSEN, LAYER, MAIN, PLAIN, Runs
from lnbook.paint_a_digit.verdicts import claims, hinges

__all__ = [
    "CHOSEN",
    "CURVES",
    "LAYER",
    "MAIN",
    "PLAIN",
    "RATES",
    "Runs",
    "claims",
    "controls",
    "hinges",
    "network",
]
