"""Fill in the name: everything that the chapter's notebook names."""

from lnbook.fill_in_the_name.curves import CURVES, RATES, controls, unread
from lnbook.fill_in_the_name.ends import ends
from lnbook.fill_in_the_name.looking import ALL, LOOKING, asked, even, kept, on_names, right, shares
from lnbook.fill_in_the_name.network import network
from lnbook.fill_in_the_name.runs import BATCH, EVERYWHERE, MAIN, SMALL, Runs
from lnbook.show.arms import CHOSEN, LAYER, PLAIN

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
