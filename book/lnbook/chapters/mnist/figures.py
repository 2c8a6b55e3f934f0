"""Figure 6 of the paper, from recorded runs, and its claims."""

from lnbook.chapters.mnist.differences import DIFFERENCE, at_the_end, pairs
from lnbook.chapters.mnist.figure_6 import FIGURE_6, stops
from lnbook.chapters.mnist.origin import origin
from lnbook.chapters.mnist.rates import RATES, rate_stops, rates
from lnbook.chapters.mnist.runs import RATE, Cell, Runs
from lnbook.chapters.mnist.sizes import BATCH_SIZES

__all__ = [
    "BATCH_SIZES",
    "DIFFERENCE",
    "FIGURE_6",
    "RATE",
    "RATES",
    "Cell",
    "Runs",
    "at_the_end",
    "origin",
    "pairs",
    "rate_stops",
    "rates",
    "stops",
]
