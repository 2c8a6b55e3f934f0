"""Everything that the chapter's notebook names."""

from lnbook.chapters.convnet.border import BORDER, SHOWN, difference
from lnbook.chapters.convnet.curves import curves
from lnbook.chapters.convnet.norms import digits, norms, reason, training
from lnbook.chapters.convnet.runs import Runs, channels, ratio

__all__ = [
    "BORDER",
    "SHOWN",
    "Runs",
    "channels",
    "curves",
    "difference",
    "digits",
    "norms",
    "ratio",
    "reason",
    "training",
]
