"""Seven questions, eight answers with the page behind each, and code in PyTorch."""

import html
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lnbook.chapters.which_norm.snippets import SNIPPETS
from lnbook.display import Displayed
from lnbook.figures.css_filter import Group, attributes, card, live, shown

TITLE = "Which norm for your network?"
GROUPS = {
    "data": Group(
        "Network",
        {
            "text": "text transformer",
            "image": "image transformer",
            "conv": "convolutional",
            "rnn": "LSTM or GRU",
            "table": "tabular data (MLP)",
        },
        "text",
    ),
    "weights": Group(
        "Weights", {"new": "trained from scratch", "loaded": "from a checkpoint"}, "new"
    ),
    "batch": Group(
        "Batch size per device", {"small": "fewer than 16", "large": "16 or more"}, "small"
    ),
    "depth": Group("Blocks", {"few": "fewer than 12", "many": "12 or more"}, "many"),
    "sequence": Group(
        "Inputs", {"one": "of equal size", "padded": "padded", "streamed": "streamed"}, "padded"
    ),
    "precision": Group(
        "Precision",
        {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"},
        "bfloat16",
    ),
    "devices": Group(
        "Devices",
        {"one": "one", "several": "several", "split": "several, with features split"},
        "one",
    ),
}
ASPECTS = ("Norm", "Axes", "Placement", "eps", "dtype", "Gain, bias", "Weight decay", "Devices")


@dataclass(frozen=True)
class Line:
    """An answer about one aspect.

    Args:
        aspect: One of :data:`ASPECTS`.
        text: The answer.
        page: The chapter behind it, with its section after ``#``; only the section, for this
            chapter.
        when: The choices for which it is the answer.
    """

    aspect: str
    text: str
    page: str
    when: Mapping[str, tuple[str, ...]]

    def link(self, suffix: str) -> str:
        """Return the link to the page; ``suffix`` is the suffix of page names."""
        page, _, section = self.page.partition("#")
        here = f"#{section}" if suffix == ".html" and section else ""
        return f"{page}{suffix}{here}" if page else here or "#"


def _line(aspect: str, text: str, page: str, **when: str) -> Line:
    return Line(aspect, text, page, {group: tuple(v.split()) for group, v in when.items()})


TRANSFORMER = "text image"
LINES = (
    _line("Norm",
          "The same as in the checkpoint. Layer norm without a bias and RMS norm load each "
          "other's weights without an error, but compute different functions.",
          "#normalization-in-well-known-models", weights="loaded", data="text image rnn table"),
    _line("Norm",
          "The same as in the checkpoint. If it is batch norm, keep it in eval mode (frozen), "
          "because the statistics of a small batch are too noisy.",
          "loading_checkpoints#batch-norm-with-batch-size-2-freeze-batchnorm",
          weights="loaded", data="conv", batch="small"),
    _line("Norm",
          "The same as in the checkpoint. Batch norm computes a different function in eval mode, "
          "so test the model there.",
          "normalization_axes#running-statistics-training-and-inference",
          weights="loaded", data="conv", batch="large"),
    _line("Norm",
          "RMS norm or layer norm, whichever is faster on your hardware.",
          "rms_norm#why-do-language-models-use-rmsnorm", weights="new", data="text"),
    _line("Norm",
          "Layer norm, as in the image transformers in the table.",
          "#normalization-in-well-known-models", weights="new", data="image"),
    _line("Norm",
          "Group norm. With so few examples, the batch statistics of batch norm are noisy.",
          "normalization_axes#dependence-on-the-batch",
          weights="new", data="conv", sequence="one", batch="small"),
    _line("Norm",
          "Batch norm. It computes a different function in eval mode, so test the model there.",
          "normalization_axes#running-statistics-training-and-inference",
          weights="new", data="conv", sequence="one", batch="large"),
    _line("Norm",
          "Layer norm over the channels of each position, which neither the padding nor the rest "
          "of the batch can affect.",
          "normalization_axes#padding-changes-the-output",
          weights="new", data="conv", sequence="padded"),
    _line("Norm",
          "Layer norm over the channels of each position, which neither later steps nor the rest "
          "of the batch can affect.",
          "normalization_axes#streaming-causal-models-and-time-series",
          weights="new", data="conv", sequence="streamed"),
    _line("Norm",
          "Try the cell with and without layer norm. On digits read row by row, LayerNormLSTM and "
          "LayerNormGRU needed fewer updates than nn.LSTM and nn.GRU; pixel by pixel, they ended "
          "with a higher error.",
          "lstm_gru#training-results-digits-row-by-row-and-pixel-by-pixel",
          weights="new", data="rnn"),
    _line("Norm",
          "Layer norm. On MNIST, batch norm has a much higher error at batch size 4.",
          "mnist#effect-of-the-batch-size", weights="new", data="table", batch="small"),
    _line("Norm",
          "Batch norm or layer norm. On MNIST with batches of 128, both have a lower error than a "
          "network without normalization, and the two are too close to rank.",
          "mnist#results-robustness-and-speed", weights="new", data="table", batch="large"),

    _line("Axes",
          "The channels of one token, so padding and later tokens cannot affect its output.",
          "normalization_axes#padding-changes-the-output", data=TRANSFORMER),
    _line("Axes",
          "The units at one time step, with new statistics at every step.",
          "recurrent_networks#padding-and-packed-sequences", data="rnn"),
    _line("Axes",
          "The features of one row; for batch norm, one feature over the batch.",
          "normalization_axes#one-formula-for-all-norms", data="table"),
    _line("Axes",
          "For group norm, the channels of a group and all positions of one image; for batch norm, "
          "one channel over all images and positions. The modules expect the channels on axis 1.",
          "normalization_axes#axes-of-sequences-and-images", data="conv", sequence="one"),
    _line("Axes",
          "The channels at each position. A mean over height and width, or over time, would "
          "include the padding unless it is masked.",
          "normalization_axes#padding-changes-the-output", data="conv", sequence="padded"),
    _line("Axes",
          "The channels at each position, because a mean over time would include future steps.",
          "normalization_axes#axes-of-sequences-and-images", data="conv", sequence="streamed"),

    _line("Placement",
          "The same as in the checkpoint's code. The weights do not show whether it is pre- or "
          "post-norm.",
          "#normalization-in-well-known-models", weights="loaded", data=TRANSFORMER),
    _line("Placement",
          "The same as in the checkpoint's code. The weights often load into another order of "
          "norm and activation without an error.",
          "#batch-norm-before-or-after-the-activation-relu", weights="loaded", data="conv table"),
    _line("Placement",
          "The same as in the checkpoint's code: four different cells are called LN-LSTM.",
          "lstm_gru#four-cells-called-ln-lstm", weights="loaded", data="rnn"),
    _line("Placement",
          "Pre-norm with a final norm, the common choice at every depth.",
          "pre_norm_post_norm#what-is-established", weights="new", data=TRANSFORMER, depth="few"),
    _line("Placement",
          "Pre-norm with a final norm, and with the last matrix of each sublayer multiplied by "
          "1/√(2N) at initialization, where N is the number of blocks (residual scaling). This "
          "keeps the residual stream small at any depth.",
          "residual_scaling#what-share-of-the-residual-stream-does-a-block-contribute",
          weights="new", data=TRANSFORMER, depth="many"),
    _line("Placement",
          "Between the convolution and the non-linearity. A convolution before batch norm needs no "
          "bias.",
          "troubleshooting#is-the-bias-before-a-norm-redundant", weights="new", data="conv"),
    _line("Placement",
          "Inside the cell: on Wₓx and Wₕh separately, and in an LSTM also on the cell state.",
          "lstm_gru#one-step-of-a-layer-normalized-lstm", weights="new", data="rnn"),
    _line("Placement",
          "On the summed inputs, before the non-linearity.",
          "layer_norm_from_scratch#forward-pass-in-three-steps", weights="new", data="table"),

    _line("eps",
          "The value in the checkpoint's configuration; the weights do not contain it.",
          "loading_checkpoints#small-output-differences-after-loading-weights-mismatched-eps",
          weights="loaded"),
    _line("eps",
          "1e-5, set explicitly, because defaults differ.",
          "invariances#when-eps-and-bias-break-the-invariance",
          weights="new", precision="float32 bfloat16"),
    _line("eps",
          "1e-5, set explicitly. 1e-12 would be 0 in float16.",
          "nan_overflow#nan-or-zeros-in-float16", weights="new", precision="float16"),

    _line("dtype",
          "float32 everywhere.",
          "layer_norm_from_scratch#numerical-precision-of-the-variance", precision="float32"),
    _line("dtype",
          "Statistics in float32, then cast back, as PyTorch's own norms do. Under autocast on a "
          "GPU, layer norm and group norm return float32, and so does RMS norm since PyTorch 2.12.",
          "mixed_precision#which-dtype-does-a-normalization-layer-return-under-autocast",
          precision="bfloat16"),
    _line("dtype",
          "Statistics in float32, then cast back: squares above 65,504 overflow.",
          "mixed_precision#why-are-the-statistics-computed-in-float32", precision="float16"),

    _line("Gain, bias",
          "Those in the checkpoint. Their names differ in Keras, Flax, and early BERT "
          "files. Some models store w and use 1 + w as the gain.",
          "export#names-and-eps-in-other-frameworks",
          weights="loaded"),
    _line("Gain, bias",
          "A gain initialized to 1 and no bias, as in most language models in the table since "
          "2023.",
          "#normalization-in-well-known-models", weights="new", data="text"),
    _line("Gain, bias",
          "One gain and one bias per channel, initialized to 1 and 0.",
          "normalization_axes#learnable-gain-and-bias", weights="new", data="conv table"),
    _line("Gain, bias",
          "One gain and one bias per channel, initialized to 1 and 0. In a diffusion "
          "transformer, both are computed from the time step and the class (adaLN-Zero).",
          "conditional_normalization#adaln-zero-in-pytorch-gate-and-zero-initialization",
          weights="new", data="image"),
    _line("Gain, bias",
          "A gain initialized to 1, not to 0 or 0.1, and one bias instead of PyTorch's two.",
          "lstm_gru#initialization-of-the-gain", weights="new", data="rnn"),

    _line("Weight decay",
          "None for gain and bias: apply it only to parameters with two or more axes. This is "
          "a convention.",
          "troubleshooting#should-weight-decay-apply-to-norm-weights",
          data="text image conv rnn table"),

    _line("Devices",
          "Nothing to communicate. Use a fused kernel: a norm written by hand is slower and "
          "keeps two or four times as much memory for the backward pass.",
          "memory_kernels#is-the-fused-kernel-used", devices="one"),
    _line("Devices",
          "No statistics to communicate. If the tokens of a sequence are split over devices, sum "
          "the gradients of gain and bias.",
          "distributed_training#what-has-to-be-communicated",
          devices="several", data="text image rnn"),
    _line("Devices",
          "No statistics to communicate, except for batch norm with few examples per device.",
          "distributed_training#what-has-to-be-communicated",
          devices="several", data="conv table"),
    _line("Devices",
          "The sums for the statistics of each token, in one message per pass, as in "
          "lnlib.nn.ParallelLayerNorm and ParallelRMSNorm.",
          "distributed_training#what-has-to-be-communicated",
          devices="split", data="text image rnn"),
    _line("Devices",
          "For layer norm, the sums for the statistics of each row or position. For batch norm, "
          "and for group norm with whole groups on each device, nothing.",
          "distributed_training#what-has-to-be-communicated",
          devices="split", data="conv table"),
)  # fmt: skip


def answers(**chosen: str) -> list[Line]:
    """Return the lines that match a choice, in the order of :data:`ASPECTS`."""
    return [line for line in LINES if shown(line.when, chosen)]


def every_choice() -> Iterator[dict[str, str]]:
    """Yield every combination of answers."""
    for values in itertools.product(*(group.options for group in GROUPS.values())):
        yield dict(zip(GROUPS, values, strict=True))


class Chooser(Displayed):
    """The choices, and for each aspect a line with the page behind it."""

    def __repr__(self) -> str:
        """Return the answers for the initial choices, as text."""
        start = {group: choice.start for group, choice in GROUPS.items()}
        defaults = "; ".join(f"{g.label}: {g.options[g.start]}" for g in GROUPS.values())
        lines = [f"{line.aspect:13} {line.text}" for line in answers(**start)]
        return "\n".join([TITLE, defaults, *lines])

    def to_html(self, suffix: str = ".html") -> str:
        """Return all lines as HTML; a style sheet hides those that do not match the choices.

        Args:
            suffix: The suffix of page names in links.
        """
        rows = ""
        for aspect in ASPECTS:
            lines = "".join(_row(line, suffix) for line in LINES if line.aspect == aspect)
            rows += f"<dt>{aspect}</dt><dd>{lines}</dd>"
        code = "".join(
            f'<div class="highlight"{attributes(snippet.when)}>'
            f"<pre>{html.escape(snippet.code)}</pre></div>"
            for snippet in SNIPPETS
        )
        body = f'<dl aria-live="polite">{rows}</dl><p class="ln-title">In PyTorch</p>{code}'
        return card("ln-chooser", TITLE, GROUPS, body)

    def widget(self) -> Any:
        """Build the live widget: the same HTML, with links to notebooks."""
        return live(self.to_html(".ipynb"))


def _row(line: Line, suffix: str) -> str:
    link = f'<a href="{line.link(suffix)}" aria-label="Why: {html.escape(line.text)}">why</a>'
    return f"<p{attributes(line.when)}>{html.escape(line.text)} {link}</p>"
