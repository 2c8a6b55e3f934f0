"""Ours: position and kind of norm in a small transformer, from first gradient to final loss.

The paper predates transformers by a year. A decoder-only transformer is trained to predict the
characters of tiny Shakespeare, with varying position and kind of norm, depth, initialization,
learning rate and warm-up (Xiong et al., 2020; Liu et al., 2020; Zhang and Sennrich, 2019; Zhu et
al., 2025). A run that diverges is recorded to its end.
"""

import dataclasses
from typing import Annotated, Any, Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, NotNegative, Points, Positive, integer
from lnlab.experiment import Experiment, Grid

Norm = Literal["none", "layer", "rms", "tanh"]
Place = Literal[
    "pre", "post", "sandwich", "mix_ln", "deepnorm", "ln_scaling", "layer_scale", "rezero"
]
Initialization = Literal["normal", "xavier", "pytorch", "gpt2"]
NORMS, PLACES, INITIALIZATIONS = get_args(Norm), get_args(Place), get_args(Initialization)
# Changes to a trained model, which `lnlab.experiments.transformer.ablation` makes.
ABLATIONS = {
    "removed": "all norms removed",
    "gain_and_bias": "all norms removed, with their gains and biases kept",
    "but_last": "all norms removed except the final norm",
    "last": "only the final norm removed",
    "rms": "RMSNorm with the same gain and bias",
    "frozen": "the std of each example replaced by the average over training text",
    "frozen_but_last": "the same, except for the final norm",
    "eps_thousandth": "eps 1e-3",
    "eps_hundredth": "eps 1e-2",
    "eps_tenth": "eps 0.1",
    "eps_one": "eps 1",
    "float16": "all in float16, except for the sums in the norms",
    "float16_sums": "all in float16, including the sums in the norms",
    "bfloat16": "all in bfloat16, except for the sums in the norms",
    "int8": "each matrix quantized to 8 bits, with a scale for each row",
}


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run. There is no dropout and no weight decay.

    Args:
        place: Position of the norms: ``pre``, before attention and feed-forward network; ``post``,
            after each residual sum, as published in 2017; ``sandwich``, before and after each
            sublayer; or ``mix_ln`` (Mix-LN), ``deepnorm``, ``ln_scaling`` (LayerNorm scaling),
            ``layer_scale`` or ``rezero``, as :class:`lnlib.nn.transformer.Transformer` defines
            them.
        norm: Kind of norm: ``layer``, ``rms``, ``tanh`` (dynamic tanh) or ``none``.
        last_norm: Whether there is a final norm before the output layer; it has no effect with
            ``post``.
        qk_norm: Norm of the queries and keys of each head.
        initialization: Initialization of the matrices: ``normal``, N(0, 0.02²) at any width;
            ``gpt2``, normal with standard deviation 0.02 √(768 / width), which is 0.02 at the width
            of GPT-2 small, and 0.02 for embeddings; ``xavier``, Xavier uniform, and N(0, 1/width)
            for embeddings; or ``pytorch``, the defaults of ``torch.nn``.
        residual_scaling: Whether the initial values of the two matrices of each block that write to
            the residual stream are multiplied by 1/√(2 depth), as in GPT-2.
        data: Text to train on; ``python_topics`` needs no download, but differs between versions of
            Python.
        depth: Number of blocks.
        width: Number of features of the residual stream per character.
        heads: Number of attention heads.
        length: Context length, in characters.
        epochs: Number of epochs, each of ``updates_per_epoch`` updates rather than a pass over the
            text.
        batch_size: Number of windows of the text per update, sampled at random.
        learning_rate: Learning rate of Adam after the warm-up.
        warm_up: Number of updates over which the learning rate increases linearly (warm-up).
        decay: Number of updates after which the learning rate has decreased to 0 (cosine decay).
            ``None`` keeps it constant.
        eps: Constant added to the variance in each norm.
        windows: Number of evenly spaced windows of the validation text on which the loss is
            evaluated.
        ablate: Whether to evaluate the trained model with its norms changed or removed, and to
            record its weights.
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
    updates_per_epoch: Count = 100
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
        if self.norm != "layer":
            reason = "where norm is not layer, because it removes layer norms"
            self._must_be_omitted("ablate", reason)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values; ``residual_scaling`` only if it is on.

        Most records are older than this setting.
        """
        return {k: v for k, v in super().as_dict().items() if v or k != "residual_scaling"}

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        none = self.norm == "none" or self.place == "rezero"
        idle = {
            "place": self.norm == "none" and self.place != "rezero",
            "norm": self.place == "rezero",
            "last_norm": none or self.place in ("post", "deepnorm"),
            "eps": (none or self.norm == "tanh") and self.qk_norm == "none",
        }
        return tuple(name for name, is_idle in idle.items() if is_idle)


def _skip_combination(run: dict[str, Any], runs: list[dict[str, Any]]) -> bool:
    # Without a norm, its position has no effect, so one value is enough.
    return run["norm"] == "none" and run["place"] != runs[0]["place"]


SEEDS = range(3)
RATES = (3e-4, 1e-3, 3e-3)
_BOTH = {"place": ("pre", "post"), "norm": ("layer", "none"), "warm_up": (0, 60)}
_AFTER_WARM_UP = {"depth": (12,), "learning_rate": RATES, "warm_up": (60,)}
_TUNED = {"depth": (12,), "learning_rate": RATES, "warm_up": (0, 60)}
# The model that the page runs; it is trained longer, and its learning rate decays to 0.
WIDGET_MODEL = {
    "depth": (2,),
    "place": ("pre",),
    "initialization": ("normal",),
    "epochs": 6,
    "updates_per_epoch": 1000,
    "batch_size": 16,
    "learning_rate": (6e-3,),
    "warm_up": (100,),
    "decay": 6000,
    "windows": 512,
    "ablate": True,
    "first_epoch_points": 1,
}
# For the gradient at initialization; there is only one update.
AT_INITIALIZATION = {
    "depth": (2, 6, 12, 24),
    "place": ("pre", "post"),
    "initialization": ("normal", "xavier", "pytorch"),
    "warm_up": (0,),
    "epochs": 1,
    "updates_per_epoch": 1,
    "windows": 16,
    "first_epoch_points": 1,
}
# About five and a half hours on one otherwise idle thread.
GRIDS = (
    Grid(range(10), AT_INITIALIZATION),
    Grid(SEEDS, {**_BOTH, "depth": (12,), "learning_rate": (1e-3,)}),
    Grid(SEEDS, WIDGET_MODEL),
    Grid(SEEDS, {**_BOTH, "depth": (12,), "learning_rate": (3e-4, 3e-3)}),
    Grid(
        SEEDS,
        {**_BOTH, "depth": (12,), "learning_rate": RATES, "initialization": ("normal",)},
    ),
    Grid(SEEDS, {**_AFTER_WARM_UP, "place": ("pre",), "norm": ("rms", "tanh")}),
    Grid(SEEDS, {**_AFTER_WARM_UP, "place": ("pre",), "last_norm": False}),
    Grid(SEEDS, {**_AFTER_WARM_UP, "place": ("pre",), "qk_norm": "layer"}),
    Grid(SEEDS, {**_AFTER_WARM_UP, "place": ("sandwich",)}),
    Grid(SEEDS, {**_BOTH, "depth": (6,), "learning_rate": RATES}),
    Grid(SEEDS, {**_BOTH, "depth": (24,), "learning_rate": (3e-4, 1e-3)}),
    Grid(SEEDS, {**_BOTH, "depth": (24,), "learning_rate": (3e-3,)}),
    # Other ways to scale what the blocks contribute, to be compared with pre- and post-norm.
    Grid(SEEDS, {**_TUNED, "place": ("mix_ln", "deepnorm", "ln_scaling", "layer_scale", "rezero")}),
    Grid(SEEDS, {**_TUNED, "place": ("sandwich",), "warm_up": (0,)}),
    Grid(SEEDS, {**_TUNED, "place": ("pre",), "residual_scaling": True}),
)


def _both_scalings(seeds: range, overrides: dict[str, Any]) -> tuple[Grid, Grid]:
    """Return grids with GPT-2's initialization, without and with its residual scaling."""
    overrides = {"initialization": ("gpt2",), **overrides}
    return Grid(seeds, overrides), Grid(seeds, {**overrides, "residual_scaling": True})


_TWELVE = {"depth": (12,), "place": ("pre", "post"), "learning_rate": (3e-3,), "warm_up": (0,)}
_DEEP = {**_TWELVE, "depth": (24,), "learning_rate": (1e-3, 3e-3)}
# With 24 blocks, pre-norm networks and networks without a norm were trained only with residual
# scaling.
GPT2 = (
    *_both_scalings(SEEDS, {**_TWELVE, "norm": ("layer",), "warm_up": (0, 60)}),
    _both_scalings(SEEDS, {**_DEEP, "place": ("pre",), "norm": ("layer", "none")})[1],
    *_both_scalings(SEEDS, {**_TWELVE, "norm": ("none",), "warm_up": (0, 60)}),
    *_both_scalings(SEEDS, {**_BOTH, "depth": (12,), "learning_rate": (1e-3,)}),
    *_both_scalings(SEEDS, {**_BOTH, "depth": (12,), "learning_rate": (3e-4,), "warm_up": (0,)}),
    *_both_scalings(SEEDS, {**_DEEP, "place": ("post",), "norm": ("layer",), "warm_up": (0, 60)}),
    *_both_scalings(SEEDS, {**_BOTH, "depth": (6,), "learning_rate": (3e-3,), "warm_up": (0,)}),
)

EXPERIMENT = Experiment(
    name="transformer",
    about="ours: position and kind of norm, depth and initialization in a small transformer",
    paper={"section": "3", "task": "ours, not the paper's"},
    settings=Settings,
    key="{initialization}-{place}-{norm}-L{depth}-rate{learning_rate}-warm{warm_up}",
    label="{initialization}, {place}, {norm}, {depth} blocks, rate {learning_rate:g}",
    run="lnlab.experiments.transformer.run:TransformerRun",
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
