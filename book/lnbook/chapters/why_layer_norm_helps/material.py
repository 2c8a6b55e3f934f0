"""Models of sequences that the exercises of ``why_layer_norm_helps`` pass to an answer."""

import numpy as np


def running_mean(x: np.ndarray) -> np.ndarray:
    """Return the mean of each feature up to each position, for ``(batch, time, features)``."""
    return x.cumsum(axis=1) / np.arange(1, x.shape[1] + 1)[:, None]


def causal_with_batch_norm(x: np.ndarray) -> np.ndarray:
    """Normalize each feature over batch and time, then take :func:`running_mean`."""
    std = np.sqrt(x.var(axis=(0, 1)) + 1e-5)
    return running_mean((x - x.mean(axis=(0, 1))) / std)


def causal_with_layer_norm(x: np.ndarray) -> np.ndarray:
    """Normalize the features of each position, then take :func:`running_mean`."""
    std = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return running_mean((x - x.mean(axis=-1, keepdims=True)) / std)


def backward_sum(x: np.ndarray) -> np.ndarray:
    """Return the sum of each feature from each position on, which only depends on the future."""
    return x[:, ::-1].cumsum(axis=1)[:, ::-1]
