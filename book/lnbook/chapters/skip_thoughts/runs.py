"""The recorded runs, grouped by the settings that the chapter compares."""

from typing import ClassVar

from lnbook.figures import run_groups
from lnbook.figures.run_groups import MAIN


class SkipThoughtsRuns(run_groups.Runs):
    """The recorded runs of section 6.3."""

    EXPERIMENT, MEASURE = "skip_thoughts", "val_nll"
    GROUPS: ClassVar = {
        MAIN: {},
        "50 words, 16 sentences": {"length": 50},
        "4 sentences": {"batch_size": 4},
    }
    EARLY = 100  # updates, before which all arms only learn which words are frequent
