"""Ours: the norm's place and kind in a small transformer, from its first gradient to its last loss.

The paper is a year older than transformers and has none. A decoder-only one learns the characters
of tiny Shakespeare; what is varied is where its norms stand and which they are, how deep it is, how
it starts, the learning rate and its warm-up (Xiong et al., 2020; Liu et al., 2020; Zhang and
Sennrich, 2019; Zhu et al., 2025). A run that explodes is recorded to its end.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, NotNegative, Points, Positive, integer
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer", "rms", "tanh"]
Place = Literal["pre", "post", "sandwich"]
Initialization = Literal["normal", "xavier", "pytorch", "gpt2"]
NORMS, PLACES, INITIALIZATIONS = get_args(Norm), get_args(Place), get_args(Initialization)
# What is done to a trained model; `lnlab.experiments.transformer.ablation` does it.
ABLATIONS = {
    "removed": "every norm taken out",
    "gain_and_bias": "every norm taken out, its gain and bias kept",
    "but_last": "every norm but the last taken out",
    "last": "the last norm taken out, no other",
    "rms": "RMSNorm with the same gain and bias",
    "frozen": "each example's deviation replaced by the average over training text",
    "frozen_but_last": "the same, the last norm alive",
    "eps_thousandth": "eps 1e-3",
    "eps_hundredth": "eps 1e-2",
    "eps_tenth": "eps 0.1",
    "eps_one": "eps 1",
    "float16": "all in float16, but for the sums of the norms",
    "float16_sums": "all in float16, the sums of the norms too",
    "bfloat16": "all in bfloat16, but for the sums of the norms",
    "int8": "each matrix in 8 bits, with a scale for each row",
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run. There is no dropout and no weight decay.

    Args:
        place: Where the norms stand: ``pre`` before attention and feed-forward network, ``post``
            after each residual sum, as published in 2017, ``sandwich`` before and after.
        norm: ``layer``, ``rms``, ``tanh``, which is dynamic tanh, or ``none``.
        last_norm: Whether a norm stands before the output, where the place is not post.
        qk_norm: Norm of the queries and keys of each head.
        initialization: Of the matrices. ``normal``: N(0, 0.02²) at any width. ``gpt2``: the
            standard deviation is 0.02 √(768 / width), which is GPT-2 small's at its width, and that
            of embeddings 0.02. ``xavier``: uniform, and embeddings N(0, 1/width). ``pytorch``: as
            the layers of torch.nn start.
        residual_scaling: Whether the two matrices of a block that write into the residual stream
            start 1/√(2 depth) times as large, as in GPT-2.
        data: Text to learn; ``python_topics`` needs no download, and each Python has its own.
        depth: Blocks.
        width: Features of a character in the residual stream.
        heads: Of attention.
        length: Characters that are read at once.
        epochs: Number of epochs, each of ``updates_an_epoch`` updates, not a pass over the text.
        updates_an_epoch: Number of updates per epoch, after each of which a run is measured.
        batch_size: Windows of the text for an update, drawn anew for each.
        learning_rate: Adam's, after the warm-up.
        warm_up: Updates over which the learning rate rises along a straight line.
        decay: Updates after which the learning rate has fallen to 0, along half a cosine. ``None``
            keeps it.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Added to the variance in every norm.
        windows: Of the validation text, evenly spaced, on which the loss is measured.
        ablate: Whether to measure, too, what each change of the norms costs at test time, and to
            keep the weights.
        first_epoch_points: Number of measurements within the first epoch.
    """

    place: Place = "pre"
    norm: Norm = "layer"
    last_norm: bool = True
    qk_norm: Literal["none", "layer", "rms"] = "none"
    initialization: Initialization = "xavier"
    residual_scaling: bool = False
    data: Literal["tiny_shakespeare", "python_topics"] = "tiny_shakespeare"
    depth: Count = 12
    width: Count = 64
    heads: Count = 4
    length: Count = 64
    epochs: Count = 6
    updates_an_epoch: Count = 100
    batch_size: Count = 8
    learning_rate: Positive = 1e-3
    warm_up: Annotated[int, integer(0)] = 0
    decay: Count | None = None
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    windows: Count = 128
    ablate: bool = False
    first_epoch_points: Points = 4

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._must("heads", f"a divisor of width {self.width}", self.width % self.heads == 0)
        what = "omitted where norm is not layer, because it removes layer norms"
        self._must("ablate", what, self.norm == "layer" or not self.ablate)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values; residual scaling where there is some.

        Most records are older than this setting.
        """
        return {k: v for k, v in super().as_dict().items() if v or k != "residual_scaling"}

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        none = self.norm == "none"
        idle = {
            "place": none,
            "last_norm": none or self.place == "post",
            "eps": self.norm in ("none", "tanh") and self.qk_norm == "none",
        }
        return tuple(name for name, is_idle in idle.items() if is_idle)


def _skip_combination(run: dict[str, Any], runs: list[dict[str, Any]]) -> bool:
    # Without a norm there is no place: one of them is enough.
    return run["norm"] == "none" and run["place"] != runs[0]["place"]


SEEDS = range(3)
RATES = (3e-4, 1e-3, 3e-3)
_WHERE = {"place": ("pre", "post"), "norm": ("layer", "none"), "warm_up": (0, 60)}
_KINDS = {"depth": (12,), "learning_rate": RATES, "warm_up": (60,)}
# What the page runs: it is trained longer, and falls still.
PAGE = {
    "depth": (2,),
    "place": ("pre",),
    "initialization": ("normal",),
    "epochs": 6,
    "updates_an_epoch": 1000,
    "batch_size": 16,
    "learning_rate": (6e-3,),
    "warm_up": (100,),
    "decay": 6000,
    "windows": 512,
    "ablate": True,
    "first_epoch_points": 1,
}
# The first gradient: nothing is trained, but for one update.
START = {
    "depth": (2, 6, 12, 24),
    "place": ("pre", "post"),
    "initialization": ("normal", "xavier", "pytorch"),
    "warm_up": (0,),
    "epochs": 1,
    "updates_an_epoch": 1,
    "windows": 16,
    "first_epoch_points": 1,
}
# Four hours of one thread, that nothing else uses.
GRIDS = (
    Grid(range(10), START),
    Grid(SEEDS, {**_WHERE, "depth": (12,), "learning_rate": (1e-3,)}),
    Grid(SEEDS, PAGE),
    Grid(SEEDS, {**_WHERE, "depth": (12,), "learning_rate": (3e-4, 3e-3)}),
    Grid(
        SEEDS,
        {**_WHERE, "depth": (12,), "learning_rate": RATES, "initialization": ("normal",)},
    ),
    Grid(SEEDS, {**_KINDS, "place": ("pre",), "norm": ("rms", "tanh")}),
    Grid(SEEDS, {**_KINDS, "place": ("pre",), "last_norm": False}),
    Grid(SEEDS, {**_KINDS, "place": ("pre",), "qk_norm": "layer"}),
    Grid(SEEDS, {**_KINDS, "place": ("sandwich",)}),
    Grid(SEEDS, {**_WHERE, "depth": (6,), "learning_rate": RATES}),
    Grid(SEEDS, {**_WHERE, "depth": (24,), "learning_rate": (3e-4, 1e-3)}),
    Grid(SEEDS, {**_WHERE, "depth": (24,), "learning_rate": (3e-3,)}),
)


def _both_scalings(seeds: range, overrides: dict[str, Any]) -> tuple[Grid, Grid]:
    """Return a grid from GPT-2's initialization, without its residual scaling and with it."""
    overrides = {"initialization": ("gpt2",), **overrides}
    return Grid(seeds, overrides), Grid(seeds, {**overrides, "residual_scaling": True})


_TWELVE = {"depth": (12,), "place": ("pre", "post"), "learning_rate": (3e-3,), "warm_up": (0,)}
_DEEP = {**_TWELVE, "depth": (24,), "learning_rate": (1e-3, 3e-3)}
# Without residual scaling no pre-norm network of 24 blocks, and none without a norm, was trained.
GPT2 = (
    *_both_scalings(SEEDS, {**_TWELVE, "norm": ("layer",), "warm_up": (0, 60)}),
    _both_scalings(SEEDS, {**_DEEP, "place": ("pre",), "norm": ("layer", "none")})[1],
    *_both_scalings(SEEDS, {**_TWELVE, "norm": ("none",), "warm_up": (0, 60)}),
    *_both_scalings(SEEDS, {**_WHERE, "depth": (12,), "learning_rate": (1e-3,)}),
    *_both_scalings(SEEDS, {**_WHERE, "depth": (12,), "learning_rate": (3e-4,), "warm_up": (0,)}),
    *_both_scalings(SEEDS, {**_DEEP, "place": ("post",), "norm": ("layer",), "warm_up": (0, 60)}),
    *_both_scalings(SEEDS, {**_WHERE, "depth": (6,), "learning_rate": (3e-3,), "warm_up": (0,)}),
)

EXPERIMENT = Experiment(
    name="transformer",
    about="ours: where the norm stands in a small transformer, which one it is, how it starts",
    paper={"section": "3", "task": "ours, not the paper's"},
    settings=Settings,
    key="{initialization}-{place}-{norm}-L{depth}-rate{learning_rate}-warm{warm_up}",
    label="{initialization}, {place}, {norm}, {depth} blocks, rate {learning_rate:g}",
    run="lnlab.experiments.transformer.run:Run",
    loss=("batch_nll", "nats"),
    measures={
        "val_nll": "nats",
        "broken_updates": "updates",
        "gradient_#": "nats per unit of a weight",
        "deviation_#": "units of the stream",
        "mean_share_#": "fraction",
        **{f"nll_{name}": "nats" for name in ABLATIONS},
    },
    arrays={
        "matrices": "int8, in units of the row's scale",
        "scales": "weight",
        "vectors": "weight",
        "norm_deviations": "units of the stream",
        "characters": "code point",
    },
    primary_metric="val_nll",
    sweep_axes={
        "initialization": ("xavier",),
        "depth": (12,),
        "place": ("pre", "post"),
        "norm": ("layer",),
        "learning_rate": (1e-3,),
        "warm_up": (0, 60),
    },
    defaults={"seeds": 3},
    skip_combination=_skip_combination,
    grids=(*GRIDS, *GPT2),
    threads=1,
)
