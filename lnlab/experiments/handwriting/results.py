"""Comparison of the runs of section 6.5, by their loss on lines of new writers."""

from lnlab.experiments._task import STARTS, Measure, Task, lowest
from lnlab.experiments.handwriting import MAIN, MEASURED, Settings

_DESCRIPTIONS = {
    "train": "training lines",
    "val_seen": "lines of known writers",
    "val_new": "lines of new writers",
    "test_new": "test lines of new writers",
}

TASK = Task(
    settings=lambda: Settings(**MAIN),
    score=lowest("val_new_nll"),
    score_name="loss on new writers",
    arms=STARTS,
    measures=tuple(
        Measure(
            f"{_DESCRIPTIONS[split]}, {unit}",
            lambda run, name=f"{split}_{what}": TASK.at_best(run, name),
            digits=3,
        )
        for what, unit in (
            ("nll", "nats"),
            ("window_distance", "characters"),
            # For older records, in which the padding of shorter texts counts, too.
            ("window_off", "characters and filling"),
        )
        for split in MEASURED
    ),
    unit="nats per point",
    others={"loss on known writers": lowest("val_seen_nll"), "training loss": lowest("batch_nll")},
    others_count=True,
)
