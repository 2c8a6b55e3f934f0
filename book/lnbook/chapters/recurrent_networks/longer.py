"""Batch norm with statistics per step, on longer sequences than in training."""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.recurrent_networks.network import INPUTS, format_size, parameters
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, add_line, cursor, label_ends
from lnlab.analysis import recurrence

LONG, TRAINED_ON, BATCHES = 60, 64, 30
LENGTHS_TRAINED = [5, 10, 20, 40]


def sequences(inputs: str, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 64 sequences, ``(steps, 64, 8)``.

    Args:
        inputs: ``"steady"``: independent steps; ``"walk"``: a random walk.
        steps: Length of the sequences.
        rng: The random generator.
    """
    x = rng.normal(size=(steps, TRAINED_ON, INPUTS))
    return x if inputs == "steady" else x.cumsum(axis=0)


@cache
def longer(trained: int, inputs: str) -> recurrence.BatchNormOverTime:
    """Average the statistics of 30 batches of short sequences, then run over 60 steps.

    Args:
        trained: Length of the training sequences.
        inputs: See :func:`sequences`.
    """
    rng = np.random.default_rng(4)
    training = [sequences(inputs, trained, rng) for _ in range(BATCHES)]
    return recurrence.over_time(training, sequences(inputs, LONG, rng), parameters("batch"))


_KINDS = {
    "each step": ("batch norm, per step", NORMS["batch"][1], "dash"),
    "shared": ("batch norm, shared", COLORS["kept"], "longdash"),
    "layer": NORMS["layer"],
}


def draw_longer(trained: int, inputs: str) -> list[go.Figure]:
    """Draw the running standard deviations, those of the data, and the RMS after the norm."""
    run, steps = longer(trained, inputs), np.arange(1, LONG + 1)
    running, size = go.Figure(), go.Figure()
    add_line(
        running,
        steps,
        run.data.round(3),
        ("test data", COLORS["gray"], "dot"),
        "step %{x}: %{y:.2f}",
    )
    for figure, lines in ((running, run.running), (size, run.size)):
        for kind, values in lines.items():
            add_line(figure, steps, values.round(3), _KINDS[kind], "step %{x}: %{y:.2f}")
    for figure, title, top in (
        (running, "Standard deviation of W_xh x", 9.0),
        (size, "RMS after the norm", 4.2),
    ):
        figure.layout = dict(
            title=title,
            height=380,
            xaxis={"title": "step", "range": [0, LONG + 1], "zeroline": False},
            yaxis={"range": [0, top]},
            shapes=[cursor(trained + 0.5)],
            annotations=[
                {"x": trained + 0.5, "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left",
                 "xshift": 4, "text": "training ends", "showarrow": False}
            ],
        )  # fmt: skip
    return [label_ends(running), label_ends(size)]


def describe_longer(trained: int, inputs: str) -> str:
    """Describe the RMS of the normalized inputs at the first and the last step."""
    size = longer(trained, inputs).size
    first, last = ({kind: format_size(size[kind][t]) for kind in size} for t in (0, -1))
    return (
        f"After training on {trained} steps, the RMS after batch norm is {first['each step']} at "
        f"step 1 and {last['each step']} at step {LONG} with statistics per step, "
        f"{first['shared']} and {last['shared']} with shared statistics. After layer norm it is "
        f"{first['layer']} and {last['layer']}."
    )


LONGER = Picture(
    draw_longer,
    describe_longer,
    alt="Left, the standard deviation of W_xh x over 60 steps: of the test data, of the running "
    "statistics per step, and of the shared ones. Right, the RMS after the norm, ideally 1.",
)
