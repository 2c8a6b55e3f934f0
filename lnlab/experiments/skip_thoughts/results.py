"""Comparison of the runs of section 6.3, by their loss and by the tasks of table 3."""

import numpy as np

from lnlab.experiments._arms import Record
from lnlab.experiments._task import LAYER, NO_NORM, TUNED_INIT, Measure, Task, curve, lowest
from lnlab.experiments.skip_thoughts import TASKS, Settings

_TITLES = {
    "mr": "MR{}, %",
    "cr": "CR{}, %",
    "subj": "SUBJ{}, %",
    "caption_pairs": "captions{}, AUC in %",
}
# What is evaluated on a task, and when, in words; the prefix of the curve, and the point.
_EVALUATED = (
    ("", " at the end", "", -1),
    ("untrained: ", "", "", 0),
    ("words: ", " at the end", "bag_", -1),
)


def scored(run: Record, name: str) -> np.ndarray:
    """Return the measured values of a task in percent, the first of the untrained encoder."""
    values = 100 * curve(run, name) if name in run["curves"] else np.array([])
    return values[~np.isnan(values)]


def _at(index: int, name: str, run: Record) -> float:
    result = scored(run, name)
    return float(result[index]) if len(result) else np.nan


TASK = Task(
    settings=Settings,
    score=lowest("val_nll"),
    score_name="loss on held-out chapters",
    arms={
        NO_NORM: {"norm": "none", "start": "code"},
        TUNED_INIT: {"norm": "none", "start": "scaled"},
        LAYER: {"norm": "layer", "gain": 1.0},
    },
    measures=(
        Measure("loss, nats per word", lambda run: np.nanmin(curve(run, "val_nll")), digits=3),
        *(
            Measure(
                f"{kind}{_TITLES[task].format(when)}",
                lambda run, n=prefix + task, k=k: _at(k, n, run),
                better=1,
            )
            for task in TASKS
            for kind, when, prefix, k in _EVALUATED
        ),
    ),
    unit="nats per word",
)
