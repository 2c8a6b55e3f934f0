"""Comparison of the runs of section 6.2, by their validation error as in figure 2."""

import dataclasses
from collections.abc import Sequence

from lnlab.experiments._arms import Record
from lnlab.experiments._task import LAYER, NO_NORM, STARTS, Measure, Task, curve, lowest
from lnlab.experiments.attentive_reader import EPOCHS_25, EPOCHS_40, HEURISTICS, RELEASED, Settings

SMALL_GAIN = "layer, gain 0.1"
BATCH_LSTM, BATCH_EVERYWHERE = "batch norm in the LSTM", "batch norm everywhere"

TASK = Task(
    lambda: Settings(**EPOCHS_40),
    lowest("val_error"),
    "validation error",
    STARTS
    | {
        SMALL_GAIN: STARTS[LAYER] | {"gain": 0.1},
        BATCH_LSTM: {"norm": "batch", "gain": 0.1},
        BATCH_EVERYWHERE: {"norm": "batch_everywhere", "gain": 0.1},
    },
    tuple(
        Measure(f"{description}, %", lambda run, name=name: 100 * TASK.at_best(run, name))
        for name, description in (
            ("val_error", "validation error"),
            ("test_error", "test error"),
            ("val_longer_error", "validation, longer passages"),
            ("test_longer_error", "test, longer passages"),
        )
    ),
    lambda run: run["data"]["cases"]["train_questions"] // run["settings"]["batch_size"],
    "%",
    100,
    others={"validation NLL": lowest("val_nll")},
    shorter=EPOCHS_25["epochs"],
)

_OPTIONS = {name: value for name, value in RELEASED.items() if name != "start"}
#: The second protocol, that of the public code.
RELEASED_TASK = dataclasses.replace(
    TASK,
    settings=lambda: Settings(**EPOCHS_25, **_OPTIONS),
    arms={
        NO_NORM: {"norm": "none", "start": "orthogonal_tied"},
        LAYER: {"norm": "layer", "start": "orthogonal_tied", "gain": 1.0},
    },
    shorter=None,
)


def text(records: Sequence[Record]) -> str:
    """Return the tables as text, with the errors of the heuristic baselines."""
    lines = [TASK.text(records), "", "Errors of heuristic baselines, validation and test (%):"]
    for name in HEURISTICS:
        val, test = (100 * curve(records[0], f"{s}_{name}_error")[0] for s in ("val", "test"))
        lines.append(f"  {name.replace('_', ' '):<18} {val:6.1f} {test:6.1f}")
    return "\n".join(lines)
