"""The recorded runs, grouped by the settings that the chapter compares."""

from typing import ClassVar

from lnbook.figures import run_groups
from lnbook.figures.run_groups import MAIN


class HandwritingRuns(run_groups.Runs):
    """The recorded runs of section 6.5."""

    EXPERIMENT, MEASURE = "handwriting", "val_new_nll"
    GROUPS: ClassVar = {
        MAIN: {},
        "whole lines": {"length": 1400},
        "batch size 2": {"batch_size": 2},
        "no constant input": {"constant": False},
    }
    EARLY = 100  # updates before which all arms only learn the spread of the movements
