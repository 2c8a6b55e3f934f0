"""What the vectors are worth on each task while they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.skip_thoughts.runs import MAIN, Runs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import band, label_ends, spread
from lnbook.figures.run_groups import LAYER, LOOKS, PLAIN
from lnbook.figures.table import Table
from lnlab.claims.numbers import PAPER_TABLE_3

NAMES = {
    "mr": "MR: liked or not",
    "cr": "CR: praise or complaint",
    "subj": "SUBJ: subjective or not",
    "caption_pairs": "Captions: of one picture?",
}
SHORT = {"mr": "MR, %", "cr": "CR, %", "subj": "SUBJ, %", "caption_pairs": "captions, AUC in %"}
SHOWN = {"each network": "worth", "layer norm's lead": "lead"}
WORDS = ("words alone", COLORS["second"], "dashdot")


def judged(runs: Runs, arm: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what an arm's vectors were worth, in percent, where they were judged.

    Args:
        runs: The recorded runs.
        arm: Of :data:`lnbook.figures.run_groups.LOOKS`.
        name: Of a task, ``bag_`` before it for the mean of the words' vectors.

    Returns:
        After how many updates, shape ``(points,)``, and the values, ``(seeds, points)``.
    """
    where, values = runs.curves(MAIN, arm, "updates", name)
    known = ~np.isnan(values).any(0)
    return where[known], 100 * values[:, known]


def words(runs: Runs, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what the means of the words' vectors are worth, a row for each run of every arm."""
    every = [judged(runs, arm, f"bag_{task}") for arm in runs.kinds[MAIN]]
    return every[0][0], np.concatenate([values for _, values in every])


def most(runs: Runs, task: str) -> float:
    """Return what knows nothing is worth: the share of the larger class, or half of the area."""
    cases = runs.records[0]["data"]["cases"]
    return 50.0 if task == "caption_pairs" else 100 * cases[f"{task}_most"] / cases[task]


def lead(runs: Runs, other: str, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return layer norm's points over another arm's, of the seeds that both have."""
    where, values = runs.lead(MAIN, other, "updates", task)
    known = ~np.isnan(values).any(0)
    return where[known], 100 * values[:, known]


def draw_tasks(runs: Runs, shown: str) -> list[go.Figure]:
    """Draw a panel for each task: what the networks' vectors are worth, or layer norm's lead."""
    return [(_worth if shown == "worth" else _lead)(runs, task) for task in NAMES]


def _worth(runs: Runs, task: str) -> go.Figure:
    figure, every = go.Figure(), [most(runs, task)]
    lines = {LOOKS[arm]: judged(runs, arm, task) for arm in runs.kinds[MAIN]}
    lines[WORDS] = words(runs, task)
    for look, (where, values) in lines.items():
        band(figure, where, spread(values), look, "after %{x:,.0f} updates: %{y:.1f} %")
        every += [values.min(), values.max()]
    end = float(where[-1])
    figure.add_scatter(
        x=[0, end], y=[every[0]] * 2, mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5},
    )  # fmt: skip
    return _finish(figure, task, end, (min(every) - 1.5, max(every) + 1.5), "%")


def _lead(runs: Runs, task: str) -> go.Figure:
    figure, every, end = go.Figure(), [0.0], 0.0
    for other in runs.others(MAIN):
        where, values = lead(runs, other, task)
        label, color, dash = LOOKS[other]
        look = (f"against {label}", color, dash)
        band(figure, where, spread(values), look, "after %{x:,.0f} updates: %{y:+.1f} points")
        every += [values.min(), values.max()]
        end = float(where[-1])
    figure.add_scatter(
        x=[0, end], y=[0, 0], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": COLORS["gray"], "width": 1.5},
    )  # fmt: skip
    return _finish(figure, task, end, (min(every) - 1, max(every) + 1), "points")


def _finish(
    figure: go.Figure, task: str, end: float, span: tuple[float, float], unit: str
) -> go.Figure:
    if task == "caption_pairs" and unit == "%":
        unit = "% of the area"
    figure.update_layout(
        title=NAMES[task],
        height=300,
        xaxis={"title": "updates", "range": [0, end], "zeroline": False, "tickformat": ",d",
               "nticks": 4},
        yaxis={"title": unit, "range": list(span), "zeroline": False},
    )  # fmt: skip
    return label_ends(figure)


def describe_tasks(runs: Runs, shown: str) -> str:
    """Say where each task ends."""
    count = len(runs.kinds[MAIN][LAYER].runs)
    seeds = f"mean of {count} seeds" if count > 1 else "one seed"
    said = []
    for task in NAMES:
        if shown == "worth":
            ends = {LOOKS[arm][0]: judged(runs, arm, task)[1] for arm in runs.kinds[MAIN]}
            ends["words alone"] = words(runs, task)[1]
            told = [f"{name} {values[:, -1].mean():.1f}" for name, values in ends.items()]
        else:
            told = [
                f"{lead(runs, other, task)[1][:, -1].mean():+.1f} against {LOOKS[other][0]}"
                for other in runs.others(MAIN)
            ]
        said.append(f"{SHORT[task].partition(',')[0]}: {', '.join(told)}".replace("-", "−"))
    what = "In percent" if shown == "worth" else "Layer norm's lead in points"
    return f"{what} at the end, {seeds}. {'; '.join(said)}."


TASKS = Picture(
    draw_tasks,
    describe_tasks,
    alt="Four panels, a task each: what sentence vectors are worth over updates, no norm dotted, "
    "no norm from a tuned initialization dashed, layer norm solid, words alone dash-dotted, with "
    "bands from the lowest run to the highest and a line for what knows nothing; or layer "
    "norm's lead in points, with a line at zero.",
)


def table_3(runs: Runs) -> Table:
    """Put table 3 of the paper beside what was measured here at the end."""
    arms = runs.kinds[MAIN]
    names = {f"{what.partition(',')[0].lower()}": paper for what, paper in PAPER_TABLE_3.items()
             if what.partition(",")[0].lower() in NAMES}  # fmt: skip
    rows = []
    for task, what in SHORT.items():
        cells = [_mean(judged(runs, arm, task)[1][:, -1]) if arm in arms else "–" for arm in LOOKS]
        first = np.concatenate([judged(runs, arm, task)[1][:, 0] for arm in arms])
        bag = words(runs, task)[1][:, -1]
        rows.append([what, *cells, _mean(first), _mean(bag), *names.get(task, ("–", "–"))])
    count = len(arms[PLAIN].runs)
    caption = (
        f"Accuracy, or area under the curve, after {runs.judge.updates(_one(runs))[-1]:,.0f} "
        f"updates, mean of {count} seed{'s' * (count > 1)}; words alone: the mean of the words' "
        "vectors. The paper's: a million updates, 2,400 units."
    )
    columns = ["Task", *(look[0] for look in LOOKS.values()), "untrained", "words alone",
               "paper’s", "paper’s with LN"]  # fmt: skip
    return Table(columns, rows, caption)


def _one(runs: Runs) -> Any:
    return next(iter(runs.kinds[MAIN][PLAIN].runs.values()))


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.1f}"
