"""Everything that the chapter's notebook names."""

from lnbook.chapters.convnet.border import BORDER, SHOWN, YES, apart, border, other, rarer, seeds
from lnbook.chapters.convnet.curves import curves
from lnbook.chapters.convnet.norms import beside, norms, reason, training
from lnbook.chapters.convnet.runs import Runs, channels, ratio

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
