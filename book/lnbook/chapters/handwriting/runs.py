"""The recorded runs, grouped by the settings that the chapter compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lnbook.figures import run_groups
from lnbook.figures.run_groups import SWEEP

MAIN, LONGER, SMALLER = "standard settings", "whole lines", "batch size 2"
BARE, COARSE = "no constant input", "standard settings, evaluated on fewer lines"


class HandwritingRuns(run_groups.Runs):
    """The recorded runs of section 6.5."""

    EXPERIMENT, MEASURE = "handwriting", "val_new_nll"
    GROUPS = (MAIN, LONGER, SMALLER, BARE)
    EARLY = 100  # updates before which all arms only learn the spread of the movements

    def group_name(self, arms: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the name of the group that has these arms and settings."""
        if any(len(arm.rates) > 2 for arm in arms.values()):
            return SWEEP
        if not settings["constant"]:
            return BARE
        if settings["length"] > 300:
            return LONGER
        if settings["batch_size"] < 8:
            return SMALLER
        return MAIN if settings["lines"] == self.task.settings().lines else COARSE
