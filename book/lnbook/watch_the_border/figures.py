"""Watch the border: everything that the chapter's notebook names."""

from lnbook.show.table import HOLDS
from lnbook.watch_the_border.border import BORDER, SHOWN, apart, border, other, rarer, seeds
from lnbook.watch_the_border.curves import curves
from lnbook.watch_the_border.runs import Runs, channels, ratio
from lnbook.watch_the_border.verdicts import norms

__all__ = [
    "BORDER",
    "HOLDS",
    "SHOWN",
    "Runs",
    "apart",
    "border",
    "channels",
    "curves",
    "norms",
    "other",
    "rarer",
    "ratio",
    "seeds",
]
