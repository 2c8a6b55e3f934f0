"""Figures, tables and recorded runs for the notebook."""

from lnbook.chapters.handwriting.curves import CURVES, RATES, controls
from lnbook.chapters.handwriting.network import network
from lnbook.chapters.handwriting.runs import MAIN, HandwritingRuns
from lnbook.chapters.handwriting.speed import (
    EXTRA_INPUTS,
    SPEED,
    distance,
    explained_variance,
    moves,
)
from lnbook.chapters.handwriting.splits import splits
from lnbook.figures.run_groups import LAYER, NO_NORM, TUNED_INIT
