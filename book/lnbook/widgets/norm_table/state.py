"""The state of a norm table: the typed texts, the norm, the selected cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lnbook.widgets import number_parsing

EXAMPLES, FEATURES = 16, 8  # maximum number of each
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
    """The reader's input.

    Args:
        x: Rows of texts as typed.
        gain: A text for each feature.
        bias: A text for each feature.
        norm: One of ``NORMS``.
        groups: The number of groups, a divisor of the number of features.
        eps: In squared units of ``x``.
        cell: Row and column of the selected cell, counted from 0.
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
        """The number of examples and of features."""
        return len(self.x), len(self.x[0])

    def sets(self) -> np.ndarray:
        """Return, for each cell, the index of its normalization set (cells with shared statistics).

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
        """Return the group of a feature; both are counted from 0."""
        return j // (self.shape[1] // self.groups)


def typed(text: str) -> float:
    """Parse the text of a cell; return NaN if it is not a number or is ambiguous.

    >>> [typed(text) for text in ("1,5", "−2", "1 155", "1/4", "1,155", "1e999", "two")]
    [1.5, -2.0, 1155.0, 0.25, nan, nan, nan]
    """
    result = number_parsing.readings(text)
    return result[0] if len(result) == 1 else float("nan")


def divisor(groups: int, features: int) -> int:
    """Return the largest divisor of ``features`` that is at most ``groups``."""
    return max(g for g in range(1, min(groups, features) + 1) if features % g == 0)
