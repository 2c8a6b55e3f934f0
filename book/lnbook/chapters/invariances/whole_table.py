"""Table 1 of the paper, measured."""

from functools import cache

import numpy as np

from lnbook.chapters.invariances.names import NAMES
from lnbook.figures.table import Table
from lnlib import invariance
from lnlib.invariance import ROUNDING


@cache
def sample(kind: str) -> np.ndarray:
    """Return 16 examples of 8 features, ``random`` or ``adversarial``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 8))
    if kind == "adversarial":  # correlated, scales from 0.01 to 100, large means, a tiny example
        X[:, 1:] += 0.9 * X[:, :-1]
        X = (X + 5) * np.logspace(-2, 2, 8)
        X[-1] *= 1e-3
    return X


def verdicts() -> Table:
    """Return a table of the verdicts of Table 1, each as measured on random data."""
    measured = invariance.changes(sample("random"), (12,), strength=3.0)
    rows = [
        [NAMES[name], *("✓ invariant" if v < ROUNDING else "✗ changes" for v in measured[i, :3])]
        for i, name in enumerate(invariance.TRANSFORMS[:6])
    ]
    return Table(
        ["transformation", "batch norm", "weight norm", "layer norm"],
        [[row[0][0].upper() + row[0][1:], *row[1:]] for row in rows],
        "Table 1, measured: 16 random examples, 12 units, factors and shifts of 3, eps 0.",
    )
