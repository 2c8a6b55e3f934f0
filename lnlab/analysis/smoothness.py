"""How smooth a loss is where training goes, and how far lower layers move the target of upper ones.

Santurkar, Tsipras, Ilyas & Madry (2018), arXiv:1805.11604, measured so what batch norm does. The
loss is any function that returns its value and its gradient at a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Smoothness(NamedTuple):
    """What is met along a gradient.

    Attributes:
        loss_range: Highest minus lowest loss.
        gradient_length: Of the gradient at the point itself.
        gradient_change: The longest difference to it.
        smoothness: The "effective" one: the largest ratio of that difference to the distance.
    """

    loss_range: float
    gradient_length: float
    gradient_change: float
    smoothness: float


def along_gradient(loss: Loss, x: np.ndarray, rates: Sequence[float]) -> Smoothness:
    """Walk against the gradient and look at loss and gradient on the way.

    ::

        max over rates of ||g(x - rate g(x)) - g(x)|| / ||rate g(x)||

    Args:
        loss: From a point to loss and gradient.
        x: The point, shape ``(P,)``.
        rates: How far to go, in multiples of the gradient; above 0.

    Raises:
        ValueError: If there is no rate, or one is not above 0.

    Example:
        >>> along_gradient(lambda x: (2 * x @ x, 4 * x), np.array([2.0]), [0.25]).smoothness
        4.0
    """
    if not len(rates) or min(rates) <= 0:
        raise ValueError(
            f"along_gradient: rates must be one or more numbers above 0, got {rates!r}; those "
            "below 0 lead uphill"
        )
    here, gradient = loss(x)
    length = float(np.linalg.norm(gradient))
    met = [loss(x - rate * gradient) for rate in rates]
    losses = [here, *(value for value, _ in met)]
    changes = [float(np.linalg.norm(other - gradient)) for _, other in met]
    ratios = [change / (rate * length) for change, rate in zip(changes, rates, strict=True)]
    return Smoothness(max(losses) - min(losses), length, max(changes), max(ratios))


def covariate_shift(
    loss: Loss, x: np.ndarray, step: np.ndarray, layers: Sequence[slice]
) -> np.ndarray:
    """Return how far each layer's gradient changes when the layers below it have taken their step.

    Args:
        loss: From a point to loss and gradient.
        x: All weights, shape ``(P,)``, layer after layer.
        step: What an update adds to them.
        layers: The part of each layer, the lowest first.

    Returns:
        The length of the change by that of the gradient before, one a layer but the lowest.
    """
    before, result = loss(x)[1], []
    for part in layers[1:]:
        moved = x.copy()
        moved[: part.start] += step[: part.start]
        change = loss(moved)[1][part] - before[part]
        result.append(np.linalg.norm(change) / np.linalg.norm(before[part]))
    return np.array(result)
