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
from typing import TYPE_CHECKING, Literal, get_args

from lnlib.data import coco_val2017_layout
from lnlib.runs import settings as base
from lnlib.runs.experiment import Experiment, Grid
from lnlib.runs.settings import Betas, Count, Finite, NotNegative, Positive

if TYPE_CHECKING:
    from lnlib.experiments.order_embeddings.run import Run

Norm = Literal["none", "layer"]
NORMS = get_args(Norm)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
CUTS = (1, 5, 10)  # the K of Recall@K


@dataclasses.dataclass(frozen=True)
class Settings(base.Settings):
    """Everything that is chosen before a run; where we differ, public code of the model is named.

    Args:
        norm: ``none``, which is ``torch.nn``'s GRU, or ``layer``.
        data: Captions and objects of COCO val2017.
        hidden: Units of the GRU, and numbers in a vector of either kind; 1,024 in that code.
        word_size: Numbers in a word's vector.
        word_scale: Word vectors start uniform in +-``word_scale``, as the GRU's input weights.
        least_count: Words that come less often in the captions for training share one vector.
        epochs: Passes over the captions for training.
        batch_size: Pairs that are ranked against each other, no two of one image; a last, smaller
            batch is left out; 128 in that code.
        learning_rate: Adam's.
        margin: By how much a wrong pair's penalty is to be above a right one's.
        gain: What the gains of layer norm start at.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Inside the root of layer norm; the paper's equations have none.
        first_epoch_points: How often to measure within the first epoch.
    """

    norm: Norm = "layer"
    data: Literal["coco_val2017_layout"] = "coco_val2017_layout"
    hidden: Count = 256
    word_size: Count = 128
    word_scale: Positive = 0.1
    least_count: Count = 3
    epochs: Count = 10
    batch_size: Count = 64
    learning_rate: Positive = 1e-3
    margin: Positive = 0.05
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    first_epoch_points: Count = 3


def _run() -> type[Run]:
    """Return the class of the runs."""
    from lnlib.experiments.order_embeddings.run import Run

    return Run


EXPERIMENT = Experiment(
    name="order_embeddings",
    about="section 6.1: captions find images and images captions, by a GRU with and without norm",
    paper={"section": "6.1", "table": "2", "figure": "1", "equations": "26-28"},
    settings=Settings,
    key="{norm}-words{word_scale}-rate{learning_rate}",
    label="{norm}, words {word_scale:g}, rate {learning_rate:g}",
    load=lambda settings: coco_val2017_layout.load(),
    run=_run,
    loss=("ranking_loss", "squared length"),
    measures={
        f"{split}_{what}_{measure}": unit
        for split in ("val", "test")
        for what in ("image", "caption")
        for measure, unit in (("recall_#", "fraction"), ("mean_rank", "places"))
    },
    head="val_image_recall_10",
    several={"norm": NORMS, "learning_rate": (1e-3,)},
    usual={"seeds": 5},
    grids=(),
    threads=1,
)
