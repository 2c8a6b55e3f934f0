"""Put the norm in a transformer: what the notebook shows, from the files beside this one."""

from lnbook.place_the_norm.ablation import ABLATED, ABLATION, cost
from lnbook.place_the_norm.claims import at_start, trained
from lnbook.place_the_norm.live import LIVE, recorded_run
from lnbook.place_the_norm.river import river
from lnbook.place_the_norm.runs import (
    BIGRAM,
    INITIALIZATIONS,
    RATES,
    UNIGRAM,
    WARM_UPS,
    Cell,
    Runs,
)
from lnbook.place_the_norm.start import START
from lnbook.place_the_norm.stream import STREAM
from lnbook.place_the_norm.trained import CURVE, LOSSES, exploded, stuck, trained_at, trained_starts

__all__ = [
    "ABLATED",
    "ABLATION",
    "BIGRAM",
    "CURVE",
    "INITIALIZATIONS",
    "LIVE",
    "LOSSES",
    "RATES",
    "START",
    "STREAM",
    "UNIGRAM",
    "WARM_UPS",
    "Cell",
    "Runs",
    "at_start",
    "cost",
    "exploded",
    "recorded_run",
    "river",
    "stuck",
    "trained",
    "trained_at",
    "trained_starts",
]
