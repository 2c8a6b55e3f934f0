"""The recorded runs, in the kinds in which the chapter compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lnbook.figures import run_groups
from lnbook.figures.colors import COLORS
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN, SWEEP

BATCH, EVERYWHERE = "batch norm in the LSTM", "batch norm everywhere"
SMALL = "layer, gain 0.1"
#: What the runs of each network have among their settings.
ARMS = {
    PLAIN: {"norm": "none", "start": "usual"},
    CHOSEN: {"norm": "none", "start": "chosen"},
    BATCH: {"norm": "batch", "gain": 0.1},
    EVERYWHERE: {"norm": "batch_everywhere", "gain": 0.1},
    SMALL: {"norm": "layer", "gain": 0.1},
    LAYER: {"norm": "layer", "gain": 1.0},
}
MAIN, RELEASED_CODE = "standard settings", "settings of the public code"
SMALLER, LONGER = "batches of 8 questions", "two passages per question"
SHORT, REPLAYED = "short training passages", "runs whose attention is shown"


class Runs(run_groups.Runs):
    """What has been recorded of section 6.2.

    Args:
        records: As for :class:`~lnbook.figures.run_groups.Runs`.
        judge: The same.
        released: Compares the runs with the settings of the public code, ``RELEASED_TASK``.
    """

    EXPERIMENT, MEASURE = "attentive_reader", "val_error"
    KINDS = (MAIN, RELEASED_CODE, SMALLER, LONGER, SHORT)
    EARLY = 400  # updates before which no network does better than any name
    STYLES: ClassVar = {
        PLAIN: run_groups.STYLES[PLAIN],
        CHOSEN: run_groups.STYLES[CHOSEN],
        BATCH: ("batch norm in the LSTM", COLORS["batch"], "solid"),
        EVERYWHERE: ("batch norm everywhere", COLORS["batch"], "dash"),
        SMALL: ("layer norm (gain 0.1)", COLORS["layer"], "dash"),
        LAYER: run_groups.STYLES[LAYER],
    }

    def __init__(
        self, records: Sequence[Mapping[str, Any]], judge: Any, released: Any = None
    ) -> None:
        super().__init__(records, judge)
        for changed, runs in released.run_groups(records) if released else ():
            if not changed:
                self.kinds[RELEASED_CODE] = released.at_best_rates(runs)
                self.records_by_kind[RELEASED_CODE] = runs

    def kind(self, arms: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Name the kind of some arms."""
        if any(len(arm.rates) > 2 for arm in arms.values()):
            return SWEEP
        if settings["longest"] is not None:
            return SHORT
        if settings["passages"] > 1:
            return LONGER
        if settings["batch_size"] < 32:
            return SMALLER
        return MAIN if settings["epochs"] == self.judge.settings().epochs else REPLAYED
