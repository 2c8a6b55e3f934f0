"""Section 6.3, skip-thoughts: a sentence's vector foretells the sentences around it.

The novels are not the paper's: 24 in the public domain take the place of BookCorpus, and pairs of
captions that of SICK; MR, CR and SUBJ are the paper's own, MPQA is left out.

A GRU reads a sentence; from its last state one GRU writes the sentence after it and another the one
before (Kiros et al., 2015). What is compared is the paper's: all three with layer normalization
(eqs. 26-28) and without; and without but with a start of a better scale. As in the code that the
paper ran, a decoder is given the vector as its first state alone, not at each step, as Kiros et
al. have it; that is a setting.

The vectors are then frozen and judged by logistic regression, 10-fold cross validated. Words that
the novels' vocabulary lacks are all one unknown word, in the tasks too, where Kiros et al. gave
them vectors by way of word2vec. The softmax is a full one, over few words.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import ClassVar, Literal, get_args

from lnlab import config, datasets
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive
from lnlab.datasets.gutenberg_prose import Prose
from lnlab.datasets.sentence_tasks import Tasks
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer"]
Start = Literal["code", "scaled"]
NORMS, STARTS = get_args(Norm), get_args(Start)
TASKS = ("mr", "cr", "subj", "caption_pairs")
# By how much `scaled` multiplies the weights of the GRUs' inputs: from +-0.1 on words of +-0.1 the
# summed inputs have a deviation of 0.03, and layer norm makes that 1.
INPUT_SCALE = 20.0
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep
# Of these the one with the lowest validation loss.
TUNED = {
    ("none", "code"): 1e-2,
    ("none", "scaled"): 3e-3,
    ("layer", "code"): 1e-2,
    ("layer", "scaled"): 1e-2,
}
# As training/train.py and optim.py of github.com/ryankiros/skip-thoughts have it, which the paper
# ran: sizes, Adam's rate (lr0; the lrate that it is given has no effect), grad_clip. A million
# updates with a judgement every 50,000, as in figure 3. The books stay this book's, sentences are
# not sorted by length, and Adam is PyTorch's; theirs does not correct the bias of its averages.
PAPER = {
    "hidden": 2400,
    "word_size": 620,
    "words": 20_000,
    "length": 30,
    "batch_size": 64,
    "updates_an_epoch": 50_000,
    "epochs": 20,
    "judge_every": 1,
    "learning_rate": (2e-4,),
    "clip": 5.0,
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: ``none``, which is ``torch.nn``'s GRUs, or ``layer``, in encoder and decoders.
        start: ``code``: as the public code of Kiros et al. starts. ``scaled``: the weights of the
            GRUs' inputs are 20 times as large.
        condition: What the decoders are given the sentence's vector as: ``start``, their first
            state, as in the public code, or ``every``, an input of each step, too.
        data: Novels to read.
        hidden: Units of each GRU, and numbers in a sentence's vector; the paper has 2,400.
        word_size: Numbers in the vector of a word; the code has 620.
        words: Different words, the end of a sentence and the unknown word among them; the code has
            20,000.
        length: Words of a sentence; the rest is left out. The code leaves out longer sentences than
            30.
        epochs: Number of epochs, each of ``updates_an_epoch`` updates, not a pass over the books.
        updates_an_epoch: Number of updates per epoch, after each of which a run is measured.
        batch_size: Sentences of an update; the code has 64.
        learning_rate: Adam's learning rate. ``None`` is that of :data:`TUNED` for this norm and
            initialization.
        clip: Largest Euclidean norm of the gradient of all parameters, of the loss summed over the
            words of the batch; a larger one is scaled down to it. The code has 5; ``None`` does not
            clip.
        gain: Initial value of the gains of layer norm.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Added to the variance in layer norm; the paper's equations have none.
        val_sentences: Of the held-out chapters, evenly spaced, on whose neighbors the loss is
            measured.
        judge_every: After how many epochs, and before the first, the vectors are judged on the
            tasks. ``None`` leaves that out.
        keep: Whether to keep a map of short sentences, and which are nearest to which.
        first_epoch_points: Number of measurements within the first epoch.
    """

    norm: Norm = "layer"
    start: Start = "code"
    condition: Literal["start", "every"] = "start"
    data: Literal["gutenberg_prose"] = "gutenberg_prose"
    hidden: Count = 128
    word_size: Count = 64
    words: Count = 2000
    length: Count = 20
    epochs: Count = 30
    updates_an_epoch: Count = 100
    batch_size: Count = 32
    learning_rate: Positive | None = None
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    val_sentences: Count = 1000
    judge_every: Count | None = 6
    keep: bool = False
    first_epoch_points: Points = 2
    clip: Positive | None = None
    added: ClassVar = ("clip",)

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        self._default("learning_rate", TUNED[self.norm, self.start])
        self._must("words", "at least 3: two are the end and the unknown word", self.words > 2)
        if self.norm == "none":
            what = "omitted where norm is none, it applies to layer norm"
            self._must("gain", what, self.gain == 1)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return () if self.norm == "layer" else ("eps",)


@dataclasses.dataclass(frozen=True, eq=False)
class Material:
    """What is read, and what the vectors are judged by.

    Attributes:
        prose: Novels.
        tasks: Sentences with labels.
    """

    prose: Prose
    tasks: Tasks

    @property
    def name(self) -> str:
        """The novels'."""
        return self.prose.name

    @property
    def sha256(self) -> str:
        """Of both checksums, in hexadecimal digits one behind the other."""
        return hashlib.sha256((self.prose.sha256 + self.tasks.sha256).encode()).hexdigest()

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        return f"{self.prose}; {self.tasks}"


def _load(settings: Settings) -> Material:
    return Material(datasets.load(settings.data), datasets.load("sentence_tasks"))


_SHORT = {"epochs": 6, "judge_every": None, "first_epoch_points": 1}
SWEEP = Grid(range(1), {"learning_rate": RATES, **_SHORT})
RECORDED = (
    SWEEP,
    Grid(range(1), {"keep": True}),  # shown on the page
    Grid(range(1, 3), replaced=True),
    Grid(range(3), {"length": 50, "batch_size": 16, "learning_rate": RATES[1:], **_SHORT}),
    Grid(range(3), {"batch_size": 4, "learning_rate": RATES[1:4], **_SHORT, "epochs": 10}),
)
# Ten times the updates: whether the vectors come to beat the means of their own words. The rate is
# below the best one of the sweep, whose runs are a fiftieth as long; one seed has a lower one, too.
_LONG = {"updates_an_epoch": 500, "epochs": 60, "judge_every": 15, "first_epoch_points": 8}
PLANNED = (
    Grid(range(3), {**_LONG, "start": ("code",), "learning_rate": (3e-3,)}),
    Grid(range(1), {**_LONG, "start": ("code",), "learning_rate": (1e-3,)}),
)

EXPERIMENT = Experiment(
    name="skip_thoughts",
    about="section 6.3: a sentence's vector foretells its neighbors, by GRUs with and without norm",
    paper={"section": "6.3", "table": "3", "figure": "3", "equations": "26-28"},
    settings=Settings,
    key="{norm}-{start}-b{batch_size}-L{length}-rate{learning_rate}",
    label="{norm}, {start}, {batch_size} sentences of {length}, rate {learning_rate:g}",
    load=_load,
    run="lnlab.experiments.skip_thoughts.run:Run",
    loss=("batch_nll", "nats a word"),
    measures={
        "val_nll": "nats a word",
        "update_ms": "ms",
        **{f"{kind}{task}": "fraction" for kind in ("", "bag_") for task in TASKS},
    },
    arrays={
        "map": "units of the state",
        "explained": "fraction",
        "neighbors": "sentence",
        "texts": "character",
    },
    primary_metric="val_nll",
    sweep_axes={
        "norm": NORMS,
        "start": lambda run: STARTS if run["norm"] == "none" else STARTS[:1],
        "learning_rate": (None,),
    },
    defaults={"seeds": 3},
    scales={"paper": PAPER},
    grids=RECORDED,
    planned=PLANNED,
    threads=1,
    table="lnlab.experiments.skip_thoughts.results:TASK.text",
)
