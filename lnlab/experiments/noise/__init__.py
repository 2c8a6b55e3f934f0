"""Section 6.6 watched from inside: what each norm computes from four cases, and what it should.

The paper has no experiment on it. While a network of section 6.6 trains, its run measures the
statistics that batch norm takes from its batches beside those of all cases, how far one case moves
with the others of its batch, how noisy the gradient is, and what the running averages are worth.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal, get_args

from lnlab.config import Count, Points, integer
from lnlab.experiment import Experiment, Grid
from lnlab.experiments import mnist

Norm = Literal["batch", "layer", "none"]
NORMS = get_args(Norm)


@dataclasses.dataclass(frozen=True)
class Settings(mnist.Settings):
    """Settings of a run; those not named here are as in section 6.6.

    Args:
        norm: Of the hidden layers, and batch norm of the logits too.
        gradient_batches: Batches from which mean and variance of the gradient are taken, all of
            different cases; fewer if the data end before.
        statistics_cases: Training cases over which the statistics of summed inputs are taken;
            fewer if the data end before.
    """

    norm: Norm = "batch"
    batch_size: Count = 4
    epochs: Count = 3
    first_epoch_points: Points = 9
    gradient_batches: Annotated[int, integer(2)] = 1000  # a variance needs two
    statistics_cases: Count = 10_000

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return (*super().unused, *(["statistics_cases"] if self.norm == "none" else []))


EXPERIMENT = Experiment(
    name="noise",
    about="ours, inside section 6.6: what each norm sees in four cases, the gradient's noise",
    paper={"section": "6.6", "task": "ours, not the paper's"},
    settings=Settings,
    key=mnist.EXPERIMENT.key,
    label="noise, {norm}, batch {batch_size}",
    run="lnlab.experiments.noise.run:Run",
    loss=mnist.EXPERIMENT.loss,
    measures={
        **mnist.EXPERIMENT.measures,
        **{f"{statistics}_nll": "nats" for statistics in ("batches", "averages", "true")},
        **{f"{statistics}_error": "fraction" for statistics in ("batches", "averages", "true")},
        "gradient_noise": "batches",
        "gradient_length": "nats per unit of a parameter",
        **{f"{name}_#": "deviations" for name in ("miss", "kept_miss", "kept_mean", "kept_std")},
        "moves_#": "normalized units",
    },
    arrays={"mean_#": "deviations", "std_#": "deviations"},
    primary_metric="test_error",
    sweep_axes={"norm": NORMS},
    defaults={"seeds": 3},
    steps=mnist.EXPERIMENT.steps,
    grids=(Grid(range(1), {"epochs": 20}, on_gpu={}),),
    threads=1,
)
