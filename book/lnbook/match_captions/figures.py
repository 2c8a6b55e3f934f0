"""Match captions to pictures: what the notebook shows, from the files beside this one."""

from lnbook.match_captions.below import BELOW, every, penalties_of, texts, vectors
from lnbook.match_captions.claims import PAPER, speed, table_2
from lnbook.match_captions.curves import AXES, CURVES, RATES
from lnbook.match_captions.runs import CUTS, Cell, Runs

__all__ = [
    "AXES",
    "BELOW",
    "CURVES",
    "CUTS",
    "PAPER",
    "RATES",
    "Cell",
    "Runs",
    "every",
    "penalties_of",
    "speed",
    "table_2",
    "texts",
    "vectors",
]
