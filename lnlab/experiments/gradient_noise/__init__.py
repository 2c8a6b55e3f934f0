"""Noise in section 6.6: the statistics and gradients of each norm at batch size 4.

The paper has no experiment on this. During training of the network of section 6.6, the run compares
the statistics of single batches with those of all examples. It also measures how much the output
for an example depends on the other examples in its batch, the noise of the gradient, and the
accuracy of the running averages.
"""

import dataclasses
from typing import Annotated, Literal, get_args

from lnlab.config import Count, Points, integer
from lnlab.experiment import Experiment, Grid
from lnlab.experiments import mnist

Norm = Literal["batch", "layer", "none"]
NORMS = get_args(Norm)


@dataclasses.dataclass(frozen=True)
class Settings(mnist.Settings):
    """Settings of a run; those that are not described here are the same as in section 6.6.

    Args:
        norm: Norm of the hidden layers. Batch norm is also applied to the logits.
        gradient_batches: Maximum number of batches of distinct examples from which the mean and the
            variance of the gradient are estimated.
        statistics_examples: Maximum number of training examples on which the statistics of the
            summed inputs are computed.
    """

    norm: Norm = "batch"
    batch_size: Count = 4
    epochs: Count = 3
    first_epoch_points: Points = 9
    gradient_batches: Annotated[int, integer(2)] = 1000  # a variance needs at least two
    statistics_examples: Count = 10_000

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return (*super().unused, *(["statistics_examples"] if self.norm == "none" else []))


EXPERIMENT = Experiment(
    name="noise",
    about="ours, on section 6.6: noise of batch statistics and gradients at batch size 4",
    paper={"section": "6.6", "task": "ours, not the paper's"},
    settings=Settings,
    key=mnist.EXPERIMENT.key,
    label="noise, {norm}, batch {batch_size}",
    run="lnlab.experiments.gradient_noise.run:GradientNoiseRun",
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
