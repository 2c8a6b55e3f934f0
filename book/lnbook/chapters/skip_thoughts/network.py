"""Encoder and decoders, and how the vectors are judged."""

from __future__ import annotations

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _gru(column: float, row: float, note: str, says: str) -> Box:
    return Box("block", column, row, "GRU", f"{says}; with the norm, eqs. 26-28", note=note,
               tone="layer", wide=40)  # fmt: skip


FLOW = Flow(
    {
        "x": Box("end", 0, 1.5, "sentence", wide=40),
        "encoder": _gru(1.7, 1.5, "encoder", "reads the sentence word by word, into 128 numbers"),
        "v": Box("weight", 3, 1.5, "v", "its last state: the sentence's vector, 128 numbers"),
        "after": _gru(4.6, 0, "decoder", "writes the sentence after it, word by word, from v"),
        "before": _gru(4.6, 1.5, "decoder", "writes the sentence before it, word by word, from v"),
        "task": Box(
            "gate", 4.6, 3, "judge",
            "after training v is frozen; a logistic regression, 10-fold cross-validated, is all "
            "that learns the task", tone="ln-first", wide=40,
        ),
        "next": Box("end", 6.6, 0, "sentence", note="after", wide=40),
        "last": Box("end", 6.6, 1.5, "sentence", note="before", wide=40),
        "label": Box("end", 6.6, 3, "liked", note="or not", wide=40),
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
    "An encoder reads a sentence into a vector; from it two decoders write the sentence after it "
    "and the one before. All three are GRUs, with layer norm or without. The vector is then frozen "
    "and judged by a logistic regression.",
)  # fmt: skip


def network() -> Diagram:
    """Draw the encoder, both decoders, and the judge."""
    return Diagram("ln-diagram-flow", "Skip-thoughts, with the norm of section 6.3", FLOW.body(),
                   FLOW.said)  # fmt: skip
