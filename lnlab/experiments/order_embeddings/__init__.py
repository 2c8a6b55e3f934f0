"""Section 6.1, order embeddings: image retrieval by captions and caption retrieval by images.

A GRU embeds a caption, and a linear map embeds an image; both embeddings have nonnegative
components and norm 1. A caption is more general than its image, so each component of its embedding
should be below that of the image. The components that are not define the penalty by which all pairs
are ranked (Vendrov et al., 2016). The comparison is the paper's: the GRU with layer normalization
(eqs. 26-28) and without it.

The images are not the paper's: they are 4,952 images of COCO, and each is represented by 400
numbers on its objects and their positions instead of the features of a trained network. The recall
values therefore differ from those of Table 2.
"""

import dataclasses
from typing import ClassVar, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive
from lnlab.datasets.coco_val2017_layout import CAPTIONS
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer"]
NORMS = get_args(Norm)
CUTS = (1, 5, 10)  # the K of Recall@K
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # learning rates of the sweep
# The rate of the sweep with the best validation score, with the paper's clipping: the mean over
# seeds of the best score of each run.
TUNED = {"none": 3e-3, "layer": 1e-2}
PAPER_RATE, PAPER_CLIP = 1e-3, 2.0
BOOK = {"clip": PAPER_CLIP, "first_epoch_points": 12}  # settings of the book's runs
# The settings of driver.py in github.com/ivendrov/order-embedding, which the paper modified: sizes,
# lrate, grad_clip, and the number of updates. Its max_epochs of 100 over the 113,287 training
# images of COCO is 100 * (113,287 // 128) = 88,500 updates; here, it is 590 * 5 * (3,952 // 128).
# The images are still this book's, and Adam is PyTorch's; theirs does not correct the bias of its
# averages.
PAPER = {
    "hidden": 1024,
    "word_size": 300,
    "batch_size": 128,
    "learning_rate": (PAPER_RATE,),
    "clip": PAPER_CLIP,
    "epochs": 590,
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: ``none``, the plain GRU of ``torch.nn``, or ``layer`` for layer norm in the GRU.
        data: Data set; ``coco_val2017_layout`` has the captions and object boxes of COCO val2017.
        hidden: Number of units of the GRU, and size of the embeddings of captions and images; 1,024
            in the paper.
        word_size: Size of the word embeddings; 300 in the paper.
        word_scale: Bound of the uniform initialization of the word embeddings, which is in
            +-``word_scale``.
        min_count: Minimum number of occurrences of a word in the training captions; rarer words
            share one embedding.
        epochs: Number of passes over the training captions.
        batch_size: Number of image-caption pairs per update, each with a different image; 128 in
            the paper. The pairs are ranked against each other, and a last, smaller batch is
            dropped.
        learning_rate: Learning rate of Adam. ``None`` selects the rate that a sweep gave
            (:data:`TUNED`) for this norm.
        clip: Maximum Euclidean norm of the gradient of each parameter tensor, for the loss summed
            over the batch. ``None`` disables clipping. The paper's code uses 2, which is the
            default on the command line.
        margin: Margin of the ranking loss: the penalty of a mismatched pair must exceed that of a
            matching pair by this amount.
        keep: Number of test images whose first caption's embedding is recorded at each evaluation,
            together with the weights of the image embedding, so that the captions can be ranked for
            any scene. ``None`` disables this.
    """

    norm: Norm = "layer"
    data: Literal["coco_val2017_layout"] = "coco_val2017_layout"
    hidden: Count = 128
    word_size: Count = 64
    word_scale: Positive = 0.1
    min_count: Count = 3
    epochs: Count = 10
    batch_size: Count = 64
    learning_rate: Positive | None = None
    margin: Positive = 0.05
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    first_epoch_points: Points = 4
    keep: Count | None = None
    clip: Positive | None = None
    added: ClassVar = ("keep", "clip")

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        self._default("learning_rate", TUNED[self.norm])
        if self.norm == "none":
            self._must_be_omitted("gain", "where norm is none, it applies to layer norm")


def updates_per_epoch(images: int, batch_size: int) -> int:
    """Return the number of full batches per epoch, in which each image has each of its captions."""
    return CAPTIONS * (images // batch_size)


EXPERIMENT = Experiment(
    name="order_embeddings",
    about="section 6.1: order embeddings of images and captions, with and without layer norm",
    paper={"section": "6.1", "table": "2", "figure": "1", "equations": "26-28"},
    settings=Settings,
    key="{norm}-rate{learning_rate}",
    label="{norm}, rate {learning_rate:g}",
    run="lnlab.experiments.order_embeddings.run:OrderEmbeddingsRun",
    loss=("ranking_loss", "squared length"),
    measures={
        f"{split}_{what}_{measure}": unit
        for split in ("val", "test")
        for what in ("image", "caption")
        for measure, unit in (("recall_#", "fraction"), ("mean_rank", "places"))
    },
    arrays={
        "caption_levels": "255ths of the largest number",
        "caption_scales": "length",
        "image_levels": "127ths of the largest weight",
        "image_scales": "weight",
    },
    primary_metric="val_image_recall_10",
    sweep_axes={"norm": NORMS, "learning_rate": (None,)},
    defaults={"seeds": 5, "clip": PAPER_CLIP},
    main={"first_epoch_points": BOOK["first_epoch_points"]},
    scales={"paper": PAPER},
    grids=(
        Grid(range(5), {"learning_rate": RATES, **BOOK}),  # the lowest rate is the paper's
        # Half as long; records the weights with which the page of the book ranks captions.
        Grid((0,), {"epochs": 5, "keep": 500}),
    ),
    threads=1,
    table="lnlab.experiments.order_embeddings.results:TASK.text",
)
