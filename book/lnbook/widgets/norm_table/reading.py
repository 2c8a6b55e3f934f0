"""The numbers and the sentences of one state of a norm table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lnbook.widgets.norm_table.compute import Result, compute
from lnbook.widgets.norm_table.sentences import Sentences
from lnbook.widgets.norm_table.state import State


@dataclass(frozen=True)
class Reading(Result):
    """The numbers of a state and the sentences about them.

    Args:
        text: The sentence about the selected cell.
        work: The formula with its numbers, or "".
        warning: Warnings, or "".
    """

    text: str
    work: str
    warning: str


def read(
    state: State,
    feature: Callable[[int], str],
    running: tuple[np.ndarray, np.ndarray] | None,
) -> Reading:
    """Compute a state and describe it.

    Args:
        state: The reader's input.
        feature: Returns the name of a feature, counted from 0.
        running: Running mean and variance from training, for batch norm at inference.

    Returns:
        Numbers and sentences.
    """
    result = compute(state, running)
    sentences = Sentences(state, result, feature, len(running[0]) if running else 0)
    return Reading(
        **vars(result), text=sentences.shares(), work=sentences.work(), warning=sentences.warning()
    )
