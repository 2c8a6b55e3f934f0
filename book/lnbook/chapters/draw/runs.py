"""The recorded runs, grouped by the settings that the chapter compares."""

from __future__ import annotations

from typing import ClassVar

from lnbook.figures import run_groups
from lnbook.figures.run_groups import MAIN


class DrawRuns(run_groups.Runs):
    """The recorded runs of section 6.4."""

    EXPERIMENT, MEASURE = "draw", "test_bound"
    GROUPS: ClassVar = {
        MAIN: {},
        "16 glimpses": {"glimpses": 16},
        "batch size 8": {"batch_size": 8},
    }
    EARLY = 500  # updates before which all arms only clear the background
