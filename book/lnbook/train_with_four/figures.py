"""Train with four examples at a time: figure 6 of the paper, from recorded runs, and its claims."""

from lnbook.train_with_four.differences import DIFFERENCE, at_the_end, pairs
from lnbook.train_with_four.figure_6 import FIGURE_6, stops
from lnbook.train_with_four.origin import origin
from lnbook.train_with_four.rates import RATES, rate_stops, rates
from lnbook.train_with_four.runs import RATE, Cell, Runs
from lnbook.train_with_four.sizes import BATCH_SIZES

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
