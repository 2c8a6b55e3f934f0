"""The paper's Fisher matrix beside the exact one: how much eq. 13 leaves out.

Section 5.2 of Ba, Kiros & Hinton (2016). Eq. 13 keeps of each unit's outputs what its own weights
do. Under layer norm they move every output of the layer, through the shared mean and deviation.
"""

from __future__ import annotations

import numpy as np

from lnlib.fisher import GLM


def distance(F: np.ndarray, exact: np.ndarray, *, units: int | None = None) -> float:
    """Return how far a matrix is from the exact one, as a share of that.

    ::

        ||F - exact|| / ||exact||        root of the sum of squares (Frobenius norm)

    Args:
        F: Shape ``(P, P)``.
        exact: Shape ``(P, P)``.
        units: If given, of the blocks of a unit with itself alone: that many, on the diagonal.

    Example:
        >>> distance(np.array([[3.0, 0.0], [0.0, 6.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]))
        0.4
    """
    mask = 1.0 if units is None else np.kron(np.eye(units), np.ones((len(exact) // units,) * 2))
    return float(np.linalg.norm((F - exact) * mask) / np.linalg.norm(exact * mask))


def random_inputs(rng: np.random.Generator, cases: int = 40, inputs: int = 4) -> np.ndarray:
    """Return inputs that are normal about 1/2 with variance 1, ``(cases, inputs)``."""
    return rng.normal(size=(cases, inputs)) + 0.5


def random_glm(
    rng: np.random.Generator, norm: str, family: str, *, units: int = 3, inputs: int = 4
) -> GLM:
    """Return a model drawn at random.

    Weights are normal with variance 1/4, biases too, and gains uniform between 1/2 and 3/2.
    Weights and biases do not depend on the norm.

    Args:
        rng: Draws the parameters.
        norm: One of :data:`lnlib.fisher.NORMS`.
        family: Of the labels, one of :data:`lnlib.fisher.FAMILIES`.
        units: Of the model.
        inputs: Numbers that its units share.
    """
    W, b = rng.normal(size=(units, inputs)) / 2, 0.5 * rng.normal(size=units)
    g = None if norm == "none" else rng.uniform(0.5, 1.5, size=units)
    return GLM(W, b, g, norm=norm, family=family)


def missed(
    norm: str,
    family: str,
    *,
    draws: int = 100,
    own: bool = False,
    units: int = 3,
    inputs: int = 4,
    cases: int = 40,
) -> np.ndarray:
    """Return what eq. 13 misses of the exact matrix, :func:`distance`, in models drawn at random.

    They are those of :func:`random_glm` on :func:`random_inputs`; each draw has a seed of its own,
    0, 1, 2, ...

    Args:
        norm: Of the models, one of :data:`lnlib.fisher.NORMS`.
        family: Of their labels, one of :data:`lnlib.fisher.FAMILIES`.
        draws: How many models.
        own: In the blocks of one unit with itself alone.
        units: Of each model.
        inputs: Numbers that its units share.
        cases: Over which the matrix is a mean.

    Returns:
        Shape ``(draws,)``.
    """
    results = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X = random_inputs(rng, cases, inputs)
        model = random_glm(rng, norm, family, units=units, inputs=inputs)
        printed, exact = model.fisher(X, "paper"), model.fisher(X)
        results.append(distance(printed, exact, units=units if own else None))
    return np.array(results)
