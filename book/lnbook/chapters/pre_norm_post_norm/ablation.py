"""The loss of a trained transformer after its norms are changed at test time."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.pre_norm_post_norm.runs import BIGRAM, UNIGRAM, TransformerRuns
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import log_axis

#: Names of ablations by group, with the label of each.
ABLATION_GROUPS = {
    "remove norms": {
        "removed": "all removed",
        "gain_and_bias": "all but gain and bias",
        "but_last": "all but the final one",
        "last": "only the final one",
    },
    "replace norms": {
        "rms": "RMSNorm",
        "frozen": "frozen std",
        "frozen_but_last": "all but the final one frozen",
    },
    "change eps": {
        "eps_thousandth": "eps 1e-3",
        "eps_hundredth": "eps 1e-2",
        "eps_tenth": "eps 0.1",
        "eps_one": "eps 1",
    },
    "lower precision": {
        "float16": "float16, sums in float32",
        "float16_sums": "sums in float16 too",
        "bfloat16": "bfloat16",
        "int8": "weights in 8 bits",
    },
}
AS_TRAINED = "as trained"


def ablated_loss(runs: TransformerRuns, name: str) -> np.ndarray:
    """Return the final validation loss of each seed's model after an ablation.

    Args:
        runs: The recorded runs.
        name: One of :data:`lnlab.experiments.transformer.ABLATIONS`, or ``val_nll`` for the
            unchanged model.

    Returns:
        Nats per character, shape ``(seeds,)``.
    """
    curve = name if name == "val_nll" else f"nll_{name}"
    return np.array([r["curves"][curve][-1] for r in runs.model], float)


def draw_ablation(runs: TransformerRuns, group: str) -> list[go.Figure]:
    """Draw the loss of the three models after each ablation of a group."""
    names = {"val_nll": AS_TRAINED, **ABLATION_GROUPS[group]}
    figure = go.Figure()
    for k, (name, label) in enumerate(names.items()):
        values = ablated_loss(runs, name)
        color = COLORS["gray" if k == 0 else "layer"]
        figure.add_scatter(
            x=values,
            y=[label] * len(values),
            mode="markers",
            name="change",
            marker={"color": color, "size": 11, "symbol": "diamond" if k == 0 else "circle"},
            showlegend=False,
            hovertemplate=f"{label}: %{{x:.3f}} nats<extra></extra>",
        )
    losses = np.concatenate([ablated_loss(runs, n) for n in names])
    high = max(4, 1.3 * losses.max())
    ticks = [t for t in ((2, 5, 20, 100, 500) if high > 10 else (2, 3, 4)) if t < high]
    figure.update_layout(
        title="Validation loss",
        height=120 + 44 * len(names),
        xaxis=log_axis(ticks, [np.log10(1.4), np.log10(high)], title="nats per character"),
        yaxis={"type": "category", "autorange": "reversed", "showgrid": False},
        shapes=[
            {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": COLORS["gray"], "width": 1.5, "dash": "dot"}}
            for x in (BIGRAM, UNIGRAM)
        ],
    )  # fmt: skip
    return [figure]


def describe_ablation(runs: TransformerRuns, group: str) -> str:
    """Return a sentence with the mean loss of the models after each ablation of a group."""
    base = ablated_loss(runs, "val_nll").mean()
    texts = [
        f"{ablated_loss(runs, name).mean():.4g} ({label})"
        for name, label in ABLATION_GROUPS[group].items()
    ]
    return f"Mean loss in nats: {base:.2f} ({AS_TRAINED}), {', '.join(texts)}."


ABLATION = Picture(
    draw_ablation,
    describe_ablation,
    alt="A row for each change of the norms of three trained models, with the loss of each model "
    "as a point; dotted lines mark the bigram and the unigram entropy.",
)
