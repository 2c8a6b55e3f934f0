"""The attentive reader (section 6.2), two LSTMs and what attention makes of them."""

from __future__ import annotations

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _lstm(row: float, note: str, says: str) -> Box:
    return Box("block", 1.7, row, "LSTM", f"{says}; with the norm, eqs. 20-22", note=note,
               tone="layer", wide=40)  # fmt: skip


FLOW = Flow(
    {
        "x": Box("end", 0, 0, "story", wide=40),
        "q": Box("end", 0, 2, "question", wide=40),
        "read": _lstm(0, "64 units", "reads the story: a state at every word"),
        "ask": _lstm(2, "64 units", "reads the question, and hands over its last state"),
        "match": Box(
            "gate", 3.2, 1, "match", "how well each word of the story, in its context, fits the "
            "question: one score a word", tone="ln-first", wide=34,
        ),
        "look": Box(
            "weight", 4.6, 0, "softmax", "attention: the scores as shares of 1, and the mean of "
            "the story's states by these shares", wide=40,
        ),
        "mix": Box("sum", 6, 1, says="what was found and what was asked, mixed by two matrices"),
        "name": Box(
            "end", 7.3, 1, "name", "a probability for each name in the story, and for no other "
            "word", wide=30,
        ),
    },
    (
        Wire("x", "read"),
        Wire("q", "ask"),
        Wire("read", "match", "hv"),
        Wire("ask", "match", "hv"),
        Wire("read", "look"),
        Wire("match", "look", "hv"),
        Wire("look", "mix", "hv"),
        Wire("ask", "mix", "hv"),
        Wire("mix", "name"),
    ),
    "One LSTM reads the story, another the question. A score says how well each word fits the "
    "question; a softmax makes attention of the scores. What it finds, and the question, choose "
    "a name of the story. The norms are in both LSTMs.",
)  # fmt: skip


def network() -> Diagram:
    """Draw both LSTMs, the attention and the answer."""
    title = "The attentive reader, with the norm of section 6.2"
    return Diagram("ln-diagram-flow", title, FLOW.body(), FLOW.said)
