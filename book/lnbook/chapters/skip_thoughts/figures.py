"""Figures, tables and recorded runs of skip-thoughts (section 6.3)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire
from lnbook.explorer.figure_spec import Picture
from lnbook.figures import run_groups
from lnbook.figures.colors import COLORS
from lnbook.figures.learning_curves import LearningCurves
from lnbook.figures.plots import add_guide, band, label_ends, spread
from lnbook.figures.run_groups import LAYER, MAIN, NO_NORM, STYLES, TUNED_INIT
from lnbook.figures.table import Table
from lnbook.widgets.replay import base
from lnbook.widgets.replay.sentence_neighbors import CATEGORIES, agreement, sentences
from lnlab.claims.numbers import PAPER_TABLE_3

# The loss on held-out chapters during training.

LEARNING_CURVES = LearningCurves(
    "loss",
    "held-out chapters",
    "held-out chapters",
    unit="nats",
    axis="nats per word",
    top=5.5,  # the loss falls from 7.6 to this within a few updates in every run
    digits=3,
    pad=0.05,
)
#: The curves alone, without a choice of the quantity.
LOSSES = dataclasses.replace(
    LEARNING_CURVES.curves.of(shown="loss"),
    alt="Loss on held-out chapters, in nats per word, over updates, each network with a band over "
    f"its seeds: {LEARNING_CURVES.lines}.",
)


# The runs that recorded the nearest neighbors of sentences.

ARMS = {
    NO_NORM: {"norm": "none", "start": "code"},
    TUNED_INIT: {"norm": "none", "start": "scaled"},
    LAYER: {"norm": "layer", "start": "code"},
}


def with_neighbors(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return, for each network, the run that recorded nearest neighbors."""
    return base.select_runs(records, ARMS, "neighbors")


# Diagram of skip-thoughts: the encoder, both decoders, and the evaluation on a task.


def _gru(column: float, row: float, note: str, text: str) -> Box:
    return Box("block", column, row, "GRU", f"{text}; with layer norm: eqs. 26–28", note=note,
               tone="layer", wide=40)  # fmt: skip


FLOW = Flow(
    {
        "x": Box("end", 0, 1.5, "sentence", wide=40),
        "encoder": _gru(1.7, 1.5, "encoder", "reads the sentence word by word"),
        "v": Box("weight", 3, 1.5, "v", "the last state: the sentence vector, 128 numbers"),
        "after": _gru(4.6, 0, "decoder", "predicts the next sentence word by word, from v"),
        "before": _gru(4.6, 1.5, "decoder", "predicts the previous sentence word by word, from v"),
        "task": Box(
            "gate", 4.6, 3, "classifier",
            "a logistic regression on v, trained on a task after the encoder is frozen",
            tone="ln-first", wide=46,
        ),
        "next": Box("end", 6.6, 0, "next", note="sentence", wide=40),
        "last": Box("end", 6.6, 1.5, "previous", note="sentence", wide=40),
        "label": Box("end", 6.6, 3, "label", note="of the task", wide=40),
    },
    (
        Wire("x", "encoder"),
        Wire("encoder", "v"),
        Wire("v", "after", "vh", start=3.6),
        Wire("v", "before"),
        Wire("v", "task", "vh", start=3.6),
        Wire("after", "next"),
        Wire("before", "last"),
        Wire("task", "label"),
    ),
    "An encoder turns a sentence into a vector. From this vector two decoders predict the next and "
    "the previous sentence. All three are GRUs, with or without layer norm. Then the encoder "
    "is frozen, and a logistic regression on its vectors is trained on a task.",
)  # fmt: skip


def network() -> Diagram:
    """Return the diagram of encoder, decoders and classifier."""
    return FLOW.diagram("Skip-thoughts with layer norm")


# The recorded runs, grouped by the settings that the chapter compares.


class SkipThoughtsRuns(run_groups.Runs):
    """The recorded runs of section 6.3."""

    EXPERIMENT, MEASURE = "skip_thoughts", "val_nll"
    GROUPS: ClassVar = {
        MAIN: {},
        "50 words, 16 sentences": {"length": 50},
        "4 sentences": {"batch_size": 4},
    }
    EARLY = 100  # updates, before which all arms only learn which words are frequent


# Scores of a classifier on the sentence vectors, for each task, during training.

NAMES = {
    "mr": "MR: film reviews",
    "cr": "CR: product reviews",
    "subj": "SUBJ: subjectivity",
    "caption_pairs": "Caption pairs",
}
SHORT = {
    "mr": "MR, %",
    "cr": "CR, %",
    "subj": "SUBJ, %",
    "caption_pairs": "caption pairs, AUC in %",
}
WORD_STYLE = ("mean word vector", COLORS["second"], "dashdot")


def scores(runs: SkipThoughtsRuns, arm: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a network's vectors on a task, in percent, where they were evaluated.

    Args:
        runs: The recorded runs.
        arm: A key of :data:`lnbook.figures.run_groups.STYLES`.
        name: Name of a task; with the prefix ``bag_`` for the mean of the word vectors.

    Returns:
        Updates, shape ``(points,)``, and scores, ``(seeds, points)``.
    """
    where, values = runs.curves(MAIN, arm, name)
    known = ~np.isnan(values).any(0)
    return where[known], 100 * values[:, known]


def word_scores(runs: SkipThoughtsRuns, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the mean word vector, one row per run of every network."""
    curves = [scores(runs, arm, f"bag_{task}") for arm in runs.groups[MAIN]]
    return curves[0][0], np.concatenate([values for _, values in curves])


def chance_level(runs: SkipThoughtsRuns, task: str) -> float:
    """Return the share of the larger class in percent, or 50% for the AUC."""
    cases = runs.records[0]["data"]["cases"]
    return 50.0 if task == "caption_pairs" else 100 * cases[f"{task}_most"] / cases[task]


def draw_tasks(runs: SkipThoughtsRuns) -> list[go.Figure]:
    """Draw one panel per task with the scores of every network over its updates."""
    return [_panel(runs, task) for task in NAMES]


def _panel(runs: SkipThoughtsRuns, task: str) -> go.Figure:
    chance = chance_level(runs, task)
    figure, levels = go.Figure(), [chance]
    lines = {STYLES[arm]: scores(runs, arm, task) for arm in runs.groups[MAIN]}
    lines[WORD_STYLE] = word_scores(runs, task)
    for style, (where, values) in lines.items():
        band(figure, where, spread(values), style, "after %{x:,.0f} updates: %{y:.1f}%")
        levels += [values.min(), values.max()]
    end = float(where[-1])
    add_guide(figure, [0, end], [chance] * 2)
    figure.update_layout(
        title=NAMES[task],
        height=300,
        xaxis={"title": "updates", "range": [0, end], "zeroline": False, "tickformat": ",d",
               "nticks": 4},
        yaxis={"title": "AUC (%)" if task == "caption_pairs" else "accuracy (%)",
               "range": [min(levels) - 1.5, max(levels) + 1.5], "zeroline": False},
    )  # fmt: skip
    return label_ends(figure)


def describe_tasks(runs: SkipThoughtsRuns) -> str:
    """Describe the scores of every network on each task at the end."""
    count = len(runs.groups[MAIN][LAYER].runs)
    seeds = f"mean of {count} seeds" if count > 1 else "one seed"
    parts = []
    for task in NAMES:
        ends = {STYLES[arm][0]: scores(runs, arm, task)[1] for arm in runs.groups[MAIN]}
        ends[WORD_STYLE[0]] = word_scores(runs, task)[1]
        means = [f"{name} {values[:, -1].mean():.1f}" for name, values in ends.items()]
        parts.append(f"{SHORT[task].partition(',')[0]}: {', '.join(means)}")
    return f"In percent after the last update, {seeds}. {'; '.join(parts)}."


TASKS = Picture(
    draw_tasks,
    describe_tasks,
    alt="Four panels, one per task: score of a classifier on the sentence vectors over updates, "
    "no norm dotted, no norm with tuned initialization dashed, layer norm solid, mean word vector "
    "dash-dotted, with bands over the runs and a line at chance level.",
)


def table_3(runs: SkipThoughtsRuns) -> Table:
    """Return the scores at the end next to table 3 of the paper."""
    arms = runs.groups[MAIN]
    names = {f"{what.partition(',')[0].lower()}": paper for what, paper in PAPER_TABLE_3.items()
             if what.partition(",")[0].lower() in NAMES}  # fmt: skip
    rows = []
    for task, what in SHORT.items():
        cells = [_mean(scores(runs, arm, task)[1][:, -1]) if arm in arms else "–" for arm in STYLES]
        first = np.concatenate([scores(runs, arm, task)[1][:, 0] for arm in arms])
        bag = word_scores(runs, task)[1][:, -1]
        rows.append([what, *cells, _mean(first), _mean(bag), *names.get(task, ("–", "–"))])
    count = len(arms[NO_NORM].runs)
    caption = (
        f"Accuracy, or area under the ROC curve (AUC), after "
        f"{runs.task.updates(_one(runs))[-1]:,.0f} updates, mean of {count} "
        f"seed{'s' * (count > 1)}. The paper's models have 2,400 units and a million updates."
    )
    columns = ["Task", *(style[0] for style in STYLES.values()), "untrained", "mean word vector",
               "paper: no norm", "paper: layer norm"]  # fmt: skip
    return Table(columns, rows, caption)


def _one(runs: SkipThoughtsRuns) -> Any:
    return next(iter(runs.groups[MAIN][NO_NORM].runs.values()))


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.1f}"
