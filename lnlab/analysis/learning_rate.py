"""The effective learning rate: how the norm of the weights changes the effect of an update.

If a norm makes the loss invariant to the norm of W, the gradient is orthogonal to W and decreases
as 1/||W||: section 5.2.2 of Ba, Kiros & Hinton (2016); van Laarhoven (2017), arXiv:1706.05350.
"""

import numpy as np


def spiral(
    length: float, rate: float, steps: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take gradient steps that are orthogonal to a vector of two weights, the simplest such case.

    ::

        ||w'||^2 = ||w||^2 + rate^2 ||gradient||^2        tan(turn) = rate / ||w||^2

    The gradient is artificial: its norm is 1/||w||, and it has the same sense of rotation
    everywhere.

    Args:
        length: Initial norm of the weights.
        rate: The learning rate.
        steps: Number of steps.

    Returns:
        The weights before each step and after the last, ``(steps + 1, 2)``; their norm, ``(steps +
        1,)``; the angle of each step in degrees, ``(steps,)``.

    Example:
        >>> spiral(1.0, 1.0, 2)[1].round(3)
        array([1.   , 1.414, 1.581])
    """
    points = [np.array([length, 0.0])]
    for _ in range(steps):
        w = points[-1]
        unit = w / np.linalg.norm(w)
        gradient = np.array([unit[1], -unit[0]]) / np.linalg.norm(w)  # at length 1, 1 long
        points.append(w - rate * gradient)
    tips = np.array(points)
    lengths = np.linalg.norm(tips, axis=1)
    angles = np.unwrap(np.arctan2(tips[:, 1], tips[:, 0]))
    return tips, lengths, np.degrees(np.diff(angles))
