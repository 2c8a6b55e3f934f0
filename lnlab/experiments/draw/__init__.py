"""Section 6.4, DRAW: a generative model of digits that draws one glimpse at a time.

At each glimpse, an encoder LSTM reads a window of the image and encodes what the canvas lacks, and
a decoder LSTM writes to a window of the canvas (Gregor et al., 2015). The comparison is the
paper's: layer norm of the cell state only (eqs. 29-31) in both LSTMs, and no norm. The data are the
paper's, too, bit for bit. At laptop scale, the network is smaller and is trained for a twentieth of
the paper's number of passes over the images.
"""

import dataclasses
from typing import Annotated, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive, integer
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer"]
Initialization = Literal["usual", "chosen"]
NORMS, INITIALIZATIONS = get_args(Norm), get_args(Initialization)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep
# The rate of the sweep with the lowest validation bound, as the mean over the seeds.
TUNED = {("none", "usual"): 3e-3, ("none", "chosen"): 1e-2, ("layer", "usual"): 3e-3}
Window = Annotated[int, integer(2)]


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: ``none``, or ``layer`` for layer norm of the cell states of both LSTMs.
        start: Initialization of the LSTMs: ``usual``, all weights uniform in +-1/sqrt(hidden) as in
            ``torch.nn``; or ``chosen``, with an orthogonal recurrent matrix for each gate and input
            weights multiplied by ``input_scale``.
        data: Data set; ``mnist_binarized`` is MNIST with binary pixels.
        glimpses: Number of glimpses, the steps in which the network reads the image and writes to
            the canvas; 64 in the paper.
        hidden: Number of units of each LSTM; 256 in the paper.
        latent: Number of latent variables per glimpse; Gregor et al. have 100.
        read_size: Size of the read window: it has this many filters vertically and horizontally.
            Gregor et al. have 2.
        write_size: Size of the write window: it has this many filters vertically and horizontally.
            Gregor et al. have 5.
        input_scale: Factor by which the input weights are multiplied in the ``chosen``
            initialization.
        epochs: Number of epochs, each of ``updates_per_epoch`` updates. They do not coincide with
            passes over the training images, which are shuffled before each pass.
        batch_size: Number of images per update; 128 in the paper.
        learning_rate: Learning rate of Adam. ``None`` selects the rate that a sweep gave
            (:data:`TUNED`) for this norm and initialization.
        images: Number of validation images and of test images, evenly spaced, on which the bound is
            evaluated during training; at the end, it is evaluated on all images.
        keep: Number of test images, evenly spaced, whose canvas and windows are recorded at each
            evaluation; as many generated images are recorded, too.
    """

    norm: Norm = "layer"
    start: Initialization = "usual"
    data: Literal["mnist_binarized"] = "mnist_binarized"
    glimpses: Count = 8
    hidden: Count = 128
    latent: Count = 20
    read_size: Window = 5
    write_size: Window = 5
    input_scale: Positive = 5.0
    epochs: Count = 32
    updates_per_epoch: Count = 250
    batch_size: Count = 64
    learning_rate: Positive | None = None
    clip: Positive | None = 10.0
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    images: Count = 1000
    keep: Annotated[int, integer(0)] = 0
    first_epoch_points: Points = 2

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        rates = TUNED | {("layer", "chosen"): TUNED["layer", "usual"]}
        self._default("learning_rate", rates[self.norm, self.start])
        if self.norm == "none":
            self._must_be_omitted("gain", "where norm is none, it applies to layer norm")

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return (*super().unused, *(["input_scale"] if self.start == "usual" else []))


# The paper states the glimpses, units, batch size, Adam with its defaults, and 200 passes over
# 50,000 images. The sizes of the latent code and of the windows are those of Gregor et al. for
# MNIST.
PAPER = {
    "glimpses": 64,
    "hidden": 256,
    "latent": 100,
    "read_size": 2,
    "write_size": 5,
    "batch_size": 128,
    "learning_rate": (1e-3,),
    "epochs": 200,
    "updates_per_epoch": 390,
}
# The main runs: evaluated every 50 updates, and more often at first, where the bound falls most.
MAIN = {"updates_per_epoch": 50, "first_epoch_points": 6, "epochs": 160}
# The sweep of learning rates, from which TUNED follows.
SWEEP = Grid((0,), {"learning_rate": RATES, "epochs": 6, "images": 500, "first_epoch_points": 1})
RECORDED = (
    SWEEP,
    # At the paper's rate, which is Adam's default, and at the next higher one.
    Grid(range(3), {**MAIN, "start": ("usual",), "learning_rate": (1e-3, 3e-3)}),
    # As long, evaluated every 250 updates, with the tuned initialization; the canvases of the first
    # seed are recorded.
    Grid((0,), {"keep": 6}),
    Grid((1, 2), {}, replaced=True),
    # Where the paper expects the largest effect: longer sequences and smaller batches.
    Grid(range(3), {"start": ("usual",), "glimpses": 16, "epochs": 6}, replaced=True),
    Grid(range(3), {"start": ("usual",), "batch_size": 8, "epochs": 12}),
)
# Twice the glimpses, to be compared with the others after the same number of updates, and the tuned
# initialization at its two best rates.
PLANNED = (
    Grid(
        range(3),
        {**MAIN, "start": ("usual",), "glimpses": 16, "epochs": 60, "learning_rate": (3e-3,)},
    ),
    Grid(
        range(3),
        {**MAIN, "norm": ("none",), "start": ("chosen",), "learning_rate": (1e-3, 3e-3)},
    ),
)

EXPERIMENT = Experiment(
    name="draw",
    about="section 6.4: DRAW, a generative model of digits, with and without layer norm",
    paper={"section": "6.4", "figure": "4", "equations": "29-31"},
    settings=Settings,
    key="{norm}-{start}-T{glimpses}-b{batch_size}-rate{learning_rate}",
    label="{norm}, {start} start, {glimpses} glimpses, rate {learning_rate:g}",
    run="lnlab.experiments.draw.run:DrawRun",
    loss=("batch_bound", "nats"),
    measures={
        "val_bound": "nats",
        "val_kl": "nats",
        "test_bound": "nats",
        "test_kl": "nats",
        "val_bound_of_all": "nats",
        "test_bound_of_all": "nats",
    },
    arrays={
        "canvas": "probability of white, in 15ths",
        "read_window": "center x, center y, stride, deviation: pixels; intensity: factor",
        "write_window": "center x, center y, stride, deviation: pixels; intensity: factor",
        "dream_canvas": "probability of white, in 15ths",
        "dream_window": "center x, center y, stride, deviation: pixels; intensity: factor",
    },
    primary_metric="val_bound",
    sweep_axes={
        "norm": NORMS,
        "start": lambda run: INITIALIZATIONS if run["norm"] == "none" else ("usual",),
        "learning_rate": (None,),
    },
    defaults={"seeds": 3},
    main=MAIN,
    scales={"paper": PAPER},
    grids=RECORDED,
    planned=PLANNED,
    threads=1,
    table="lnlab.experiments.draw.results:TASK.text",
)
