"""Section 5.2.2, watched: how long the weights grow in training, and how far an update turns them.

The paper argues that a norm makes long weights hard to turn, an "implicit learning rate", and has
no experiment on it. The task and the numbers here are ours: the network of section 6.6 with
narrower layers, on digits, trained by plain gradient descent and by Adam.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal, get_args

from lnlab.config import Count, Points, Positive, Widths
from lnlab.experiment import Experiment, Grid
from lnlab.experiments import mnist

Norm = Literal["none", "layer", "batch"]
Optimizer = Literal["sgd", "adam"]
NORMS, OPTIMIZERS = get_args(Norm), get_args(Optimizer)
RATES = {"sgd": 0.1, "adam": 3e-3}
# At the start, in the book: other lengths with plain gradient descent alone.
SCALES = {"sgd": (1.0, 0.25, 4.0, 16.0), "adam": (1.0,)}


@dataclasses.dataclass(frozen=True)
class Settings(mnist.Settings):
    """Settings of a run; those not named here are as in section 6.6.

    Args:
        norm: Of the hidden layers, and batch norm of the logits too.
        hidden: Widths of the hidden layers.
        optimizer: ``sgd``, plain gradient descent, or ``adam``.
        scale: The weights of the hidden layers start this many times as long. With a norm, and but
            for ``eps``, the network then computes the same.
        learning_rate: ``None`` takes 0.1 for ``sgd`` and 0.003 for ``adam``.
        magnitude: ``fixed`` rescales the weights of each hidden layer after every update to the
            Euclidean norm that they had at the start; with a norm, and but for ``eps``, that
            changes nothing of what the network computes. ``None`` lets them grow.
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
    about="ours, on section 5.2.2: how long the weights grow, how far an update turns them",
    paper={"section": "5.2.2", "task": "ours, not the paper's"},
    settings=Settings,
    key="{norm}-{optimizer}-x{scale}",
    label="{norm}, {optimizer}, weights times {scale:g}",
    run="lnlab.experiments.weights.run:Run",
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
        # Does the growth of the weights end learning? The same runs with weights that cannot grow.
        Grid(range(10), {**_UNDER_A_NORM, "magnitude": "fixed"}),
    ),
    threads=1,
)
