"""Section 6.6, figure 6: permutation-invariant MNIST with batches of 128 and of 4.

A 784-1000-1000-10 network with ReLU, trained by Adam on 55,000 cases. Batch norm stands on all
layers, the logits included, with the unbiased variance at batch size 4; layer norm stands on the
hidden layers alone. What the paper leaves open is a field of :class:`Settings`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Fraction, NotNegative, Points, Positive, Widths
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "batch", "layer", "weight"]
NORMS = get_args(Norm)
# The paper's widths, and narrower ones for a data set of a fortieth of the size.
HIDDEN = {"mnist": (1000, 1000), "digits": (200, 200)}
SEEDS = range(10)  # of figure 6 in the book
FIGURE_6 = {"norm": ("layer", "batch", "none"), "epochs": 60}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    The paper gives the network, the optimizer's name, the number of training cases, the batch
    sizes, and where each norm stands. The rest is ours.

    Args:
        norm: Of the hidden layers, and batch and weight norm of the logits too; ``weight`` is
            beyond the paper.
        batch_size: 128 and 4 in the paper. A last, smaller batch of an epoch is dropped.
        epochs: Passes over the training cases; the paper's figure has about 60.
        data: ``digits`` is the small set that comes with scikit-learn.
        hidden: Widths of the hidden layers. ``None`` takes 1000 1000 for ``mnist``, as the paper,
            and 200 200 for ``digits``.
        train_cases: The first so many training cases (55,000 in the paper), at most all.
        learning_rate: Adam's; the paper does not give it.
        adam_betas: Adam's decay rates, at the defaults of Adam's paper.
        adam_eps: Adam's epsilon, likewise.
        eps: Added to the variance in batch and layer norm; the paper's equations have none.
        variance: Batch norm's in training: ``biased``, ``unbiased``, or ``paper``, which is
            unbiased below batch size 128 ("for the smaller batch-size").
        momentum: Weight of the newest batch in batch norm's running averages.
        initialization: Of the weights: ``uniform`` in +-1/sqrt(fan in), as PyTorch does, or
            ``he``, normal with deviation sqrt(2/fan in). Biases start at 0, gains at 1.
        measured_cases: Training cases on which the test-time NLL is measured: the first so many,
            and no more than there are test cases.
        first_epoch_points: Number of measurements within the first epoch.
    """

    norm: Norm = "layer"
    batch_size: Count = 128
    epochs: Count = 5
    data: Literal["mnist", "digits"] = "mnist"
    hidden: Widths | None = None
    train_cases: Count = 55_000
    learning_rate: Positive = 1e-3
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    variance: Literal["paper", "biased", "unbiased"] = "paper"
    momentum: Fraction = 0.1
    initialization: Literal["uniform", "he"] = "uniform"
    measured_cases: Count = 10_000
    first_epoch_points: Points = 20

    def __post_init__(self) -> None:
        """Check the settings, and set the default widths."""
        super().__post_init__()
        self._default("hidden", HIDDEN[self.data])
        if self.norm == "batch" and self.batch_size < 2:
            raise ValueError(
                "Settings: batch_size must be at least 2 where norm is batch, got 1; the variance "
                "of one case is 0 (layer norm has no such limit)"
            )

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        of_batch = () if self.norm == "batch" else ("variance", "momentum")
        return of_batch if self.norm in ("batch", "layer") else (*of_batch, "eps")

    @property
    def unbiased(self) -> bool:
        """Whether batch norm divides by B - 1 in training."""
        return self.variance == "unbiased" or (self.variance == "paper" and self.batch_size < 128)


EXPERIMENT = Experiment(
    name="mnist",
    about="the paper's section 6.6, figure 6: batches of 128 and of 4",
    paper={"section": "6.6", "figure": "6"},
    settings=Settings,
    key="{norm}-b{batch_size}",
    label="{norm}, batch {batch_size}",
    run="lnlab.experiments.mnist.run:Run",
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
    # Batch norm of one case is nothing to ask for, where there are other norms.
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
            replaced=True,
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
    # The paper's figure 6: as many epochs as it shows.
    planned=(Grid(range(5), {**FIGURE_6, "batch_size": (4,)}, on_gpu={}),),
)
