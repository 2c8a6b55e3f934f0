"""What the notebook shows, from the files beside this one."""

from lnbook.chapters.order_embeddings.below import BELOW, every, penalties_of, texts, vectors
from lnbook.chapters.order_embeddings.claims import PAPER, speed, table_2
from lnbook.chapters.order_embeddings.curves import AXES, CURVES, RATES
from lnbook.chapters.order_embeddings.runs import CUTS, Cell, Runs

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
