"""Figures and tables of the notebook, from the files in this folder."""

from lnbook.chapters.skip_thoughts.curves import LOSSES
from lnbook.chapters.skip_thoughts.neighbors import with_neighbors
from lnbook.chapters.skip_thoughts.network import network
from lnbook.chapters.skip_thoughts.runs import MAIN, SkipThoughtsRuns
from lnbook.chapters.skip_thoughts.tasks import TASKS, scores, table_3
from lnbook.figures.run_groups import LAYER, NO_NORM, TUNED_INIT
from lnbook.widgets.replay.sentence_neighbors import CATEGORIES, agreement, sentences
