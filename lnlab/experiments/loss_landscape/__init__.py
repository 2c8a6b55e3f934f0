"""Is the loss smoother with a norm? Measured as Santurkar et al. (2018) did for batch norm.

The paper has no experiment on this, but tutorials claim it for layer norm. A network is trained on
digits by plain SGD, with each norm and without one, at several learning rates, from
the same initial weights. During training, the run evaluates loss and gradient along the direction
of the gradient. It also updates only the lower layers, to measure how much the gradients of the
layers above them change.
"""

import dataclasses
from typing import Literal, get_args

from lnlab import config
from lnlab.config import Count, Fraction, NotNegative, Points, Positive, Widths
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "batch", "layer", "rms"]
NORMS = get_args(Norm)
RATES = (0.03, 0.1, 0.3, 1.0, 3.0)  # learning rates of SGD


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: Norm of the hidden layers.
        data: Data set; each image of a digit is flattened to a vector.
        hidden: Widths of the hidden layers, which have ReLU activations.
        learning_rate: Learning rate of plain SGD.
        eps: Constant added to the variance in the norms.
        train_examples: Maximum number of training examples; the first ones are used.
        measured_examples: Number of training examples on which the NLL and the smoothness of the
            loss are measured; the first ones are used.
    """

    norm: Norm = "layer"
    data: Literal["digits"] = "digits"
    hidden: Widths = (64, 64, 64)
    epochs: Count = 10
    batch_size: Count = 32
    learning_rate: Positive = 0.1
    eps: NotNegative = 1e-5
    momentum: Fraction = 0.1
    train_examples: Count = 55_000
    measured_examples: Count = 256
    first_epoch_points: Points = 3


EXPERIMENT = Experiment(
    name="landscape",
    about="ours: smoothness of the loss with each norm, and effect of lower layers on upper ones",
    paper={"section": "3", "task": "ours, not the paper's"},
    settings=Settings,
    key="{norm}-rate{learning_rate}",
    label="{norm}, rate {learning_rate:g}",
    run="lnlab.experiments.loss_landscape.run:LandscapeRun",
    loss=("batch_nll", "nats"),
    measures={
        "train_nll": "nats",
        "test_nll": "nats",
        "test_error": "fraction",
        "loss_range": "nats",
        "gradient_length": "nats per unit of a parameter",
        "gradient_change": "nats per unit of a parameter",
        "smoothness": "nats per square unit of a parameter",
        "shift_#": "lengths of the gradient",
        "moments_#": "deviations",
    },
    primary_metric="test_error",
    sweep_axes={"norm": NORMS, "learning_rate": (0.1,)},
    defaults={"seeds": 3},
    grids=(Grid(range(3), {"learning_rate": RATES}),),
    threads=1,
    table="lnlab.experiments.loss_landscape.results:TASK.text",
)
