"""Watch the border: everything that the chapter's notebook names."""

from lnbook.watch_the_border.border import BORDER, SHOWN, border
from lnbook.watch_the_border.runs import Runs, channels, ratio
from lnbook.watch_the_border.verdicts import norms

__all__ = ["BORDER", "SHOWN", "Runs", "border", "channels", "norms", "ratio"]
