"""Smoothness of a loss along its gradient, and the shift of gradients when lower layers change.

These are the measurements of Santurkar, Tsipras, Ilyas & Madry (2018), arXiv:1805.11604, on batch
norm. The loss is any function that returns its value and its gradient at a point.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Smoothness(NamedTuple):
    """Measures of a loss along its gradient.

    Attributes:
        loss_range: Highest minus lowest loss.
        gradient_length: Norm of the gradient at the point.
        gradient_change: Largest norm of the difference from this gradient.
        smoothness: Effective smoothness: the largest ratio of this difference to the distance.
    """

    loss_range: float
    gradient_length: float
    gradient_change: float
    smoothness: float


def along_gradient(loss: Loss, x: np.ndarray, rates: Sequence[float]) -> Smoothness:
    """Measure loss and gradient at several distances along the negative gradient.

    ::

        max over rates of ||g(x - rate g(x)) - g(x)|| / ||rate g(x)||

    Args:
        loss: Returns loss and gradient at a point.
        x: The point, shape ``(P,)``.
        rates: Positive step sizes, in multiples of the gradient.

    Raises:
        ValueError: If there is no rate, or one is not positive.

    Example:
        >>> along_gradient(lambda x: (2 * x @ x, 4 * x), np.array([2.0]), [0.25]).smoothness
        4.0
    """
    if not len(rates) or min(rates) <= 0:
        raise ValueError(
            f"along_gradient: rates must be one or more positive numbers, got {rates!r}; negative "
            "ones increase the loss"
        )
    initial, gradient = loss(x)
    length = float(np.linalg.norm(gradient))
    points = [loss(x - rate * gradient) for rate in rates]
    losses = [initial, *(value for value, _ in points)]
    changes = [float(np.linalg.norm(next_gradient - gradient)) for _, next_gradient in points]
    ratios = [change / (rate * length) for change, rate in zip(changes, rates, strict=True)]
    return Smoothness(max(losses) - min(losses), length, max(changes), max(ratios))


def covariate_shift(
    loss: Loss, x: np.ndarray, step: np.ndarray, layers: Sequence[slice]
) -> np.ndarray:
    """Return the change of each layer's gradient after an update of the layers below it.

    Args:
        loss: Returns loss and gradient at a point.
        x: All weights, shape ``(P,)``, layer after layer.
        step: The update of the weights, shape ``(P,)``.
        layers: The slice of each layer, the lowest first.

    Returns:
        Norm of the change relative to that of the gradient before, for each layer but the lowest.
    """
    before, result = loss(x)[1], []
    for part in layers[1:]:
        moved = x.copy()
        moved[: part.start] += step[: part.start]
        change = loss(moved)[1][part] - before[part]
        result.append(np.linalg.norm(change) / np.linalg.norm(before[part]))
    return np.array(result)
