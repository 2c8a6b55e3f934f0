"""Scales of the weights: the grid, and an axis."""

import numpy as np

from lnbook.figures.plots import log_axis

SCALES = [0.125, 0.25, 0.5, 1, 2, 4, 8]
FINE = 2 ** np.linspace(-3, 3, 25)


def doubling(title: str) -> dict:
    """Return a logarithmic axis for :data:`SCALES`."""
    return log_axis(SCALES, [-0.95, 0.95], title=title, texts=["⅛", "¼", "½", "1", "2", "4", "8"])
