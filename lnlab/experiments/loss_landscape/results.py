"""Comparison of the runs of the landscape experiment, by their training loss."""

from lnlab.experiments._task import Measure, Task, lowest
from lnlab.experiments.loss_landscape import NORMS, Settings

TASK = Task(
    settings=Settings,
    score=lowest("train_nll"),
    score_name="training NLL",
    arms={norm: {"norm": norm} for norm in NORMS},
    measures=(
        Measure("training NLL, nats", lambda run: TASK.at_best(run, "train_nll"), digits=3),
        Measure("test error, %", lambda run: 100 * TASK.at_best(run, "test_error")),
    ),
    per_epoch=lambda run: run["data"]["cases"]["train"] // run["settings"]["batch_size"],
)
