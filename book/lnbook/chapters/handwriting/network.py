"""Three LSTMs, a window over the text and a mixture, one point as boxes and wires."""

from __future__ import annotations

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _lstm(column: float, number: int) -> Box:
    says = (
        f"layer {number}: an LSTM with three norms, $LN(W_x x)$, $LN(W_h h)$ and $LN(c)$, "
        "eqs. 20-22"
    )
    return Box("block", column, 1.35, "LSTM", says, note="3 LN", tone="layer", wide=34)


FLOW = Flow(
    {
        "pen": Box("end", 0, 0, "pen", wide=30),
        "text": Box("end", 0, 2.9, "text", wide=30),
        "one": _lstm(1.6, 1),
        "window": Box(
            "gate", 1.6, 2.9, "window",
            "ten bells that only move on: they show a mixture of the characters they stand over",
            tone="ln-second", wide=36,
        ),
        "two": _lstm(3.5, 2),
        "three": _lstm(5.4, 3),
        "mixture": Box(
            "gate", 7.2, 1.35, "mixture",
            "20 Gaussians that say where the pen may go, and the probability that it is lifted; "
            "it sees all three layers",
            tone="ln-first", wide=38,
        ),
        "next": Box("end", 8.7, 1.35, "next", "one point is drawn, and fed in as the pen's next",
                    wide=30),
    },
    (
        Wire("pen", "one", "hv"),
        Wire("pen", "two", "hv", start=1.6),
        Wire("pen", "three", "hv", start=3.5),
        Wire("text", "window"),
        Wire("one", "window"),
        Wire("window", "two", "hv"),
        Wire("window", "three", "hv", start=3.5),
        Wire("one", "two"),
        Wire("two", "three"),
        Wire("three", "mixture"),
        Wire("mixture", "next"),
    ),
    "One point. Each LSTM reads the pen's last move, what the window shows of the text, and the "
    "layer before it. The first moves the window on; what it shows then, it reads itself one point "
    "later. Three norms are in each LSTM, none in window and mixture.",
)  # fmt: skip


def network() -> Diagram:
    """Draw one point of the handwriting network."""
    title = "One point of the network of section 6.5"
    return Diagram("ln-diagram-flow", title, FLOW.body(), FLOW.said)
