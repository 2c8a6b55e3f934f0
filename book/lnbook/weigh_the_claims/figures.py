"""Weigh the claims: the chart of all claims, and the landscape of a small network's loss."""

from lnbook.weigh_the_claims.chart import ClaimChart
from lnbook.weigh_the_claims.landscape import LANDSCAPE, MEASURES, Runs

__all__ = ["LANDSCAPE", "MEASURES", "ClaimChart", "Runs"]
