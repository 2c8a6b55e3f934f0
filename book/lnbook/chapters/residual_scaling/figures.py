"""Figures and tables for the notebook, from the files in this folder."""

from lnbook.chapters.residual_scaling.panels import DEPTHS, PROFILE
from lnbook.chapters.residual_scaling.stack import SCHEMES, output_shares, profile
from lnbook.chapters.residual_scaling.trained import (
    COUNTS,
    ORDER,
    TRAINED,
    ResidualSchemeRuns,
    lowest_loss,
    stuck,
)
