"""How runs of section 6.2 are compared, as in figure 2: by their error on validation."""

from __future__ import annotations

from collections.abc import Sequence

from lnlab.experiments._arms import Record
from lnlab.experiments._task import LAYER, STARTS, Measure, Task, curve, lowest
from lnlab.experiments.attentive_reader import HEURISTICS, Settings

SMALL, BATCH, EVERYWHERE = "layer, gain 0.1", "batch norm in the LSTM", "batch norm everywhere"

TASK = Task(
    Settings,
    lowest("val_error"),
    "error on validation",
    STARTS
    | {
        SMALL: STARTS[LAYER] | {"gain": 0.1},
        BATCH: {"norm": "batch", "gain": 0.1},
        EVERYWHERE: {"norm": "batch_everywhere", "gain": 0.1},
    },
    tuple(
        Measure(f"{words}, %", lambda run, name=name: 100 * TASK.at_best(run, name))
        for name, words in (
            ("val_error", "error on validation"),
            ("test_error", "test error"),
            ("val_longer_error", "validation, longer passages"),
            ("test_longer_error", "test, longer passages"),
        )
    ),
    lambda run: run["data"]["cases"]["train_questions"] // run["settings"]["batch_size"],
    "%",
    100,
    others={"validation NLL": lowest("val_nll")},
)


def text(records: Sequence[Record]) -> str:
    """Return the tables as they are printed, with the errors of those who do not read."""
    lines = [TASK.text(records), "", "Errors of those who do not read, validation and test (%):"]
    for name in HEURISTICS:
        of = [100 * curve(records[0], f"{split}_{name}_error")[0] for split in ("val", "test")]
        lines.append(f"  {name.replace('_', ' '):<18} {of[0]:6.1f} {of[1]:6.1f}")
    return "\n".join(lines)
