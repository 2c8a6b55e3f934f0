"""Comparison of the runs of section 6.7, by error and by NLL, since the paper names no metric."""

from lnlab.experiments._task import NO_NORM, TUNED_INIT, Measure, Task, lowest
from lnlab.experiments.convnet import NORMS, Settings

LAYERS = (1, 2, 3)
NLL = "validation NLL"

TASK = Task(
    settings=Settings,
    score=lowest("val_error"),
    score_name="validation error",
    arms={
        NO_NORM: {"norm": "none", "initialization": "uniform"},
        TUNED_INIT: {"norm": "none", "initialization": "he"},
    }
    | {norm: {"norm": norm, "initialization": "uniform"} for norm in NORMS[1:]},
    measures=(
        Measure("test error, %", lambda run: 100 * TASK.at_best(run, "test_error")),
        Measure("test NLL, nats", lambda run: TASK.at_best(run, "test_nll"), digits=3),
        *(
            Measure(
                f"activity of border units, layer {k}, % of interior",
                lambda run, k=k: (
                    100 * (TASK.at_best(run, f"border_on_{k}") / TASK.at_best(run, f"inner_on_{k}"))
                ),
                digits=0,
            )
            for k in LAYERS
        ),
    ),
    per_epoch=lambda run: run["data"]["cases"]["train"] // run["settings"]["batch_size"],
    unit="%",
    factor=100,
    others={NLL: lowest("val_nll")},
    others_count=True,
)
