"""Section 6.7, convolutional networks: where the paper finds batch norm better than layer norm.

The paper does not state the network, the data or any numbers. Here, a network with three
convolutions is trained on Fashion-MNIST or MNIST, with each norm and without one. The explanation
of the paper is measured, too: units whose receptive fields lie near the border "are rarely turned
on and thus have very different statistics from the rest".
"""

import dataclasses
from typing import Annotated, Any, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Fraction, NotNegative, Points, Positive, Widths, integer
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "batch", "layer", "channel", "group", "instance"]
Initialization = Literal["uniform", "he"]
NORMS = get_args(Norm)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep
SIDE = 28  # pixels
# The paper does not state any sizes: these are a wider network and nearly all of the data.
PAPER = {
    "data": "fashion_mnist",
    "channels": (64, 128, 128),
    "train_examples": 55_000,
    "val_examples": 5_000,
    "batch_size": 128,
    "epochs": 20,
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: Norm after each convolution, defined by the axes over which it normalizes: ``layer``,
            channels and positions; ``channel``, the channels at each position; ``group``, positions
            and a quarter of the channels; ``instance``, the positions of each channel; ``batch``,
            positions and examples in the batch.
        data: Data set; ``fashion_small`` has 10,000 images of Fashion-MNIST.
        channels: Number of output channels of each of the three convolutions; the last two have
            stride 2.
        crop: Number of pixels cropped from each side of the images; 4 removes the empty border of
            MNIST.
        padding: Values of the padding of the convolutions: ``zeros``, or the nearest pixel with
            ``replicate``.
        initialization: Distribution of the initial weights: ``uniform`` in +-1/sqrt(fan_in), as in
            PyTorch, or ``he``, normal with standard deviation sqrt(2/fan_in). Biases are
            initialized to 0, gains to 1.
        learning_rate: Learning rate of Adam.
        train_examples: Number of training examples, taken from the beginning of the training set.
        val_examples: Number of validation examples, on which the learning rate is chosen; they are
            taken from the end of the training set.
        eps: Constant added to the variance in the norms.
        maps: Whether to record, for each unit (each position of each channel), how often its ReLU
            is active, and the mean and standard deviation of the inputs to its ReLU and to its
            norm.
        mapped_examples: Number of validation examples on which ``maps`` are computed; the first
            ones are used.
    """

    norm: Norm = "layer"
    data: Literal["fashion_small", "fashion_mnist", "mnist"] = "fashion_small"
    channels: Widths = (16, 32, 32)
    crop: Annotated[int, integer(0)] = 0
    padding: Literal["zeros", "replicate"] = "zeros"
    initialization: Initialization = "uniform"
    epochs: Count = 10
    batch_size: Count = 64
    learning_rate: Positive = 1e-3
    train_examples: Count = 7_000
    val_examples: Count = 1_000
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    momentum: Fraction = 0.1
    first_epoch_points: Points = 8
    maps: bool = False
    mapped_examples: Count = 500

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._must("channels", "three numbers", len(self.channels) == 3)
        self._must("crop", f"below {SIDE // 2 - 3}, or little is left", self.crop < SIDE // 2 - 3)
        if self.norm == "group":
            quarters = all(width % 4 == 0 for width in self.channels)
            self._must("channels", "multiples of 4 where norm is group", quarters)


def _with_he(**overrides: Any) -> tuple[Grid, Grid]:
    """Return runs with each norm, and runs without a norm from He initialization."""
    he = {"norm": ("none",), "initialization": "he"}
    return Grid(range(3), {"norm": NORMS, **overrides}), Grid(range(3), {**overrides, **he})


RECORDED = (
    *(
        Grid(range(1), {"norm": ("none", "batch", "layer"), "learning_rate": (3e-3,), "data": name,
                        "crop": crop, "epochs": 3, "first_epoch_points": 1, "maps": True})
        for name in ("fashion_small", "mnist")
        for crop in (0, 4)
    ),
    *_with_he(learning_rate=RATES),
    *_with_he(learning_rate=(1e-4,)),  # for arms whose best rate is the lowest of RATES
    # On MNIST, evaluated on all 10,000 test images; fashion_small has a fifth of those of
    # Fashion-MNIST.
    Grid(range(3), {"norm": ("none", "batch", "layer"), "learning_rate": (3e-4, 1e-3, 3e-3),
                    "data": "mnist"}),
)  # fmt: skip

EXPERIMENT = Experiment(
    name="convnet",
    about="section 6.7: convolutional networks with each norm, and their units near the border",
    paper={"section": "6.7"},
    settings=Settings,
    key="{norm}-{initialization}-b{batch_size}-rate{learning_rate}",
    label="{norm} ({initialization}), batch {batch_size}, rate {learning_rate:g}",
    run="lnlab.experiments.convnet.run:ConvnetRun",
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
