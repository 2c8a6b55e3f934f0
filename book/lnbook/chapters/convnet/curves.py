"""Curves of the validation error of each network, at its best learning rate."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.convnet.runs import ConvnetRuns
from lnbook.explorer import Explorer
from lnbook.explorer.control import choice
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS as STYLES
from lnbook.figures.plots import band, label_ends, spread

ARMS = {
    "none": STYLES["none"],
    "none, tuned initialization": ("no norm (tuned initialization)", COLORS["none"], "dash"),
    "batch": STYLES["batch"],
    "layer": STYLES["layer"],
    "channel": ("layer norm over channels", COLORS["variant"], "longdash"),
    "group": ("group norm", COLORS["group"], "dashdot"),
    "instance": ("instance norm", COLORS["instance"], "longdashdot"),
}
ALWAYS = ("none", "batch")  # always shown
OTHERS = {style[0]: name for name, style in ARMS.items() if name not in ALWAYS}
HIGHEST = 30  # percent; the first points are much higher


def lines(runs: ConvnetRuns, task: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the updates of each arm at its measuring points, and its errors in percent.

    The time in seconds is not drawn: other jobs were running on the machine during the runs.
    """
    results = {}
    for name, arm in task.at_best_rates(runs.compared).items():
        errors = np.array([100 * task.score(run) for run in arm.runs.values()])
        results[name] = task.updates(next(iter(arm.runs.values()))), errors
    return results


def draw_curves(runs: ConvnetRuns, task: Any, other: str) -> list[go.Figure]:
    """Draw the validation error of no norm, batch norm and another arm, with bands over seeds."""
    figure = go.Figure()
    lowest, end = [], 0.0
    for name, (where, errors) in lines(runs, task).items():
        if name not in (*ALWAYS, other):
            continue
        hover = "after %{x:,.0f} updates: %{y:.1f}%"
        band(figure, where, spread(errors), ARMS[name], hover)
        lowest.append(np.nanmin(errors))
        end = max(end, where[-1])
    figure.update_layout(
        title="Validation error",
        height=420,
        xaxis={"title": "updates", "range": [0, end], "zeroline": False, "tickformat": ",d"},
        yaxis={"title": "%", "range": [min(lowest) - 1, HIGHEST], "zeroline": False},
    )
    return [label_ends(figure)]


def describe_curves(runs: ConvnetRuns, task: Any, other: str) -> str:
    """Describe the lowest error of each network, as the mean over seeds, and when it is reached."""
    texts = []
    for name, (where, errors) in lines(runs, task).items():
        if name not in (*ALWAYS, other):
            continue
        mean = errors.mean(0)
        best = int(np.nanargmin(mean))
        texts.append(f"{ARMS[name][0]} {mean[best]:.1f}% after {where[best]:,.0f} updates")
    return f"Lowest validation error, mean of the seeds: {'; '.join(texts)}."


CURVES = Picture(
    draw_curves,
    describe_curves,
    alt="Curves of the validation error over updates: no norm, batch norm, and one other network, "
    "each at its own best learning rate, with a band from the lowest seed to the highest.",
)


def curves(runs: ConvnetRuns, task: Any) -> Explorer:
    """Return the figure with its controls.

    Args:
        runs: The recorded runs.
        task: Their comparison, ``lnlab.experiments.convnet.results.TASK``.
    """
    controls = {"other": choice("Third network", OTHERS, start="layer norm")}
    return Explorer(CURVES.of(runs, task), controls, title="Validation error during training")
