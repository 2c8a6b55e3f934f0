"""Section 6.5, handwriting generation, on pen lines composed of real Omniglot letters.

They stand in for IAM-OnDB, which may not be passed on; who has it can name it. Three LSTM layers
read where the pen was and, through a soft window that moves along it, the text that is to be
written; they say where the pen goes next, by a mixture of 20 bivariate Gaussians and the
probability that it is lifted (Graves, 2013, section 5.2). What is compared is the paper's: LSTMs
with layer normalization (eqs. 20-22) and without, and, since much may be a matter of the start,
those without from a start chosen for these inputs.

Layer norm of ``W_x x`` hides how long ``x`` is. The pen's speed is the length of two of the first
layer's inputs, so that ``constant`` gives it one more input, 1; the paper does not say how it did.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer"]
Start = Literal["usual", "chosen"]
NORMS, STARTS = get_args(Norm), get_args(Start)
SPLITS = ("val_seen", "val_new", "test_new")
MEASURED = ("train", *SPLITS)
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # learning rates of the sweep
# Of these the one with the lowest loss on lines of new drawers, by norm and start.
TUNED = {
    ("none", "usual"): 3e-2,
    ("none", "chosen"): 1e-2,
    ("layer", "usual"): 3e-3,
    ("layer", "chosen"): 3e-3,
}
SAMPLE = "the pen moves on"  # what a run writes, where it keeps what it writes
SEEDS = range(3)
SWEEP = Grid(range(1), {"learning_rate": RATES, "epochs": 4})
RECORDED = (
    SWEEP,
    Grid(range(1), {"keep": 450}),  # shown on the page
    Grid(range(1, 3), replaced=True),
    Grid(SEEDS, {"constant": False, "epochs": 5}),
    Grid(SEEDS, {"batch_size": 2, "epochs": 10}),
    Grid(SEEDS, {"length": 1400, "epochs": 5}),  # whole lines
)
# Each arm at the best two rates of the sweep, measured on all pieces, every 50 updates.
_WHOLE = {"updates_an_epoch": 50, "epochs": 30, "lines": 449, "first_epoch_points": 3}
PLANNED = (
    Grid(SEEDS, {**_WHOLE, "norm": ("layer",), "start": ("usual",), "learning_rate": (3e-3, 1e-2)}),
    Grid(SEEDS, {**_WHOLE, "norm": ("none",), "start": ("usual",), "learning_rate": (1e-2, 3e-2)}),
    Grid(SEEDS, {**_WHOLE, "norm": ("none",), "start": ("chosen",), "learning_rate": (1e-2, 3e-2)}),
)


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        norm: ``none``, which is ``torch.nn``'s LSTM, or ``layer``.
        start: ``usual``, as ``torch.nn`` draws weights, or ``chosen``: the same, but those of the
            inputs ``input_scale`` times as large, and the recurrent ones orthogonal, gate by gate.
        data: Pen lines with their text; ``iam_ondb`` are the paper's, for those who have them.
        constant: Whether a 1 is among the inputs of every layer.
        hidden: Units of each layer; the paper has 400.
        layers: How many LSTMs, the first of which moves the window.
        mixture: Gaussians of which the next point is drawn.
        bells: Of which the window is the sum.
        length: Longer lines are cut into pieces of at most so many points, between letters.
        epochs: Number of epochs, each of ``updates_an_epoch`` updates, not a pass over the lines.
        updates_an_epoch: Number of updates per epoch, after each of which a run is measured.
        batch_size: Pieces of lines for an update, drawn anew for each; the paper has 8.
        learning_rate: Adam's learning rate. ``None`` is that of :data:`TUNED` for this norm and
            initialization.
        clip: The longest that the gradient of all weights may be.
        input_scale: By how much ``chosen`` scales the weights of the inputs.
        gain: Initial value of the gains of layer norm.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Added to the variance in layer norm; the paper's equations have none.
        lines: Pieces of lines of each split, evenly spaced by their length, on which the loss is
            measured; all, where a split has fewer.
        keep: Points that the network writes of a fixed text, where it measures, and that are kept
            with the place of its window, and with the weights that it has in the end; ``none``
            writes and keeps nothing.
        first_epoch_points: Number of measurements within the first epoch.
    """

    norm: Norm = "layer"
    start: Start = "usual"
    data: Literal["omniglot_lines", "iam_ondb"] = "omniglot_lines"
    constant: bool = True
    hidden: Count = 96
    layers: Count = 3
    mixture: Count = 20
    bells: Count = 10
    length: Count = 300
    epochs: Count = 15
    updates_an_epoch: Count = 100
    batch_size: Count = 8
    learning_rate: Positive | None = None
    clip: Positive = 1.0
    input_scale: Positive = 5.0
    gain: Finite = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    lines: Count = 40
    keep: Count | None = None
    first_epoch_points: Points = 2

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        self._default("learning_rate", TUNED[self.norm, self.start])
        if self.norm == "none":
            what = "omitted where norm is none, it applies to layer norm"
            self._must("gain", what, self.gain == 1)
        if self.start == "usual":
            what = "omitted where start is usual, it applies to the tuned initialization"
            self._must("input_scale", what, self.input_scale == 5)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return () if self.norm == "layer" else ("eps",)


# The paper's sizes and batch of 8, which is this book's, too. Its lines are of about 700 points,
# figure 5 speaks of 500. It gives neither a learning rate nor the number of updates, and no code of
# it is public: rates are this book's, the 30,000 updates a guess.
PAPER: Mapping[str, Any] = {
    "data": "iam_ondb",
    "hidden": 400,
    "length": 500,
    "epochs": 300,
    "lines": 500,
}


def _skip_combination(run: dict[str, Any], runs: list[dict[str, Any]]) -> bool:
    # Layer norm does not see how large the weights of the inputs are: its start is the usual one.
    return (run["norm"], run["start"]) == ("layer", "chosen") and len(runs) > 1


EXPERIMENT = Experiment(
    name="handwriting",
    about="section 6.5: three LSTMs write a text with a pen, with and without norm",
    paper={"section": "6.5", "figure": "5", "equations": "20-22"},
    settings=Settings,
    key="{norm}-{start}-rate{learning_rate}-epochs{epochs}",
    label="{norm}, {start} start, rate {learning_rate:g}",
    run="lnlab.experiments.handwriting.run:Run",
    loss=("batch_nll", "nats a point"),
    measures={
        **{f"{split}_nll": "nats a point" for split in MEASURED},
        **{f"{split}_window_distance": "characters" for split in MEASURED},
        # Of older records, where what fills a shorter text up counts, too.
        **{f"{split}_window_off": "characters" for split in SPLITS},
    },
    arrays={
        "strokes": "1/64 of the unit of the lines",
        "lifts": "1 where the pen is lifted",
        "window": "characters",
        "characters": "code points",
        "matrices": "their rows' scales; 0 before the last epoch",
        "scales": "0 before the last epoch",
        "vectors": "0 before the last epoch",
    },
    primary_metric="val_new_nll",
    scales={"paper": PAPER},
    sweep_axes={"norm": NORMS, "start": STARTS, "learning_rate": (None,)},
    defaults={"seeds": 3},
    skip_combination=_skip_combination,
    grids=RECORDED,
    planned=PLANNED,
    threads=1,
    table="lnlab.experiments.handwriting.results:TASK.text",
)
