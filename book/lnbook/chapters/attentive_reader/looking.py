"""How much of the attention is on the right name while networks learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.attentive_reader.runs import ARMS, Runs
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import label_ends
from lnbook.widgets.replay import base
from lnbook.widgets.replay.attention import attends, questions

ALL = "mean of all"
Kept = Mapping[str, Mapping[str, Any]]


def kept(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return each network's run that kept its attention: the longest, of the first seed."""
    runs = sorted(records, key=lambda run: (-run["settings"]["epochs"], run["seed"]))
    return base.kept(runs, ARMS, "attention")


def asked(runs: Kept) -> dict[str, str]:
    """Return the questions by their verse, after all of them together, for a choice."""
    verses = [one.verse for one in questions(next(iter(runs.values())))]
    return {name: name for name in (ALL, *verses)}


def shares(run: Mapping[str, Any], verse: str) -> np.ndarray:
    """Return the attention on the right name at each point of training, in percent."""
    found = 100 * attends(run)
    if verse == ALL:
        return found.mean(1)
    return found[:, [one.verse for one in questions(run)].index(verse)]


def on_names(run: Mapping[str, Any]) -> np.ndarray:
    """Return the attention on any name at each point, in percent, mean of all questions."""
    found = []
    for k, one in enumerate(questions(run)):
        here = [at for at, word in enumerate(one.passage) if word.startswith("@")]
        found.append(run["arrays"]["attention"][:, k, here].astype(float).sum(1))
    return 100 * np.mean(found, 0)


def right(run: Mapping[str, Any], verse: str) -> bool:
    """Say whether a run answers a question rightly at the end."""
    chances = run["arrays"]["chances"][-1].astype(float)
    return any(
        one.verse == verse and row.argmax() == one.right
        for one, row in zip(questions(run), chances, strict=True)
    )


def even(run: Mapping[str, Any], verse: str) -> float:
    """Return the percent on the right name if all words had the same attention."""
    each = {
        one.verse: 100 * one.passage.count(one.answer) / len(one.passage) for one in questions(run)
    }
    return float(np.mean(list(each.values()))) if verse == ALL else each[verse]


def draw_looking(runs: Kept, verse: str) -> list[go.Figure]:
    """Draw each network's attention on the right name over its updates."""
    figure = go.Figure()
    for name, run in runs.items():
        label, color, dash = Runs.LOOKS[name]
        figure.add_scatter(
            x=base.updates(run), y=shares(run, verse).round(1), name=label, mode="lines",
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"after %{{x:,}} updates: %{{y:.0f}} %<extra>{label}</extra>",
        )  # fmt: skip
    one = next(iter(runs.values()))
    end = base.updates(one)[-1]
    figure.add_scatter(
        x=[0, end], y=[even(one, verse)] * 2, name="spread evenly", mode="lines",
        hoverinfo="skip", line={"color": COLORS["gray"], "width": 1.5},
    )  # fmt: skip
    figure.update_layout(
        title="Attention on the right name",
        height=380,
        xaxis={"title": "updates", "range": [0, end], "zeroline": False, "tickformat": ",d"},
        yaxis={"title": "% of the attention", "range": [0, 103], "zeroline": False},
    )
    return [label_ends(figure)]


def describe_looking(runs: Kept, verse: str) -> str:
    """Say how much is on the right name at the end."""
    flat = even(next(iter(runs.values())), verse)
    ends = [f"{Runs.LOOKS[name][0]} {shares(run, verse)[-1]:.0f}" for name, run in runs.items()]
    count = len(questions(next(iter(runs.values()))))
    where = f"Over the {count} questions" if verse == ALL else f"In {verse}"
    return (
        f"{where}, at the end, so many percent of the attention are on the right name: "
        f"{', '.join(ends)}; spread evenly it would be {flat:.0f}."
    )


LOOKING = Picture(
    draw_looking,
    describe_looking,
    alt="Lines over updates, one for each network: the percent of its attention that is on the "
    "right name; a gray line is attention that is spread evenly.",
)
