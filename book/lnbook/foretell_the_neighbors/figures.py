"""Foretell the neighbors: everything that the chapter's notebook names."""

from lnbook.foretell_the_neighbors.alike import KINDRED, MARKS, kept
from lnbook.foretell_the_neighbors.curves import CURVES, RATES, controls
from lnbook.foretell_the_neighbors.network import network
from lnbook.foretell_the_neighbors.runs import MAIN, Runs
from lnbook.foretell_the_neighbors.tasks import SHOWN, TASKS, judged, table_3
from lnbook.show.arms import CHOSEN, LAYER, PLAIN
from lnbook.show.neighbors import alike, sentences

__all__ = [
    "CHOSEN",
    "CURVES",
    "KINDRED",
    "LAYER",
    "MAIN",
    "MARKS",
    "PLAIN",
    "RATES",
    "SHOWN",
    "TASKS",
    "Runs",
    "alike",
    "controls",
    "judged",
    "kept",
    "network",
    "sentences",
    "table_3",
]
