"""The recorded runs, grouped by the settings that the chapter compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lnbook.figures import run_groups
from lnbook.figures.run_groups import SWEEP

MAIN, LONGER, SMALLER = "standard settings", "16 glimpses", "batch size 8"


class DrawRuns(run_groups.Runs):
    """The recorded runs of section 6.4."""

    EXPERIMENT, MEASURE, GROUPS = "draw", "test_bound", (MAIN, LONGER, SMALLER)
    EARLY = 500  # updates before which all arms only clear the background

    def group_name(self, arms: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the name of the group that has these arms and settings."""
        if any(len(arm.rates) > 2 for arm in arms.values()):
            return SWEEP
        if settings["glimpses"] > 8:
            return LONGER
        return SMALLER if settings["batch_size"] < 64 else MAIN
