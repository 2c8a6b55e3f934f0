"""The chart of all claims, and the landscape of a small network's loss."""

from lnbook.chapters.claims.chart import ClaimChart
from lnbook.chapters.claims.landscape import LANDSCAPE, MEASURES, LandscapeRuns
