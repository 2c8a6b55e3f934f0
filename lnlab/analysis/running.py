"""Batch norm in training and at test time: one feature, one batch after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lnlib import norms


@dataclass(frozen=True)
class Stream:
    """A feature as batch norm sees it over T batches, and what it makes of one value.

    Attributes:
        batch_mean: Mean of each batch, shape ``(T,)``.
        running_mean: Running mean before the first batch and after each, shape ``(T + 1,)``.
        running_var: Running variance, likewise.
        train: Output for the value with the statistics of its batch, shape ``(T,)``.
        test: Output for it with the running statistics, shape ``(T + 1,)``.
    """

    batch_mean: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    train: np.ndarray
    test: np.ndarray


def follow(
    value: float, batches: Iterable[np.ndarray], momentum: float = 0.1, *, eps: float = 1e-5
) -> Stream:
    """Follow one feature, and a value of it, through training.

    ::

        running = (1 - momentum) * running + momentum * batch's

    Running mean and variance start from 0 and 1, and a batch's variance there divides by B - 1, as
    in ``torch.nn.BatchNorm1d``.

    Args:
        value: What is normalized: in training it stands in place of each batch's first case.
        batches: The feature's values, each of shape ``(B,)``, B at least 2: of one, there is no
            unbiased variance.
        momentum: Weight of the latest batch.
        eps: In squared units of the feature.

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
    return Stream(*(np.concatenate(a) for a in (means, all_means, all_vars, train, test)))
