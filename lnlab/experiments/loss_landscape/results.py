"""Comparison of the runs of the landscape experiment, by their training loss."""

from __future__ import annotations

from lnlab.experiments._task import Measure, Task, lowest
from lnlab.experiments.loss_landscape import NORMS, Settings

TASK = Task(
    Settings,
    lowest("train_nll"),
    "training NLL",
    {norm: {"norm": norm} for norm in NORMS},
    (
        Measure("training NLL, nats", lambda run: TASK.at_best(run, "train_nll"), digits=3),
        Measure("test error, %", lambda run: 100 * TASK.at_best(run, "test_error")),
    ),
    lambda run: run["data"]["cases"]["train"] // run["settings"]["batch_size"],
)
