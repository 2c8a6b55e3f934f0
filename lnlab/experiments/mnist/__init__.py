"""Section 6.6, figure 6: permutation-invariant MNIST with batches of 128 and of 4.

A 784-1000-1000-10 network with ReLU is trained by Adam on 55,000 examples. Batch norm is applied to
all layers, including the logits, with the unbiased variance at batch size 4; layer norm is applied
to the hidden layers only. What the paper leaves open is a field of :class:`Settings`.
"""

import dataclasses
from typing import Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Fraction, NotNegative, Points, Positive, Widths
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "batch", "layer", "weight"]
NORMS = get_args(Norm)
# The paper's widths, and smaller ones for a data set that is one fortieth the size of MNIST.
HIDDEN = {"mnist": (1000, 1000), "digits": (200, 200)}
SEEDS = range(10)  # seeds of figure 6 in the book
FIGURE_6 = {"norm": ("layer", "batch", "none"), "epochs": 60}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    The paper states the network, the name of the optimizer, the number of training examples, the
    batch sizes and the layers that have a norm. The other settings are ours.

    Args:
        norm: Norm of the hidden layers. Batch norm and weight norm are also applied to the logits;
            ``weight`` is not in the paper.
        batch_size: Number of examples per update; 128 and 4 in the paper. A last, smaller batch of
            an epoch is dropped.
        epochs: Number of passes over the training examples; about 60 in the paper's figure.
        data: Data set; ``digits`` is the small one that comes with scikit-learn.
        hidden: Widths of the hidden layers. ``None`` stands for 1000 1000 with ``mnist``, as in the
            paper, and for 200 200 with ``digits``.
        train_examples: Maximum number of training examples (55,000 in the paper); the first ones
            are used.
        learning_rate: Learning rate of Adam, which the paper does not state.
        adam_betas: Decay rates of Adam's running averages of the gradient and of its square; the
            defaults are those of Adam's paper.
        adam_eps: Constant added to the denominator of Adam's update for numerical stability; the
            default is that of Adam's paper.
        eps: Constant added to the variance in batch and layer norm; the paper's equations have no
            such constant.
        variance: Variance that batch norm divides by in training: ``biased``, ``unbiased``, or
            ``paper``, which is unbiased for batch sizes below 128 ("for the smaller batch-size").
        initialization: Distribution of the initial weights: ``uniform`` in +-1/sqrt(fan_in), as in
            PyTorch, or ``he``, normal with standard deviation sqrt(2/fan_in). Biases are
            initialized to 0, gains to 1.
        measured_examples: Maximum number of training examples on which the training NLL is
            evaluated; the first ones are used, at most as many as there are test examples.
    """

    norm: Norm = "layer"
    batch_size: Count = 128
    epochs: Count = 5
    data: Literal["mnist", "digits"] = "mnist"
    hidden: Widths | None = None
    train_examples: Count = 55_000
    learning_rate: Positive = 1e-3
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    variance: Literal["paper", "biased", "unbiased"] = "paper"
    momentum: Fraction = 0.1
    initialization: Literal["uniform", "he"] = "uniform"
    measured_examples: Count = 10_000
    first_epoch_points: Points = 20

    def __post_init__(self) -> None:
        """Check the settings, and set the default widths."""
        super().__post_init__()
        self._default("hidden", HIDDEN[self.data])
        if self.norm == "batch" and self.batch_size < 2:
            raise ValueError(
                "Settings: batch_size must be at least 2 where norm is batch, got 1; the variance "
                "of one example is 0 (layer norm has no such limit)"
            )

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        idle = {"variance": self.norm != "batch", "eps": self.norm == "weight"}
        return (*super().unused, *(name for name, is_idle in idle.items() if is_idle))

    @property
    def unbiased(self) -> bool:
        """Whether batch norm divides by B - 1 in training."""
        return self.variance == "unbiased" or (self.variance == "paper" and self.batch_size < 128)


EXPERIMENT = Experiment(
    name="mnist",
    about="section 6.6, figure 6: permutation-invariant MNIST with batch sizes 128 and 4",
    paper={"section": "6.6", "figure": "6"},
    settings=Settings,
    key="{norm}-b{batch_size}",
    label="{norm}, batch {batch_size}",
    run="lnlab.experiments.mnist.run:MNISTRun",
    loss=("batch_nll", "nats"),
    measures={"train_nll": "nats", "test_nll": "nats", "test_error": "fraction"},
    primary_metric="test_error",
    sweep_axes={
        "learning_rate": (1e-3,),
        "batch_size": (4, 128),
        "norm": ("layer", "batch", "none"),
    },
    defaults={"epochs": 20, "seeds": 3},
    on_gpu={"epochs": 60, "seeds": 10},
    scales={"paper": {"epochs": 60}},
    # In a grid with several norms, leave out batch norm at batch size 1.
    skip_combination=lambda run, runs: (
        (run["norm"], run["batch_size"]) == ("batch", 1) and {r["norm"] for r in runs} != {"batch"}
    ),
    steps=("plain", "compiled"),
    grids=(
        Grid(SEEDS, {**FIGURE_6, "batch_size": (128,)}, on_gpu={}),
        Grid(
            SEEDS,
            {"norm": FIGURE_6["norm"], "batch_size": (4,)},
            on_gpu={"seeds": range(10)},
        ),
        Grid(
            SEEDS,
            {"norm": ("weight",), "batch_size": (128, 4)},
            on_gpu={"seeds": range(10)},
        ),
        Grid(
            range(3),
            {"batch_size": (4,), "learning_rate": (1e-4, 3e-4, 3e-3), "epochs": 1},
            on_gpu={},
        ),
        Grid(range(3), {"batch_size": (1, 2, 8, 16, 32, 64, 256), "epochs": 1}, on_gpu={}),
    ),
    # As many epochs as in the paper's figure 6. The ten seeds of five epochs stay: fewer would be
    # counted, not tested.
    planned=(Grid(range(5), {**FIGURE_6, "batch_size": (4,)}, on_gpu={}),),
)
