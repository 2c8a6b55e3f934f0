"""The state of a norm table: the typed texts, the norm, the selected cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lnbook.widgets import number_parsing

EXAMPLES, FEATURES = 16, 8  # the most of each
NORMS = (
    "layer norm",
    "batch norm",
    "batch norm at inference",
    "RMS norm",
    "group norm",
    "instance norm",
    "none",
)
TEST_TIME = NORMS[2]
EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3, "1e-1": 1e-1}


@dataclass(frozen=True)
class State:
    """What the reader has set.

    Args:
        x: Rows of texts as typed.
        gain: A text for each feature.
        bias: A text for each feature.
        norm: One of ``NORMS``.
        groups: A divisor of the number of features.
        eps: In squared units of ``x``.
        cell: The chosen cell, counted from 0.
    """

    x: tuple[tuple[str, ...], ...]
    gain: tuple[str, ...]
    bias: tuple[str, ...]
    norm: str
    groups: int
    eps: float
    cell: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features."""
        return len(self.x), len(self.x[0])

    def sets(self) -> np.ndarray:
        """Number, for each cell, its normalization set: the cells that share its statistics.

        >>> row = ("1", "2", "3", "4")
        >>> State((row, row), row, row, "group norm", 2, 1e-5, (0, 0)).sets()
        array([[0, 0, 1, 1],
               [2, 2, 3, 3]])
        """
        i, j = np.indices(self.shape)
        if self.norm in ("layer norm", "RMS norm"):
            return i
        if self.norm == "batch norm":
            return j
        if self.norm == "group norm":
            return i * self.groups + self.group(j)
        return i * self.shape[1] + j

    def group(self, j: int) -> int:
        """Return which group a feature is in, counted from 0."""
        return j // (self.shape[1] // self.groups)


def typed(text: str) -> float:
    """Read a cell; NaN if it holds no number, or one that may be two.

    >>> [typed(text) for text in ("1,5", "−2", "1 155", "1/4", "1,155", "1e999", "two")]
    [1.5, -2.0, 1155.0, 0.25, nan, nan, nan]
    """
    result = number_parsing.readings(text)
    return result[0] if len(result) == 1 else float("nan")


def divisor(groups: int, features: int) -> int:
    """Return the largest number of groups, at most so many, that divides the features."""
    return max(g for g in range(1, min(groups, features) + 1) if features % g == 0)
