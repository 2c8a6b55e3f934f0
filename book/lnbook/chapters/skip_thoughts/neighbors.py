"""The runs that recorded the nearest neighbors of sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from lnbook.figures.run_groups import LAYER, NO_NORM, TUNED_INIT
from lnbook.widgets.replay import base

ARMS = {
    NO_NORM: {"norm": "none", "start": "code"},
    TUNED_INIT: {"norm": "none", "start": "scaled"},
    LAYER: {"norm": "layer", "start": "code"},
}


def with_neighbors(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return, for each network, the run that recorded nearest neighbors."""
    return base.select_runs(records, ARMS, "neighbors")
