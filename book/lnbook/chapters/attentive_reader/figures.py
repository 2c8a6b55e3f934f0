"""Figures, tables and recorded runs of the attentive reader (section 6.2)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire
from lnbook.figures import run_groups
from lnbook.figures.colors import COLORS
from lnbook.figures.learning_curves import LearningCurves
from lnbook.figures.run_groups import LAYER, MAIN, NO_NORM, TUNED_INIT
from lnbook.figures.table import Table
from lnbook.widgets.replay import base
from lnbook.widgets.replay.attention import attends, questions
from lnlab.claims.trained import TASKS
from lnlab.experiments.attentive_reader import EPOCHS_25

# The recorded runs of section 6.2, grouped by the settings that all networks of a group share.

BATCH_LSTM, BATCH_EVERYWHERE = "batch norm in the LSTM", "batch norm everywhere"
SMALL_GAIN = "layer, gain 0.1"
WITH_BATCH_NORM = "25 epochs, with batch norm"
RELEASED_CODE = "settings of the public code"
SMALL_BATCHES, TWO_PASSAGES = "batches of 8 questions", "two passages per question"
SHORT_PASSAGES = "short training passages"


class AttentiveReaderRuns(run_groups.Runs):
    """The recorded runs of section 6.2.

    Args:
        records: As for :class:`~lnbook.figures.run_groups.Runs`.
        task: As for :class:`~lnbook.figures.run_groups.Runs`.
        released_task: The comparison of the runs with the settings of the public code.
    """

    EXPERIMENT, MEASURE = "attentive_reader", "val_error"
    GROUPS: ClassVar = {
        MAIN: {},
        WITH_BATCH_NORM: {"epochs": EPOCHS_25["epochs"]},
        RELEASED_CODE: {"bilinear": True},
        SMALL_BATCHES: {"batch_size": 8},
        TWO_PASSAGES: {"passages": 2},
        SHORT_PASSAGES: {"max_length": 98},
    }
    EARLY = 400  # updates before which no network has a lower error than a random name
    STYLES: ClassVar = {
        NO_NORM: run_groups.STYLES[NO_NORM],
        TUNED_INIT: run_groups.STYLES[TUNED_INIT],
        BATCH_LSTM: ("batch norm in the LSTM", COLORS["batch"], "solid"),
        BATCH_EVERYWHERE: ("batch norm everywhere", COLORS["batch"], "dash"),
        SMALL_GAIN: ("layer norm (gain 0.1)", COLORS["layer"], "dash"),
        LAYER: run_groups.STYLES[LAYER],
    }

    def __init__(
        self,
        records: Sequence[Mapping[str, Any]],
        task: Any,
        released_task: Any = None,
    ) -> None:
        super().__init__(records, task)
        for changed, runs in released_task.run_groups(records) if released_task else ():
            if not changed:
                self.groups[RELEASED_CODE] = released_task.at_best_rates(runs)
                self.records_by_group[RELEASED_CODE] = runs


# Attention on the names of a passage, and answers, as the runs recorded them.


def with_attention(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return, for each network, the run that recorded its attention: the longest, first seed."""
    runs = sorted(records, key=lambda run: (-run["settings"]["epochs"], run["seed"]))
    task = TASKS["attentive_reader"]
    arms = {name: task.arms[name] for name in AttentiveReaderRuns.STYLES}
    return base.select_runs(runs, arms, "attention")


def on_answer(run: Mapping[str, Any], verse: str) -> np.ndarray:
    """Return the attention on the correct name at each point of training, in percent."""
    verses = [one.verse for one in questions(run)]
    return 100 * attends(run)[:, verses.index(verse)]


def on_names(run: Mapping[str, Any]) -> np.ndarray:
    """Return the attention on all names at each point, in percent, mean of all questions."""
    shares = []
    for k, question in enumerate(questions(run)):
        names = [at for at, word in enumerate(question.passage) if word.startswith("@")]
        shares.append(run["arrays"]["attention"][:, k, names].astype(float).sum(1))
    return 100 * np.mean(shares, 0)


def is_correct(run: Mapping[str, Any], verse: str) -> bool:
    """Return whether a run answers a question correctly at the end of training."""
    probabilities = run["arrays"]["chances"][-1].astype(float)
    return any(
        question.verse == verse and row.argmax() == question.right
        for question, row in zip(questions(run), probabilities, strict=True)
    )


# The validation error during training, next to the errors of rules that do not read.

RANDOM, NOT_IN_QUESTION = "random name", "most frequent name not in the question"
#: Rules that choose a name of the passage without reading.
RULES = {
    "random": RANDOM,
    "last": "last name",
    "frequent": "most frequent name",
    "frequent_unasked": NOT_IN_QUESTION,
}


def rule_errors(
    runs: AttentiveReaderRuns, split: str = "val", kind: str = MAIN
) -> dict[str, float]:
    """Return the error of each rule that does not read, in percent."""
    curves = next(iter(runs.groups[kind][LAYER].runs.values()))["curves"]
    return {rule: 100 * curves[f"{split}_{name}_error"][0] for name, rule in RULES.items()}


def _levels(runs: AttentiveReaderRuns, kind: str) -> Mapping[str, float]:
    result = rule_errors(runs, kind=kind)
    return {RANDOM: result[RANDOM], "frequent name, not in question": result[NOT_IN_QUESTION]}


LEARNING_CURVES = LearningCurves(
    "error",
    "validation questions",
    "validation questions",
    unit="%",
    axis="error (%)",
    top=84,
    pad=3,
    difference_unit="points",
    lines="no norm dotted, no norm with tuned initialization dashed, batch norm in the LSTM "
    "solid, batch norm everywhere dashed, layer norm with gain 0.1 dashed, layer norm solid, and "
    "the levels of two rules that do not read",
    levels=_levels,
)
#: The curves alone, without a choice of the quantity.
ERRORS = dataclasses.replace(
    LEARNING_CURVES.curves.of(shown="loss"),
    alt="Validation error of each network over updates, each with a band over its seeds: "
    f"{LEARNING_CURVES.lines}.",
)


# Table of the errors of each network, and of rules that choose a name without reading.


def errors(runs: AttentiveReaderRuns, kind: str = MAIN) -> Table:
    """Return a table of validation and test errors at the epoch with the lowest validation error.

    Args:
        runs: The recorded runs.
        kind: Which group of them, one of :attr:`AttentiveReaderRuns.GROUPS`. The main group is
            followed by the networks that only the shorter runs have.
    """
    arms = dict(runs.groups[kind])
    if kind == MAIN:
        arms = {**runs.groups.get(WITH_BATCH_NORM, {}), **arms}
    rows = [_row(runs, name, arms[name]) for name in runs.STYLES if name in arms]
    val_errors, test_errors = (rule_errors(runs, split) for split in ("val", "test"))
    for rule, val_error in val_errors.items():
        rows.append([f"rule: {rule}", "–", f"{val_error:.1f}", f"{test_errors[rule]:.1f}", "–"])
    return Table(
        ["Network or rule", "Learning rate", "Validation error (%)", "Test error (%)",
         "Epoch of each seed"],
        rows,
        "Errors at the epoch with the lowest validation error, mean over the seeds (lowest to "
        "highest). The last four rows are rules that choose a name without reading.",
    )  # fmt: skip


def _row(runs: AttentiveReaderRuns, name: str, arm: Any) -> list[str]:
    curves = [run["curves"] for run in arm.runs.values()]
    best = [int(np.nanargmin(runs.task.score(run))) for run in arm.runs.values()]
    val, test, epochs = (
        np.array([curve[key][point] for curve, point in zip(curves, best, strict=True)])
        for key in ("val_error", "test_error", "epoch")
    )
    spread = f" ({100 * val.min():.1f} to {100 * val.max():.1f})" if len(val) > 1 else ""
    return [
        runs.STYLES[name][0],
        f"{arm.rate:g}",
        f"{100 * val.mean():.1f}{spread}",
        f"{100 * test.mean():.1f}",
        f"{', '.join(f'{epoch:.0f}' for epoch in epochs)} of {curves[0]['epoch'][-1]:g}",
    ]


# Diagram of the attentive reader (section 6.2): two LSTMs, attention, and the answer.


def _lstm(row: float, note: str, text: str) -> Box:
    return Box("block", 1.7, row, "LSTM", f"{text}; with layer norm: eqs. 20–22", note=note,
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
    return FLOW.diagram("The attentive reader with layer norm")
