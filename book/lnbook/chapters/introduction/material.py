"""Functions that the exercises of ``introduction`` pass to an answer."""

import numpy as np


def less_the_mean(x: np.ndarray) -> np.ndarray:
    """Subtract the mean of each unit, without dividing: neither batch norm nor layer norm."""
    return x - x.mean(axis=0)
