"""The recorded runs, grouped by the settings that the chapter compares."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lnbook.figures import run_groups
from lnbook.figures.run_groups import MAIN
from lnlab.experiments.draw import PAPER

PAPER_RATE = "both at the paper's learning rate"
TUNED_TOO = "with the tuned initialization"  # these runs are measured every 250 updates


class DrawRuns(run_groups.Runs):
    """The recorded runs of section 6.4."""

    EXPERIMENT, MEASURE = "draw", "test_bound"
    GROUPS: ClassVar = {
        MAIN: {},
        PAPER_RATE: {"learning_rate": PAPER["learning_rate"][0]},
        TUNED_TOO: {"epochs": 32},
        "16 glimpses": {"glimpses": 16},
        "batch size 8": {"batch_size": 8},
    }
    EARLY = 500  # updates before which all arms only clear the background

    def __init__(self, records: Sequence[Mapping[str, Any]], task: Any) -> None:
        super().__init__(records, task)
        selected, main = self.GROUPS[PAPER_RATE].items(), self.records_by_group.get(MAIN, ())
        if runs := [run for run in main if selected <= run["settings"].items()]:
            self.groups[PAPER_RATE] = task.at_best_rates(runs)
            self.records_by_group[PAPER_RATE] = runs
