"""Figures, tables and recorded runs for the notebook."""

from lnbook.chapters.draw.curves import CURVES, RATES, controls
from lnbook.chapters.draw.network import network
from lnbook.chapters.draw.runs import MAIN, PAPER_RATE, TUNED_TOO, DrawRuns
from lnbook.figures.run_groups import LAYER, NO_NORM, TUNED_INIT
