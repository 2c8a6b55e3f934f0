"""Everything that the chapter's notebook names."""

from lnbook.chapters.attentive_reader.curves import CURVES, RATES, controls, unread
from lnbook.chapters.attentive_reader.ends import ends
from lnbook.chapters.attentive_reader.looking import (
    ALL,
    LOOKING,
    asked,
    even,
    kept,
    on_names,
    right,
    shares,
)
from lnbook.chapters.attentive_reader.network import network
from lnbook.chapters.attentive_reader.runs import BATCH, EVERYWHERE, MAIN, SMALL, Runs
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN

__all__ = [
    "ALL",
    "BATCH",
    "CHOSEN",
    "CURVES",
    "EVERYWHERE",
    "LAYER",
    "LOOKING",
    "MAIN",
    "PLAIN",
    "RATES",
    "SMALL",
    "Runs",
    "asked",
    "controls",
    "ends",
    "even",
    "kept",
    "network",
    "on_names",
    "right",
    "shares",
    "unread",
]
