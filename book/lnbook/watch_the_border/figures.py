"""Watch the border: everything that the chapter's notebook names."""

from lnbook.watch_the_border.border import BORDER, SHOWN, YES, apart, border, other, rarer, seeds
from lnbook.watch_the_border.curves import curves
from lnbook.watch_the_border.norms import beside, norms, reason, training
from lnbook.watch_the_border.runs import Runs, channels, ratio

__all__ = [
    "BORDER",
    "SHOWN",
    "YES",
    "Runs",
    "apart",
    "beside",
    "border",
    "channels",
    "curves",
    "norms",
    "other",
    "rarer",
    "ratio",
    "reason",
    "seeds",
    "training",
]
