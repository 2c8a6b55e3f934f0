"""Diagram of the attentive reader (section 6.2): two LSTMs, attention, and the answer."""

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _lstm(row: float, note: str, text: str) -> Box:
    return Box("block", 1.7, row, "LSTM", f"{text}; with layer norm: eqs. 20-22", note=note,
               tone="layer", wide=40)  # fmt: skip


FLOW = Flow(
    {
        "x": Box("end", 0, 0, "passage", wide=40),
        "q": Box("end", 0, 2, "question", wide=40),
        "read": _lstm(0, "64 units", "reads the passage and outputs a state for every word"),
        "query": _lstm(2, "64 units", "reads the question and outputs its last state"),
        "score": Box(
            "gate", 3.2, 1, "score", "how well each word of the passage, in its context, matches "
            "the question: one score per word", tone="ln-first", wide=34,
        ),
        "attend": Box(
            "weight", 4.6, 0, "softmax", "attention: weights that sum to 1, and the weighted "
            "mean of the passage's states", wide=40,
        ),
        "sum_up": Box("sum", 6, 1, text="each is multiplied by a matrix; the results are added"),
        "name": Box(
            "end", 7.3, 1, "name", "a probability for each name of the passage", wide=30,
        ),
    },
    (
        Wire("x", "read"),
        Wire("q", "query"),
        Wire("read", "score", "hv"),
        Wire("query", "score", "hv"),
        Wire("read", "attend"),
        Wire("score", "attend", "hv"),
        Wire("attend", "sum_up", "hv"),
        Wire("query", "sum_up", "hv"),
        Wire("sum_up", "name"),
    ),
    "One LSTM reads the passage, another the question. Each word of the passage gets a score for "
    "how well it matches the question, and a softmax turns the scores into attention. The mean of "
    "the passage's states, weighted by attention, and the question's state give a probability for "
    "each name. Layer norm is applied inside both LSTMs.",
)  # fmt: skip


def network() -> Diagram:
    """Return the diagram of both LSTMs, the attention and the answer."""
    title = "The attentive reader with layer norm"
    return Diagram("ln-diagram-flow", title, FLOW.body(), FLOW.description)
