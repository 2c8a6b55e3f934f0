"""Figures, tables and recorded runs of handwriting generation (section 6.5)."""

from typing import ClassVar

import numpy as np

from lnbook.chapters.handwriting.speed import (
    EXTRA_INPUTS,
    SPEED,
    distance,
    explained_variance,
    moves,
)
from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire
from lnbook.figures import run_groups
from lnbook.figures.learning_curves import LearningCurves
from lnbook.figures.run_groups import LAYER, MAIN, NO_NORM, TUNED_INIT
from lnbook.figures.table import Table
from lnlab.claims import Finding
from lnlab.experiments._arms import paired
from lnlab.experiments._curves import TARGETS, end_value

# The loss during training, and the lowest loss at each learning rate.

WRITERS = "lines by new writers"
LEARNING_CURVES = LearningCurves(
    "loss", WRITERS, WRITERS, unit="nats", axis="nats per point", top=0.6, digits=2, pad=0.08
)  # the initial fall, from above 3, is fast and the same for all
CURVES, RATES, controls = LEARNING_CURVES.curves, LEARNING_CURVES.rates, LEARNING_CURVES.controls


# Diagram of the network: three LSTMs, a window over the text, and a mixture density.


def _lstm(column: float, number: int) -> Box:
    text = (
        f"layer {number}: an LSTM with three norms, $LN(W_x x)$, $LN(W_h h)$ and $LN(c)$, "
        "eqs. 20–22"
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
    "Each LSTM reads the last movement of the pen, the output of the window, and "
    "the layer below. The first LSTM moves the window; it reads the result itself one time step "
    "later. Each LSTM has three layer norms; the window and the mixture have none.",
)  # fmt: skip


def network() -> Diagram:
    """Return a diagram of one time step of the handwriting network."""
    return FLOW.diagram("One time step of the network of section 6.5")


# The recorded runs, grouped by the settings that the chapter compares.


class HandwritingRuns(run_groups.Runs):
    """The recorded runs of section 6.5."""

    EXPERIMENT, MEASURE = "handwriting", "val_new_nll"
    GROUPS: ClassVar = {
        MAIN: {},
        "whole lines": {"length": 1400},
        "batch size 2": {"batch_size": 2},
        "no constant input": {"constant": False},
    }
    EARLY = 100  # updates before which all arms only learn the spread of the movements


# The comparison on each set of lines: new writers, known writers, and training data.


def splits(runs: HandwritingRuns) -> Table:
    """Return the updates of layer norm relative to no norm, and the difference at the end.

    Learning rates are chosen by the loss of each row.
    """
    task, findings = runs.task, runs.claim_results(MAIN)["pen-faster"].findings
    rows = []
    for metric, score in task.scores.items():
        arms = task.at_best_rates(runs.records_by_group[MAIN], metric)
        ends = paired(arms[LAYER], arms[NO_NORM], lambda run, score=score: end_value(score(run)))
        text = f"{metric}, layer norm versus no norm"
        found = [one for one in findings if one.description.endswith(text)]
        shares = [str(found[0].label), "–", "–"] if found[0].untestable else map(_percent, found)
        rows.append([metric, *shares, _difference(ends[0] - ends[1])])
    seeds = len(ends[0])
    return Table(
        ["Loss", *(f"to {target:.0%} of the way" for target in TARGETS), "At the end (nats)"],
        rows,
        "Updates that layer norm needs to reach each target, in percent of those without "
        "normalization: "
        f"mean over {seeds} seeds, and in parentheses the number of seeds in which they are fewer. "
        "Last column: layer norm minus no normalization, mean (lowest to highest), below 0 "
        "where layer norm ends lower. All rows count for the label of the claim.",
    )


def _percent(finding: Finding) -> str:
    d = finding.differences
    return f"{100 * (1 + d.mean()):.0f}% ({int((d < 0).sum())} of {len(d)})"


def _difference(values: np.ndarray) -> str:
    numbers = (values.mean(), values.min(), values.max())
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(*numbers).replace("-", "−")
