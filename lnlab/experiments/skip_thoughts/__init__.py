"""Section 6.3, skip-thoughts: sentence vectors that are trained to predict the adjacent sentences.

The novels are not the paper's: 24 novels in the public domain replace BookCorpus, and pairs of
captions replace SICK. MR, CR and SUBJ are the same as in the paper; MPQA is left out.

A GRU encodes a sentence. From its last state, one GRU decodes the next sentence, and another one
decodes the previous sentence (Kiros et al., 2015). The comparison is the paper's: all three with
layer normalization (eqs. 26-28) and without it; a third arm has no norm but an initialization of a
better scale. As in the code that the paper ran, a decoder receives the vector only as its initial
state; in Kiros et al., it receives the vector at each step (``condition``).

The vectors are then frozen and evaluated by logistic regression with 10-fold cross-validation.
Words that are not in the vocabulary of the novels share one unknown word, also in the tasks, where
Kiros et al. derived embeddings for them from word2vec. The softmax is not sampled: it is over the
whole vocabulary, which is small.
"""

import dataclasses
import hashlib
from typing import ClassVar, Literal, get_args

from lnlab import config, datasets
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive
from lnlab.datasets.gutenberg_prose import Prose
from lnlab.datasets.sentence_tasks import Tasks
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer"]
Initialization = Literal["code", "scaled"]
NORMS, INITIALIZATIONS = get_args(Norm), get_args(Initialization)
TASKS = ("mr", "cr", "subj", "caption_pairs")
# Factor by which `scaled` multiplies the input weights of the GRUs: with weights in +-0.1 and word
# embeddings in +-0.1, the std of the summed inputs is 0.03, and layer norm changes it to 1.
INPUT_SCALE = 20.0
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep
# The rate of the sweep with the lowest validation loss.
TUNED = {
    ("none", "code"): 1e-2,
    ("none", "scaled"): 3e-3,
    ("layer", "code"): 1e-2,
    ("layer", "scaled"): 1e-2,
}
# The settings of training/train.py and optim.py in github.com/ryankiros/skip-thoughts, which the
# paper ran: sizes, the learning rate of Adam (lr0; the argument lrate has no effect) and grad_clip.
# There are a million updates with an evaluation every 50,000, as in figure 3. The novels are still
# this book's, sentences are not sorted by length, and Adam is PyTorch's; theirs does not correct
# the bias of its averages.
PAPER = {
    "hidden": 2400,
    "word_size": 620,
    "words": 20_000,
    "length": 30,
    "batch_size": 64,
    "updates_per_epoch": 50_000,
    "epochs": 20,
    "evaluate_every": 1,
    "learning_rate": (2e-4,),
    "clip": 5.0,
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: ``none``, the plain GRU of ``torch.nn``, or ``layer`` for layer norm in the encoder
            and the decoders.
        start: Initialization: ``code``, as in the public code of Kiros et al., or ``scaled``, with
            the input weights of the GRUs multiplied by 20.
        condition: How the decoders receive the sentence vector: ``start``, as their initial state,
            as in the public code, or ``every``, also as an input at every step.
        data: Data set; ``gutenberg_prose`` has 24 novels.
        hidden: Number of units of each GRU, and size of the sentence vector; 2,400 in the paper.
        word_size: Size of the word embeddings; 620 in the public code.
        words: Size of the vocabulary, including the end of a sentence and the unknown word; 20,000
            in the public code.
        length: Maximum number of words of a sentence; longer sentences are truncated. The public
            code leaves out sentences of more than 30 words.
        epochs: Number of epochs, each of ``updates_per_epoch`` updates rather than a pass over the
            books.
        batch_size: Number of sentences per update; 64 in the public code.
        learning_rate: Learning rate of Adam. ``None`` selects the rate that a sweep gave
            (:data:`TUNED`) for this norm and initialization.
        clip: Maximum Euclidean norm of the gradient over all parameters, for the loss summed over
            the words of the batch; 5 in the public code. ``None`` disables clipping.
        val_sentences: Number of sentences of the held-out chapters, evenly spaced, on whose
            neighbors the loss is evaluated.
        evaluate_every: Number of epochs between evaluations of the sentence vectors on the tasks;
            the first evaluation is before training. ``None`` disables them.
        keep: Whether to record a map of short sentences and the nearest neighbors of each.
    """

    norm: Norm = "layer"
    start: Initialization = "code"
    condition: Literal["start", "every"] = "start"
    data: Literal["gutenberg_prose"] = "gutenberg_prose"
    hidden: Count = 128
    word_size: Count = 64
    words: Count = 2000
    length: Count = 20
    epochs: Count = 30
    updates_per_epoch: Count = 100
    batch_size: Count = 32
    learning_rate: Positive | None = None
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    val_sentences: Count = 1000
    evaluate_every: Count | None = 6
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
            self._must_be_omitted("gain", "where norm is none, it applies to layer norm")


@dataclasses.dataclass(frozen=True, eq=False)
class SkipThoughtsData:
    """The novels for training and the tasks on which the vectors are evaluated.

    Attributes:
        prose: The novels.
        tasks: Labeled sentences of the tasks.
    """

    prose: Prose
    tasks: Tasks

    @property
    def name(self) -> str:
        """Name of the data set of the novels."""
        return self.prose.name

    @property
    def sha256(self) -> str:
        """SHA-256 of the two concatenated hexadecimal checksums."""
        return hashlib.sha256((self.prose.sha256 + self.tasks.sha256).encode()).hexdigest()

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        return f"{self.prose}; {self.tasks}"


def _load(settings: Settings) -> SkipThoughtsData:
    return SkipThoughtsData(datasets.load(settings.data), datasets.load("sentence_tasks"))


_SHORT = {"epochs": 6, "evaluate_every": None, "first_epoch_points": 1}
SWEEP = Grid(range(1), {"learning_rate": RATES, **_SHORT})
RECORDED = (
    SWEEP,
    Grid(range(1), {"keep": True}),  # shown on the page
    Grid(range(1, 3), replaced=True),
    Grid(range(3), {"length": 50, "batch_size": 16, "learning_rate": RATES[1:], **_SHORT}),
    Grid(range(3), {"batch_size": 4, "learning_rate": RATES[1:4], **_SHORT, "epochs": 10}),
)
# Ten times the updates, to see whether the vectors become better than the means of their word
# embeddings. The rate is below the best one of the sweep, whose runs are a fiftieth as long; one
# seed is also run with a lower one.
_LONG = {"updates_per_epoch": 500, "epochs": 60, "evaluate_every": 15, "first_epoch_points": 8}
PLANNED = (
    Grid(range(3), {**_LONG, "start": ("code",), "learning_rate": (3e-3,)}),
    Grid(range(1), {**_LONG, "start": ("code",), "learning_rate": (1e-3,)}),
)

EXPERIMENT = Experiment(
    name="skip_thoughts",
    about="section 6.3: skip-thought vectors of sentences, from GRUs with and without layer norm",
    paper={"section": "6.3", "table": "3", "figure": "3", "equations": "26-28"},
    settings=Settings,
    key="{norm}-{start}-b{batch_size}-L{length}-rate{learning_rate}",
    label="{norm}, {start}, {batch_size} sentences of {length}, rate {learning_rate:g}",
    load=_load,
    run="lnlab.experiments.skip_thoughts.run:SkipThoughtsRun",
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
        "start": lambda run: INITIALIZATIONS if run["norm"] == "none" else INITIALIZATIONS[:1],
        "learning_rate": (None,),
    },
    defaults={"seeds": 3},
    scales={"paper": PAPER},
    grids=RECORDED,
    planned=PLANNED,
    threads=1,
    table="lnlab.experiments.skip_thoughts.results:TASK.text",
)
