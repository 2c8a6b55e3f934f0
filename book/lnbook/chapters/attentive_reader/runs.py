"""The recorded runs of section 6.2, grouped by the settings that all networks of a group share."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lnbook.figures import run_groups
from lnbook.figures.colors import COLORS
from lnbook.figures.run_groups import LAYER, MAIN, NO_NORM, TUNED_INIT
from lnlab.experiments.attentive_reader import EPOCHS_25

BATCH_LSTM, BATCH_EVERYWHERE = "batch norm in the LSTM", "batch norm everywhere"
SMALL_GAIN = "layer, gain 0.1"
WITH_BATCH_NORM = "25 epochs, with batch norm"
RELEASED_CODE = "settings of the public code"
SMALL_BATCHES, TWO_PASSAGES = "batches of 8 questions", "two passages per question"
SHORT_PASSAGES = "short training passages"


class AttentiveReaderRuns(run_groups.Runs):
    """The recorded runs of section 6.2.

    Args:
        records: As for :class:`~lnbook.figures.run_groups.Runs`.
        task: As for :class:`~lnbook.figures.run_groups.Runs`.
        released_task: The comparison of the runs with the settings of the public code.
    """

    EXPERIMENT, MEASURE = "attentive_reader", "val_error"
    GROUPS: ClassVar = {
        MAIN: {},
        WITH_BATCH_NORM: {"epochs": EPOCHS_25["epochs"]},
        RELEASED_CODE: {"bilinear": True},
        SMALL_BATCHES: {"batch_size": 8},
        TWO_PASSAGES: {"passages": 2},
        SHORT_PASSAGES: {"longest": 98},
    }
    EARLY = 400  # updates before which no network has a lower error than a random name
    STYLES: ClassVar = {
        NO_NORM: run_groups.STYLES[NO_NORM],
        TUNED_INIT: run_groups.STYLES[TUNED_INIT],
        BATCH_LSTM: ("batch norm in the LSTM", COLORS["batch"], "solid"),
        BATCH_EVERYWHERE: ("batch norm everywhere", COLORS["batch"], "dash"),
        SMALL_GAIN: ("layer norm (gain 0.1)", COLORS["layer"], "dash"),
        LAYER: run_groups.STYLES[LAYER],
    }

    def __init__(
        self,
        records: Sequence[Mapping[str, Any]],
        task: Any,
        released_task: Any = None,
    ) -> None:
        super().__init__(records, task)
        for changed, runs in released_task.run_groups(records) if released_task else ():
            if not changed:
                self.groups[RELEASED_CODE] = released_task.at_best_rates(runs)
                self.records_by_group[RELEASED_CODE] = runs
