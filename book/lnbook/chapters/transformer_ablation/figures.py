"""Losses after changing the norms of a trained transformer, and the std of each character."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import add_line, add_points
from lnbook.figures.table import Table

#: The norms in the order in which they are applied.
NORMS = ("1 attention", "2 feed-forward", "3 attention", "4 feed-forward", "5 output")
#: Maps a change of the norms to the name of the recorded loss.
CHANGES = {
    "all on": "val_nll",
    "all RMS": "nll_rms",
    "1 to 4 frozen": "nll_frozen_but_last",
    "all frozen": "nll_frozen",
    "5 off": "nll_last",
    "1 to 4 off": "nll_but_last",
    "all off": "nll_removed",
}


def losses(records: Sequence[Mapping[str, Any]], change: str) -> np.ndarray:
    """Return the validation loss of each seed after a change, in nats per character."""
    return np.array([record["curves"][CHANGES[change]][-1] for record in records])


def table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the validation loss after each change."""
    rows = [
        [change, *(f"{v:.2f}" if v < 10 else f"{v:.0f}" for v in losses(records, change))]
        for change in CHANGES
    ]
    return Table(
        ["Norms", *(f"seed {record['seed']}" for record in records)],
        rows,
        "Loss on validation text, in nats per character, after changing the norms of each trained "
        "model. Nothing is retrained.",
    )


# The standard deviation of each character at each norm.

Seen = Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]
BLANKS = " \n"


def standard_deviations(seen: Seen, sentence: str) -> np.ndarray:
    """Return the std before and after each norm, shape ``(2, norms, characters)``."""
    return np.array(
        [[np.asarray(x).std(-1) for x in side] for side in zip(*seen[sentence], strict=True)]
    )


def is_blank(sentence: str) -> np.ndarray:
    """Return which characters are spaces or line breaks."""
    return np.array([c in BLANKS for c in sentence])


def outliers(x: np.ndarray) -> np.ndarray:
    """Return the features whose root mean square is more than five times the median.

    Args:
        x: Shape ``(characters, features)``.
    """
    sizes = np.sqrt((np.asarray(x) ** 2).mean(0))
    return np.flatnonzero(sizes > 5 * np.median(sizes))


NORM = 2  # index of the norm before the second attention


def outlier_table(models: Mapping[int, Any], sentence: str) -> Table:
    """Return a table of the outlier features before the second attention's norm, for each seed.

    Args:
        models: A :class:`~lnlab.experiments.transformer.trained_transformer.TrainedTransformer` for
            each seed.
        sentence: The text that they read.
    """
    rows = []
    for seed, model in models.items():
        x = np.asarray(model.inside(sentence)[NORM][0])
        result, share = outliers(x), outlier_share(x)[is_blank(sentence)].mean()
        gain = np.abs(model.norm(NORM).weight.detach().numpy())
        rows.append([
            f"seed {seed}", ", ".join(map(str, result)), f"{share:.0%}",
            ", ".join(f"{g:.2f}" for g in gain[result]), f"{np.median(gain):.2f}",
        ])  # fmt: skip
    return Table(
        ["Model", "Outlier features", "Share of the sum of squares at spaces",
         "Gains of the outliers", "Median gain"],
        rows,
        f"Outlier features before norm {NORM + 1}, and absolute values of the gains of this norm.",
    )  # fmt: skip


def outlier_share(x: np.ndarray) -> np.ndarray:
    """Return the share of the outlier features in each character's sum of squares."""
    return (x[:, outliers(x)] ** 2).sum(1) / (x**2).sum(1)


def draw_std(seen: Seen, constants: Sequence[float], sentence: str) -> list[go.Figure]:
    """Draw the std of each character before and after the five norms."""
    panels = []
    for values, title in zip(
        standard_deviations(seen, sentence), ("Before the norm", "After the norm"), strict=True
    ):
        figure = go.Figure()
        for blank, name, color, dash, width in (
            (False, "other characters", COLORS["gray"], "dot", 1.2),
            (True, "spaces, line breaks", COLORS["first"], "solid", 1.8),
        ):
            x, y, names = [], [], []
            for i in np.flatnonzero(is_blank(sentence) == blank):
                norms = range(1, len(values) + 1)
                x += [*norms, None]
                y += [*values[:, i].round(3).tolist(), None]
                names += [*(f"{n}, character {i + 1} {sentence[i]!r}" for n in norms), None]
            style = (name, color, dash)
            add_line(figure, x, y, style, "%{y:.2f}", width=width, meta={"x": names})
        if title.startswith("Before"):
            add_points(
                figure,
                [*range(1, len(constants) + 1)],
                [*np.round(constants, 3)],
                ("constant of “frozen”", COLORS["kept"], "diamond"),
                "%{y:.2f}<extra>constant</extra>",
                size=10,
            )
        figure.update_layout(
            title=title,
            height=340,
            xaxis={"title": "norm", "tickvals": [1, 2, 3, 4, 5], "range": [0.8, 5.2],
                   "zeroline": False},
            yaxis={"title": "std (log scale)", "type": "log", "range": [-0.75, 1.4],
                   "tickvals": [0.2, 0.5, 1, 2, 5, 10, 20]},
        )  # fmt: skip
        panels.append(figure)
    return panels


def describe_std(seen: Seen, constants: Sequence[float], sentence: str) -> str:
    """Compare spaces with other characters, and the largest with the smallest std, at norm 3."""
    before, after = standard_deviations(seen, sentence)[:, 2]
    blank = is_blank(sentence)
    return (
        f"Before norm 3, spaces have a mean std of {before[blank].mean():.1f} and other characters "
        f"of {before[~blank].mean():.1f}; the constant is {constants[2]:.1f}. The largest std is "
        f"{before.max() / before.min():.1f} times the smallest before the norm, and "
        f"{after.max() / after.min():.1f} times after it."
    )


STD = Picture(
    draw_std,
    describe_std,
    alt="Two line plots over the five norms with one line per character: its std before the norm, "
    "with the constants of frozen norms as diamonds, and after the norm. Spaces have solid lines.",
)
