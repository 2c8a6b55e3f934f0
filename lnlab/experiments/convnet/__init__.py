"""Section 6.7, convolutional networks: where the paper finds batch norm ahead of layer norm.

The paper names no network, no data and no figure. Here one with three convolutions is trained on
Fashion-MNIST, or on MNIST, with each norm and without, and what the paper gives as the reason is
measured: units whose receptive fields lie near the border "are rarely turned on and thus have very
different statistics from the rest".
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Fraction, NotNegative, Points, Positive, Widths, integer
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "batch", "layer", "channel", "group", "instance"]
Start = Literal["uniform", "he"]
NORMS = get_args(Norm)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep
SIDE = 28  # pixels
# The paper names no sizes: a wider network, and nearly all of the data.
PAPER = {
    "data": "fashion_mnist",
    "channels": (64, 128, 128),
    "train_cases": 55_000,
    "val_cases": 5_000,
    "batch_size": 128,
    "epochs": 20,
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: After each convolution: ``layer`` over channels and places, ``channel`` over the
            channels of one place alone, ``group`` over places and a quarter of the channels,
            ``instance`` over the places of one channel, ``batch`` over places and batch.
        data: ``fashion_small`` is 10,000 of Fashion-MNIST's pictures.
        channels: Of each convolution, the last two with stride 2.
        cut: Pixels that each side of the pictures loses; 4 takes away MNIST's empty border.
        padding: What the convolutions see beyond the border: ``zeros``, or the nearest pixel.
        initialization: Of the weights: ``uniform`` in +-1/sqrt(fan in), as PyTorch does, or
            ``he``, normal with deviation sqrt(2/fan in). Biases start at 0, gains at 1.
        epochs: Passes over the training cases.
        batch_size: Batch size; a last, smaller batch of an epoch is dropped.
        learning_rate: Adam's learning rate.
        train_cases: The first so many training cases.
        val_cases: The last so many training cases: on these the learning rate is chosen.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Added to the variance in the norms.
        momentum: Weight of the newest batch in batch norm's running averages.
        first_epoch_points: Number of measurements within the first epoch.
        maps: Keep for each unit, each place of each channel, how often it is on, and mean and
            standard deviation of what goes into its ReLU, and into its norm.
        mapped_cases: Validation cases on which that is measured: the first so many.
    """

    norm: Norm = "layer"
    data: Literal["fashion_small", "fashion_mnist", "mnist"] = "fashion_small"
    channels: Widths = (16, 32, 32)
    cut: Annotated[int, integer(0)] = 0
    padding: Literal["zeros", "replicate"] = "zeros"
    initialization: Start = "uniform"
    epochs: Count = 10
    batch_size: Count = 64
    learning_rate: Positive = 1e-3
    train_cases: Count = 7_000
    val_cases: Count = 1_000
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    momentum: Fraction = 0.1
    first_epoch_points: Points = 8
    maps: bool = False
    mapped_cases: Count = 500

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._must("channels", "three numbers", len(self.channels) == 3)
        self._must("cut", f"below {SIDE // 2 - 3}, or little is left", self.cut < SIDE // 2 - 3)
        if self.norm == "group":
            quarters = all(width % 4 == 0 for width in self.channels)
            self._must("channels", "multiples of 4 where norm is group", quarters)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        no_eps = ("eps",) if self.norm == "none" else ()
        return no_eps + (() if self.norm == "batch" else ("momentum",))


def _with_he(**overrides: Any) -> tuple[Grid, Grid]:
    """Return runs of all norms, and of none from He's weights."""
    he = {"norm": ("none",), "initialization": "he"}
    return Grid(range(3), {"norm": NORMS, **overrides}), Grid(range(3), {**overrides, **he})


RECORDED = (
    *(
        Grid(range(1), {"norm": ("none", "batch", "layer"), "learning_rate": (3e-3,), "data": name,
                        "cut": cut, "epochs": 3, "first_epoch_points": 1, "maps": True})
        for name in ("fashion_small", "mnist")
        for cut in (0, 4)
    ),
    *_with_he(learning_rate=RATES),
    *_with_he(learning_rate=(1e-4,)),  # for those that are best at the lowest
    # On MNIST, whose whole test set of 10,000 images is at hand; of Fashion-MNIST's it is a fifth.
    Grid(range(3), {"norm": ("none", "batch", "layer"), "learning_rate": (3e-4, 1e-3, 3e-3),
                    "data": "mnist"}),
)  # fmt: skip

EXPERIMENT = Experiment(
    name="convnet",
    about="section 6.7: a convolutional network with each norm, and its units at the border",
    paper={"section": "6.7"},
    settings=Settings,
    key="{norm}-{initialization}-b{batch_size}-rate{learning_rate}",
    label="{norm} ({initialization}), batch {batch_size}, rate {learning_rate:g}",
    run="lnlab.experiments.convnet.run:Run",
    loss=("batch_nll", "nats"),
    measures={
        "val_nll": "nats",
        "val_error": "fraction",
        "test_nll": "nats",
        "test_error": "fraction",
        "border_on_#": "fraction",
        "inner_on_#": "fraction",
        "border_deviation_#": "inner deviations",
    },
    arrays={
        "ink": "255ths",
        "on_#": "255ths",
        "mean_#": "summed input",
        "deviation_#": "summed input",
        "before_mean_#": "summed input",
        "before_deviation_#": "summed input",
    },
    primary_metric="val_error",
    sweep_axes={"norm": NORMS, "learning_rate": (1e-3,), "batch_size": (64,)},
    defaults={"seeds": 3},
    scales={"paper": PAPER},
    grids=RECORDED,
    threads=1,
    table="lnlab.experiments.convnet.results:TASK.text",
)
