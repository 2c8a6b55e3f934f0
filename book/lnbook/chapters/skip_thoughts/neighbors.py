"""The runs that recorded the nearest neighbors of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN
from lnbook.widgets.replay import base

ARMS = {
    PLAIN: {"norm": "none", "start": "code"},
    CHOSEN: {"norm": "none", "start": "scaled"},
    LAYER: {"norm": "layer", "start": "code"},
}


def with_neighbors(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return, for each network, the run that recorded nearest neighbors."""
    return base.select_runs(records, ARMS, "neighbors")
