"""Section 6.1, order embeddings: captions find their images, and images their captions.

A GRU reads a caption, a linear map an image; both give a vector of numbers from 0, of length 1. A
caption says less than its image, so it is to lie below it in every number, and what lies above is
the penalty by which all pairs are ranked (Vendrov et al., 2016). What is compared is the paper's:
the GRU with layer normalization (eqs. 26-28) and without.

The images are not the paper's: 4,952 of COCO's, each given as 400 numbers on the objects in it and
where they are, not as the features of a trained network. So recalls are not those of Table 2.
"""

from __future__ import annotations

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
# Of these the one with the best validation, as the mean over the seeds of each run's best, with the
# paper's clipping.
TUNED = {"none": 3e-3, "layer": 1e-2}
PAPER_RATE, PAPER_CLIP = 1e-3, 2.0
BOOK = {"clip": PAPER_CLIP, "first_epoch_points": 12}  # settings of the book's runs
# As driver.py of github.com/ivendrov/order-embedding has it, which the paper modified: sizes,
# lrate, grad_clip, and as many updates as max_epochs 100 over COCO's 113,287 training images are:
# 100 * (113,287 // 128) = 88,500, here 590 * 5 * (3,952 // 128). The images stay this book's, and
# Adam is PyTorch's; theirs does not correct the bias of its averages.
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
        norm: ``none``, which is ``torch.nn``'s GRU, or ``layer``.
        data: Captions and objects of COCO val2017.
        hidden: Units of the GRU, and numbers in the vectors of captions and images; the paper has
            1,024.
        word_size: Numbers in the vector of a word; the paper has 300.
        word_scale: The words' vectors start uniform in +-``word_scale``.
        least_count: Words that come less often in the training captions share one vector.
        epochs: Passes over the training captions.
        batch_size: Pairs that are ranked against each other, of as many images; the paper has 128.
            A last, smaller batch is left out.
        learning_rate: Adam's learning rate. ``None`` is that of :data:`TUNED` for this norm.
        clip: Largest Euclidean norm of each parameter's own gradient, of the loss summed over the
            batch; a larger one is scaled down to it. The paper's code and the command line
            have 2; ``None`` does not clip.
        margin: By how much a wrong pair is to be worse than a right one.
        gain: Initial value of the gains of layer norm.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Added to the variance in layer norm; the paper's equations have none.
        first_epoch_points: Number of measurements within the first epoch.
        keep: Test images whose first caption's vector is kept at each point, and with it the map of
            the images: what ranks captions by a scene elsewhere. ``None`` keeps nothing.
    """

    norm: Norm = "layer"
    data: Literal["coco_val2017_layout"] = "coco_val2017_layout"
    hidden: Count = 128
    word_size: Count = 64
    word_scale: Positive = 0.1
    least_count: Count = 3
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
            what = "omitted where norm is none, it applies to layer norm"
            self._must("gain", what, self.gain == 1)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return () if self.norm == "layer" else ("eps",)


def updates_per_epoch(images: int, batch_size: int) -> int:
    """Return how many full batches of pairs there are, when each image comes with each caption."""
    return CAPTIONS * (images // batch_size)


EXPERIMENT = Experiment(
    name="order_embeddings",
    about="section 6.1: captions find images and images captions, by a GRU with and without norm",
    paper={"section": "6.1", "table": "2", "figure": "1", "equations": "26-28"},
    settings=Settings,
    key="{norm}-rate{learning_rate}",
    label="{norm}, rate {learning_rate:g}",
    run="lnlab.experiments.order_embeddings.run:Run",
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
    scales={"paper": PAPER},
    grids=(
        Grid(range(5), {"learning_rate": RATES, **BOOK}),  # the lowest rate is the paper's
        # Half as long, with what ranks captions in the book's page.
        Grid((0,), {"epochs": 5, "keep": 500}),
    ),
    threads=1,
    table="lnlab.experiments.order_embeddings.results:TASK.text",
)
