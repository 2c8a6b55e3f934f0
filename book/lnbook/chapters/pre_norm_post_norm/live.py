"""A short training run, live or as recorded."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import (
    BIGRAM,
    BIGRAM_LABEL,
    KINDS,
    UNIGRAM,
    UNIGRAM_LABEL,
    RunKey,
    TransformerRuns,
)
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, label_ends

Point = dict[str, Any]  # from lnlab.experiments.transformer.live.short_run
UPDATES, TOP = 600, 4.4
TEXTS = {"tiny_shakespeare": "tiny Shakespeare", "python_topics": "Python help texts"}


def recorded_run(runs: TransformerRuns, place: str, warm_up: int) -> list[Point]:
    """Return a recorded run on tiny Shakespeare in the format of a live run."""
    cell = RunKey("xavier", place, 12, 1e-3, warm_up)
    lines = {"unigram": UNIGRAM, "bigram": BIGRAM, "text": "tiny_shakespeare"}
    losses = runs.trained.curves(cell, "val_nll")[0]
    return [
        {"updates": round(float(updates)), "loss": float(loss), **lines}
        for updates, loss in zip(runs.updates, losses, strict=True)
    ]


def draw_live(results: Sequence[Point], place: str, warm_up: int) -> list[go.Figure]:
    """Draw the validation loss so far, with unigram and bigram entropy."""
    figure, last = go.Figure(), results[-1]
    add_line(
        figure,
        [p["updates"] for p in results],
        [min(p["loss"], TOP) for p in results],
        KINDS[place],
        "after %{x} updates: %{y:.3f} nats<extra></extra>",
        size=6,
    )
    for name, value in ((UNIGRAM_LABEL, last["unigram"]), (BIGRAM_LABEL, last["bigram"])):
        add_line(
            figure,
            [0, UPDATES],
            [value, value],
            (name, COLORS["gray"], "dot"),
            f"{name} entropy: %{{y:.3f}} nats<extra></extra>",
            width=1.5,
        )
    figure.update_layout(
        title=f"Validation loss: {TEXTS[last['text']]}",
        xaxis={"title": "updates", "range": [-8, UPDATES + 8], "zeroline": False},
        yaxis={"title": "nats per character", "range": [2, TOP], "zeroline": False},
    )
    return [label_ends(figure)]


def describe_live(results: Sequence[Point], place: str, warm_up: int) -> str:
    """Describe the current state of the run."""
    if not results:
        return "Press Start to train twelve blocks; Stop keeps the results so far."
    last = results[-1]
    text = TEXTS[last["text"]]
    return (
        f"{text[0].upper()}{text[1:]}, {KINDS[place][0]}, after {last['updates']} "
        f"updates: {last['loss']:.2f} nats; the unigram entropy is "
        f"{last['unigram']:.2f}, the bigram entropy {last['bigram']:.2f}."
    )


LIVE = Picture(
    draw_live,
    describe_live,
    alt="The validation loss over the updates of one run, between two dotted lines: the "
    "unigram and the bigram entropy.",
)
