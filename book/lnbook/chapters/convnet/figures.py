"""Figures, tables and recorded runs for the notebook."""

from lnbook.chapters.convnet.border import BORDER, STATISTICS, border_difference
from lnbook.chapters.convnet.curves import curves
from lnbook.chapters.convnet.runs import ConvnetRuns, border_and_interior, border_ratio
from lnbook.chapters.convnet.tables import border_claims, mnist_table, norm_table, speed_claims
