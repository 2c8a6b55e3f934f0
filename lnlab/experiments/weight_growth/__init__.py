"""Section 5.2.2: growth of the weights during training, and how far an update rotates them.

The paper argues that, with a norm, the direction of large weights changes slowly, an "implicit
learning rate", but has no experiment on this. The task and the numbers here are ours: the network
of section 6.6 with narrower layers, trained on digits by plain SGD and by Adam.
"""

import dataclasses
from typing import ClassVar, Literal, get_args

from lnlab.config import Count, Points, Positive, Widths
from lnlab.experiment import Experiment, Grid
from lnlab.experiments import mnist

Norm = Literal["none", "layer", "batch"]
Optimizer = Literal["sgd", "adam"]
NORMS, OPTIMIZERS = get_args(Norm), get_args(Optimizer)
RATES = {"sgd": 0.1, "adam": 3e-3}
# Factors of the initial weights in the book: values other than 1 only with plain SGD.
SCALES = {"sgd": (1.0, 0.25, 4.0, 16.0), "adam": (1.0,)}


@dataclasses.dataclass(frozen=True)
class Settings(mnist.Settings):
    """Settings of a run; those that are not described here are the same as in section 6.6.

    Args:
        norm: Norm of the hidden layers. Batch norm is also applied to the logits.
        hidden: Widths of the hidden layers.
        optimizer: Optimizer: ``sgd``, without momentum, or ``adam``.
        scale: Factor by which the initial weights of the hidden layers are multiplied. With batch
            or layer norm, it does not change what the network computes, except through ``eps``.
        learning_rate: Learning rate of the optimizer. ``None`` stands for 0.1 with ``sgd`` and
            0.003 with ``adam``.
        magnitude: ``fixed`` rescales the weights of each hidden layer to their initial Euclidean
            norm after every update; with batch or layer norm, this does not change what the network
            computes, except through ``eps``. ``None`` lets the norm of the weights grow.
    """

    norm: Norm = "layer"
    batch_size: Count = 32
    epochs: Count = 20
    data: Literal["mnist", "digits"] = "digits"
    hidden: Widths | None = (64, 64)
    learning_rate: Positive | None = None
    first_epoch_points: Points = 5
    optimizer: Optimizer = "sgd"
    scale: Positive = 1.0
    magnitude: Literal["fixed"] | None = None
    added: ClassVar = ("magnitude",)

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        self._default("learning_rate", RATES[self.optimizer])

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return (*super().unused, *(["adam_betas", "adam_eps"] if self.optimizer == "sgd" else []))


_UNDER_A_NORM = {"norm": ("layer", "batch"), "optimizer": ("sgd",), "scale": (1.0,)}

EXPERIMENT = Experiment(
    name="weights",
    about="ours, on section 5.2.2: growth of the weights, and how far an update rotates them",
    paper={"section": "5.2.2", "task": "ours, not the paper's"},
    settings=Settings,
    key="{norm}-{optimizer}-x{scale}",
    label="{norm}, {optimizer}, weights times {scale:g}",
    run="lnlab.experiments.weight_growth.run:WeightGrowthRun",
    loss=mnist.EXPERIMENT.loss,
    measures={
        **mnist.EXPERIMENT.measures,
        "length_#": "Euclidean norm",
        "square_#": "Euclidean norm",
        "turn_#": "degrees",
    },
    primary_metric="test_error",
    sweep_axes={
        "optimizer": OPTIMIZERS,
        "scale": lambda run: SCALES.get(run["optimizer"], (1.0,)),
        "norm": NORMS,
    },
    defaults={"seeds": 10},
    grids=(
        Grid(range(10)),
        # Does the growth of the weights stop learning? The same runs with weights of constant norm.
        Grid(range(10), {**_UNDER_A_NORM, "magnitude": "fixed"}),
    ),
    threads=1,
)
