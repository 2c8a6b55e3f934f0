"""Diagram of skip-thoughts: the encoder, both decoders, and the evaluation on a task."""

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _gru(column: float, row: float, note: str, text: str) -> Box:
    return Box("block", column, row, "GRU", f"{text}; with layer norm: eqs. 26-28", note=note,
               tone="layer", wide=40)  # fmt: skip


FLOW = Flow(
    {
        "x": Box("end", 0, 1.5, "sentence", wide=40),
        "encoder": _gru(1.7, 1.5, "encoder", "reads the sentence word by word"),
        "v": Box("weight", 3, 1.5, "v", "the last state: the sentence vector, 128 numbers"),
        "after": _gru(4.6, 0, "decoder", "predicts the next sentence word by word, from v"),
        "before": _gru(4.6, 1.5, "decoder", "predicts the previous sentence word by word, from v"),
        "task": Box(
            "gate", 4.6, 3, "classifier",
            "a logistic regression on v, trained on a task after the encoder is frozen",
            tone="ln-first", wide=40,
        ),
        "next": Box("end", 6.6, 0, "next", note="sentence", wide=40),
        "last": Box("end", 6.6, 1.5, "previous", note="sentence", wide=40),
        "label": Box("end", 6.6, 3, "label", note="of a task", wide=40),
    },
    (
        Wire("x", "encoder"),
        Wire("encoder", "v"),
        Wire("v", "after", "vh", start=3.6),
        Wire("v", "before"),
        Wire("v", "task", "vh", start=3.6),
        Wire("after", "next"),
        Wire("before", "last"),
        Wire("task", "label"),
    ),
    "An encoder turns a sentence into a vector. From this vector two decoders predict the next and "
    "the previous sentence. All three are GRUs, with or without layer norm. Then the encoder "
    "is frozen, and a logistic regression on its vectors is trained on a task.",
)  # fmt: skip


def network() -> Diagram:
    """Return the diagram of encoder, decoders and classifier."""
    return Diagram("ln-diagram-flow", "Skip-thoughts with layer norm", FLOW.body(),
                   FLOW.description)  # fmt: skip
