"""What the exercises of ``conditional_normalization`` hand to an answer."""

import numpy as np


def sublayer(y: np.ndarray) -> np.ndarray:
    """Return a function of each token that mixes its features; at 0 it is 0.5."""
    return np.tanh(y) + 0.5 * y[..., ::-1] + 0.5
