"""What the exercises of ``start`` hand to an answer."""

import numpy as np


def less_the_mean(x: np.ndarray) -> np.ndarray:
    """Take the mean of each unit away, and divide by nothing: neither of the two norms."""
    return x - x.mean(axis=0)
