"""Attention on the names of a passage, and answers, as the runs recorded them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lnbook.chapters.attentive_reader.runs import AttentiveReaderRuns
from lnbook.widgets.replay import base
from lnbook.widgets.replay.attention import attends, questions
from lnlab.claims.trained import TASKS


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
