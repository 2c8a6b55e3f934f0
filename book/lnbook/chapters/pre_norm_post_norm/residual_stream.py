"""Diagram of the residual stream of twelve blocks, with recorded values."""

from lnbook import diagrams
from lnbook.chapters.pre_norm_post_norm.runs import (
    BIGRAM,
    BIGRAM_LABEL,
    INITIALIZATION_NAMES,
    STUCK,
    UNIGRAM,
    UNIGRAM_LABEL,
    RunKey,
    TransformerRuns,
)
from lnbook.diagrams.residual_streams import PLACEMENTS, Gauge, State, number

DEPTH, RATE = 12, 1e-3
MARKS = {0: "no warm-up", 60: "warm-up"}


def residual_stream(runs: TransformerRuns) -> diagrams.Diagram:
    """Return a diagram of twelve blocks in which the stream is as wide as its recorded std."""
    states = {
        placement: {name: state(runs, placement, key) for key, name in INITIALIZATION_NAMES.items()}
        for placement in ("post", "pre", "sandwich", "none")
    }
    return diagrams.residual_stream(
        states,
        Gauge("loss, nats", 2.15, 3.45, {BIGRAM_LABEL: BIGRAM, UNIGRAM_LABEL: UNIGRAM}),
        title="Only post-norm normalizes the residual stream in each block",
        starts="Initialization",
        bars="gradient norm",
        hint="A blue bar is a norm. Each block reads the residual stream and adds to it; its "
        "attention and feed-forward network, each with a norm, are drawn as one box. The width of "
        "the stream shows the standard deviation of its features. The gradient norm is that of the "
        "last matrix of each block, on a logarithmic scale. Both are measured before the first "
        "update. The loss is the validation loss after 600 updates.",
    )


def state(runs: TransformerRuns, placement: str, initialization: str) -> State:
    """Return the recorded values for a placement and an initialization, as means over the seeds."""
    results = [runs.initial(initialization, placement, DEPTH, n) for n in ("deviation", "gradient")]
    losses = {
        label: runs.loss(RunKey(initialization, placement, DEPTH, RATE, warm_up))
        for warm_up, label in MARKS.items()
    }
    widths, bars = (None if f is None else f.mean(0).tolist() for f in results)
    marks = {label: None if v is None else float(v.mean()) for label, v in losses.items()}
    if all(v is None for v in losses.values()):
        marks = None
    text = f"{PLACEMENTS[placement]}: "
    if widths is None:
        return State(f"{text}this initialization is not recorded.", widths, bars, marks)
    text += (
        f"after the last block the residual stream has std [{number(widths[-1])}](last-std); the "
        f"gradient norm is [{number(bars[0])}](first-bar) in the first block and "
        f"[{number(bars[-1])}](last-bar) in the last. "
    )
    if marks is None:
        return State(f"{text}No network was trained from this initialization.", widths, bars, marks)
    ends = [
        f"[{value:.2f}]({mark}) {'with' if label == 'warm-up' else 'without'} warm-up"
        + " (stuck at the unigram entropy)" * (value > UNIGRAM - STUCK)
        for mark, (label, value) in zip(("first-loss", "second-loss"), marks.items(), strict=True)
        if value is not None
    ]
    text += f"After training, the loss in nats is {' and '.join(ends)}."
    return State(text, widths, bars, marks)
