"""Batch norm in training and at test time: one feature over successive batches."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lnlib import norms


@dataclass(frozen=True)
class RunningStatistics:
    """A feature over T batches, and the outputs of batch norm for one value of it.

    Attributes:
        batch_mean: Mean of each batch, shape ``(T,)``.
        running_mean: Running mean before the first batch and after each batch, shape ``(T + 1,)``.
        running_var: Running variance at the same points, shape ``(T + 1,)``.
        train: Output for the value with the statistics of its batch, shape ``(T,)``.
        test: Output for the value with the running statistics, shape ``(T + 1,)``.
    """

    batch_mean: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    train: np.ndarray
    test: np.ndarray


def follow(
    value: float, batches: Iterable[np.ndarray], momentum: float = 0.1, *, eps: float = 1e-5
) -> RunningStatistics:
    """Compute the statistics of one feature, and the outputs for one value of it, during training.

    ::

        running = (1 - momentum) * running + momentum * batch's

    The running mean and variance are initialized to 0 and 1, and they are updated with the unbiased
    variance of the batch (divided by B - 1), as in ``torch.nn.BatchNorm1d``.

    Args:
        value: The value to normalize; in training, it replaces the first example in each batch.
        batches: Values of the feature, each of shape ``(B,)`` with B at least 2, because the
            unbiased variance of one value is not defined.
        momentum: Weight of the newest batch.
        eps: Constant added to the variance, in squared units of the feature.

    Example:
        >>> run = follow(3.0, [np.array([1.0, 3.0]), np.array([5.0, 1.0])], momentum=0.5)
        >>> run.running_mean, run.train.round(3)
        (array([0., 1., 2.]), array([0., 1.]))
    """
    mean, var = np.zeros(1), np.ones(1)
    means, running, train = [], [(mean, var)], []
    for batch in batches:
        x = batch[:, None].copy()  # (B, 1 feature)
        batch_mean, batch_var = norms.batch_statistics(x, ddof=1)
        mean = norms.update_running(mean, batch_mean, momentum)
        var = norms.update_running(var, batch_var, momentum)
        running.append((mean, var))
        means.append(batch_mean)
        x[0] = value
        train.append(norms.batch_norm(x, eps=eps)[0])
    followed = np.array([[float(value)]])
    test = [norms.batch_norm(followed, mean=m, var=v, eps=eps)[0] for m, v in running]
    all_means, all_vars = zip(*running, strict=True)
    return RunningStatistics(
        *(np.concatenate(a) for a in (means, all_means, all_vars, train, test))
    )
