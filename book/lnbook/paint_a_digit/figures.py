"""Paint a digit: everything that the chapter's notebook names."""

from lnbook.paint_a_digit.curves import AXES, CURVES, SHOWN
from lnbook.paint_a_digit.network import network
from lnbook.paint_a_digit.rates import RATES
from lnbook.paint_a_digit.runs import CHOSEN, KINDS, LAYER, LONGER, MAIN, PLAIN, SMALLER, Runs
from lnbook.paint_a_digit.verdicts import claims, hinges, less, shares

__all__ = [
    "AXES",
    "CHOSEN",
    "CURVES",
    "KINDS",
    "LAYER",
    "LONGER",
    "MAIN",
    "PLAIN",
    "RATES",
    "SHOWN",
    "SMALLER",
    "Runs",
    "claims",
    "hinges",
    "less",
    "network",
    "shares",
]
