"""The residual stream of twelve blocks, drawn as it was recorded."""

from __future__ import annotations

from lnbook import diagrams
from lnbook.chapters.pre_norm_post_norm.runs import (
    BIGRAM,
    INITIALIZATION_NAMES,
    PAIRS,
    SINGLE,
    STUCK,
    UNIGRAM,
    Cell,
    Runs,
)
from lnbook.diagrams.rivers import PLACES, Gauge, State, number

DEPTH, RATE = 12, 1e-3
MARKS = {0: "no warm-up", 60: "warm-up"}


def river(runs: Runs) -> diagrams.Diagram:
    """Draw twelve blocks and their norms; the river is as wide as the recorded stream."""
    states = {
        place: {name: state(runs, place, key) for key, name in INITIALIZATION_NAMES.items()}
        for place in ("post", "pre", "sandwich", "none")
    }
    return diagrams.river(
        states,
        Gauge("loss, nats", 2.15, 3.45, {PAIRS: BIGRAM, SINGLE: UNIGRAM}),
        title="The residual stream: move the norm by one wire",
        starts="Initialization",
        bars="gradient norm",
        hint="A blue bar is a norm. Each block reads from the stream and adds to it: attention and "
        "a feed-forward network, a norm at each, drawn as one. The stream is as wide as the "
        "standard deviation of its features. Gradient norm: of the last matrix of each block, on a "
        "logarithmic scale. Both before the first update. The loss is of validation text after "
        "600 updates.",
    )


def state(runs: Runs, place: str, initialization: str) -> State:
    """Return what is recorded of one place and initialization, means over the seeds."""
    found = [runs.start(initialization, place, DEPTH, n) for n in ("deviation", "gradient")]
    losses = {
        label: runs.loss(Cell(initialization, place, DEPTH, RATE, warm_up))
        for warm_up, label in MARKS.items()
    }
    widths, bars = (None if f is None else f.mean(0).tolist() for f in found)
    marks = {label: None if v is None else float(v.mean()) for label, v in losses.items()}
    if all(v is None for v in losses.values()):
        marks = None
    said = f"{PLACES[place]}: "
    if widths is None:
        return State(f"{said}this start is not recorded.", widths, bars, marks)
    said += (
        f"behind the last block the stream's deviation is {number(widths[-1])}; the gradient's "
        f"length is {number(bars[0])} in the first block, {number(bars[-1])} in the last. "
    )
    if marks is None:
        return State(f"{said}It has not been trained here.", widths, bars, marks)
    ends = [
        f"{value:.2f} {'with' if label == 'warm-up' else 'without'} warm-up"
        + " (stuck: no better than counting single characters)" * (value > UNIGRAM - STUCK)
        for label, value in marks.items()
        if value is not None
    ]
    said += f"Trained, its loss in nats is {', '.join(ends)}."
    return State(said, widths, bars, marks)
