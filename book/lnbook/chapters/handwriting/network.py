"""Diagram of the network: three LSTMs, a window over the text, and a mixture density."""

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire


def _lstm(column: float, number: int) -> Box:
    text = (
        f"layer {number}: an LSTM with three norms, $LN(W_x x)$, $LN(W_h h)$ and $LN(c)$, "
        "eqs. 20-22"
    )
    return Box("block", column, 1.35, "LSTM", text, note="3 LN", tone="layer", wide=34)


FLOW = Flow(
    {
        "pen": Box("end", 0, 0, "pen", wide=30),
        "text": Box("end", 0, 2.9, "text", wide=30),
        "one": _lstm(1.6, 1),
        "window": Box(
            "gate", 1.6, 2.9, "window",
            "attention window: ten Gaussian components that only move forward; it returns a "
            "weighted sum of the characters' one-hot vectors",
            tone="ln-second", wide=36,
        ),
        "two": _lstm(3.5, 2),
        "three": _lstm(5.4, 3),
        "mixture": Box(
            "gate", 7.2, 1.35, "mixture",
            "density of the next movement: 20 Gaussians, and the probability that the pen is "
            "lifted; it reads the hidden states of all three layers",
            tone="ln-first", wide=38,
        ),
        "next": Box("end", 8.7, 1.35, "next", "the sampled movement, the input of the next step",
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
    "One time step. Each LSTM reads the last movement of the pen, the output of the window, and "
    "the layer below. The first LSTM moves the window; it reads the result itself one time step "
    "later. Each LSTM has three layer norms; the window and the mixture have none.",
)  # fmt: skip


def network() -> Diagram:
    """Return a diagram of one time step of the handwriting network."""
    title = "One time step of the network of section 6.5"
    return Diagram("ln-diagram-flow", title, FLOW.body(), FLOW.description)
