"""Functions that the exercises of ``conditional_normalization`` pass to an answer."""

import numpy as np


def sublayer(y: np.ndarray) -> np.ndarray:
    """Apply a function that mixes the features of each token; its value at 0 is 0.5."""
    return np.tanh(y) + 0.5 * y[..., ::-1] + 0.5
