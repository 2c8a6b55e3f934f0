"""Comparison of the runs of section 6.4 by validation bound; the bound on test is reported."""

import numpy as np

from lnlab.experiments._arms import Record
from lnlab.experiments._task import STARTS, Measure, Task, curve, lowest
from lnlab.experiments.draw import MAIN, Settings


def final(run: Record) -> float:
    """Return the bound of all test images at the end, in nats; NaN if the run has diverged."""
    return float(curve(run, "test_bound_of_all")[-1])


TASK = Task(
    settings=lambda: Settings(**MAIN),
    score=lowest("val_bound"),
    score_name="validation bound",
    arms=STARTS,
    measures=(
        Measure("bound on validation, nats", lambda run: np.nanmin(curve(run, "val_bound"))),
        Measure("of all test images at the end", final),
    ),
)
