"""Seven questions, eight answers, and the page of the book that computes each."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lnbook.display import bundle
from lnbook.figures.css_filter import Group, attributes, card, live, shown

__all__ = ["GROUPS", "LINES", "Chooser", "Line", "answers", "every_choice"]

TITLE = "Your norm in seven clicks"
GROUPS = {
    "data": Group(
        "Network",
        {
            "text": "text transformer",
            "image": "image transformer",
            "conv": "convolutional",
            "rnn": "LSTM or GRU",
            "table": "for rows of a table",
        },
        "text",
    ),
    "weights": Group("Weights", {"new": "new", "loaded": "a checkpoint's"}, "new"),
    "batch": Group("Examples a device", {"small": "1 to 8", "large": "16 or more"}, "small"),
    "depth": Group("Blocks", {"few": "up to 6", "many": "12 or more"}, "many"),
    "sequence": Group(
        "Inputs", {"one": "of one size", "padded": "padded", "streamed": "streamed"}, "padded"
    ),
    "precision": Group(
        "Precision",
        {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"},
        "bfloat16",
    ),
    "devices": Group("Devices", {"one": "one", "several": "several"}, "one"),
}
ASPECTS = ("Norm", "Mean over", "Place", "eps", "dtype", "Gain, bias", "Weight decay", "Devices")


@dataclass(frozen=True)
class Line:
    """One answer to one aspect.

    Args:
        aspect: One of :data:`ASPECTS`.
        text: The answer.
        page: The chapter that computes it, and after ``#`` its section; of this chapter, that
            alone.
        when: Under which choices it is the answer.
    """

    aspect: str
    text: str
    page: str
    when: Mapping[str, tuple[str, ...]]

    def link(self, suffix: str) -> str:
        """Return the address, ``suffix`` being that of a page here."""
        page, _, section = self.page.partition("#")
        here = f"#{section}" if suffix == ".html" and section else ""
        return f"{page}{suffix}{here}" if page else here or "#"


def _line(aspect: str, text: str, page: str, **when: str) -> Line:
    return Line(aspect, text, page, {group: tuple(v.split()) for group, v in when.items()})


TRANSFORMER = "text image"
LINES = (
    _line("Norm", "The checkpoint's. Layer norm without a bias and RMS norm load into each other's "
          "place without an error, and compute something else.",
          "#look-up-what-others-use", weights="loaded"),
    _line("Norm", "RMS norm or layer norm, whichever your kernels do faster.",
          "pre_norm_post_norm#see-what-rmsnorm-leaves-out", weights="new", data="text"),
    _line("Norm", "Layer norm, as the image transformers of the table.",
          "#look-up-what-others-use", weights="new", data="image"),
    _line("Norm", "Group norm. Batch norm would depend on who is in the batch.",
          "normalization_axes#change-the-other-examples",
          weights="new", data="conv", batch="small"),
    _line("Norm", "Batch norm; it computes something else in use, so test it there.",
          "normalization_axes#train-then-test", weights="new", data="conv", batch="large"),
    _line("Norm", "Try both: on digits LayerNormLSTM and LayerNormGRU learned from rows in fewer "
          "updates than nn.LSTM and nn.GRU, and from pixels ended with more errors.",
          "lstm_gru#learn-to-read-digits", weights="new", data="rnn"),
    _line("Norm", "Layer norm. Batch norm does badly at batch size 4.",
          "mnist#change-the-batch-size", weights="new", data="table", batch="small"),
    _line("Norm", "Batch or layer norm: at 128 both err less than none, too close to tell apart.",
          "mnist#judge-the-claims", weights="new", data="table", batch="large"),

    _line("Mean over", "The channels of one token; padding and later tokens cannot reach it.",
          "normalization_axes#keep-padding-out", data=TRANSFORMER),
    _line("Mean over", "The units of one step, at every step anew.",
          "recurrent_networks#mix-lengths", data="rnn"),
    _line("Mean over", "The features of one row, or for batch norm one feature of the batch.",
          "normalization_axes#choose-who-shares", data="table"),
    _line("Mean over", "Channels come first: say which axes you mean.",
          "normalization_axes#count-the-means-of-a-tensor", data="conv", sequence="one"),
    _line("Mean over", "Height and width as well, so padding gets in: mask it, or norm the "
          "channels of one place.", "normalization_axes#keep-padding-out", data="conv",
          sequence="padded"),
    _line("Mean over", "The channels of one place: a mean over time would need the future.",
          "normalization_axes#count-the-means-of-a-tensor", data="conv", sequence="streamed"),

    _line("Place", "The checkpoint's model has it in its code; weights do not tell pre from post.",
          "#look-up-what-others-use", weights="loaded", data=TRANSFORMER),
    _line("Place", "Pre-norm, and one last norm: the habit at every depth.",
          "pre_norm_post_norm#tell-what-is-settled", weights="new", data=TRANSFORMER, depth="few"),
    _line("Place", "Pre-norm, and one last norm. Without residual scaling post-norm got stuck at "
          "some rates, warmed up or not.",
          "pre_norm_post_norm#train-it", weights="new", data=TRANSFORMER, depth="many"),
    _line("Place", "Between convolution and nonlinearity; before batch norm, no bias.",
          "#a-bias-before-the-norm", data="conv"),
    _line("Place", "Inside: on the part from x, on that from h, in an LSTM on the cell, too.",
          "lstm_gru#take-one-step-of-an-lstm", data="rnn"),
    _line("Place", "On the summed inputs, before the nonlinearity.",
          "layer_norm_from_scratch#take-three-steps", data="table"),

    _line("eps", "The checkpoint's, from its configuration: the weights do not have it.",
          "#a-forgotten-eps", weights="loaded"),
    _line("eps", "1e-5, written down: defaults differ.",
          "invariances#find-where-it-ends", weights="new",
          precision="float32 bfloat16"),
    _line("eps", "1e-5, written down. Not 1e-12: in float16 that is 0.",
          "#nan-in-float16", weights="new", precision="float16"),

    _line("dtype", "float32 throughout.",
          "layer_norm_from_scratch#find-where-floats-break", precision="float32"),
    _line("dtype", "Statistics in float32, then back, as PyTorch's own norms do; under autocast on "
          "a GPU, layer norm and group norm return float32.",
          "layer_norm_from_scratch#find-where-floats-break", precision="bfloat16"),
    _line("dtype", "Statistics in float32, then back: squares above 65,504 are infinite.",
          "#nan-in-float16", precision="float16"),

    _line("Gain, bias", "The checkpoint's. Some store the gain as 1 + w.",
          "#look-up-what-others-use", weights="loaded"),
    _line("Gain, bias", "Gain from 1, no bias, as most language models of the table since 2023.",
          "#look-up-what-others-use", weights="new", data="text"),
    _line("Gain, bias", "Gain from 1, bias from 0, one of each a channel.",
          "normalization_axes#give-back-what-was-taken", weights="new", data="image conv table"),
    _line("Gain, bias", "Gain from 1, not 0 or 0.1; one bias, not PyTorch's two.",
          "lstm_gru#start-the-gain-at-one", weights="new", data="rnn"),

    _line("Weight decay", "None on gain and bias: decay parameters with two axes or more. A "
          "convention.",
          "#a-gain-under-weight-decay", data="text image conv rnn table"),

    _line("Devices", "Nothing to exchange; what a norm takes of your time is in the bytes.",
          "cost#measure-against-the-floor", devices="one"),
    _line("Devices", "No statistics to exchange, unless the features of one token are split over "
          "devices.",
          "cost#what-devices-exchange", devices="several", data="text image rnn"),
    _line("Devices", "No statistics to exchange, unless it is batch norm with few examples a "
          "device, or what shares a mean is split over devices.",
          "cost#what-devices-exchange", devices="several", data="conv table"),
)  # fmt: skip


def answers(**chosen: str) -> list[Line]:
    """Return the lines that a choice leaves, in the order of :data:`ASPECTS`."""
    return [line for line in LINES if shown(line.when, chosen)]


def every_choice() -> Iterator[dict[str, str]]:
    """Yield every combination of answers."""
    for values in itertools.product(*(group.options for group in GROUPS.values())):
        yield dict(zip(GROUPS, values, strict=True))


class Chooser:
    """The decision: choices, and a line for each aspect with the page that backs it."""

    def __repr__(self) -> str:
        """Return the answers at the start, as text."""
        start = {group: choice.start for group, choice in GROUPS.items()}
        asked = "; ".join(f"{g.label}: {g.options[g.start]}" for g in GROUPS.values())
        lines = [f"{line.aspect:13} {line.text}" for line in answers(**start)]
        return "\n".join([TITLE, asked, *lines])

    def to_html(self, suffix: str = ".html") -> str:
        """Write all lines; a style sheet hides those that were not chosen.

        Args:
            suffix: Of a page's name, in links.
        """
        rows = ""
        for aspect in ASPECTS:
            lines = "".join(_row(line, suffix) for line in LINES if line.aspect == aspect)
            rows += f"<dt>{aspect}</dt><dd>{lines}</dd>"
        return card("ln-chooser", TITLE, GROUPS, f'<dl aria-live="polite">{rows}</dl>')

    def widget(self) -> Any:
        """Build the live widget: the same, with links to notebooks."""
        return live(self.to_html(".ipynb"))

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return bundle(self)


def _row(line: Line, suffix: str) -> str:
    link = f'<a href="{line.link(suffix)}" aria-label="Why: {html.escape(line.text)}">why</a>'
    return f"<p{attributes(line.when)}>{html.escape(line.text)} {link}</p>"
