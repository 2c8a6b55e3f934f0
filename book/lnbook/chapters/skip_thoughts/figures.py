"""Everything that the chapter's notebook names."""

from lnbook.chapters.skip_thoughts.alike import KINDRED, MARKS, kept
from lnbook.chapters.skip_thoughts.curves import CURVES, RATES, controls
from lnbook.chapters.skip_thoughts.network import network
from lnbook.chapters.skip_thoughts.runs import MAIN, Runs
from lnbook.chapters.skip_thoughts.tasks import SHOWN, TASKS, judged, table_3
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN
from lnbook.widgets.replay.sentence_neighbors import alike, sentences

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
