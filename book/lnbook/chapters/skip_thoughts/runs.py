"""The recorded runs, grouped by the settings that the chapter compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lnbook.figures import run_groups
from lnbook.figures.run_groups import SWEEP

MAIN, LONGER, SMALLER = "standard settings", "50 words, 16 sentences", "4 sentences"


class SkipThoughtsRuns(run_groups.Runs):
    """The recorded runs of section 6.3."""

    EXPERIMENT, MEASURE, GROUPS = "skip_thoughts", "val_nll", (MAIN, LONGER, SMALLER)
    EARLY = 100  # updates, before which all arms only learn which words are frequent

    def group_name(self, arms: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the name of the group that has these arms and settings."""
        if settings["batch_size"] < 16:
            return SMALLER
        if settings["length"] > 20:
            return LONGER
        return SWEEP if settings["judge_every"] is None else MAIN
