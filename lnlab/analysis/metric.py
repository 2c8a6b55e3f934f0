"""Comparison of the paper's Fisher matrix with the exact one: how much eq. 13 leaves out.

Section 5.2 of Ba, Kiros & Hinton (2016). For each unit, eq. 13 has only the effect of its weights
on its own output. With layer norm, they affect all outputs of the layer, through the shared mean
and standard deviation.
"""

from __future__ import annotations

import numpy as np

from lnlib.fisher import GLM


def distance(F: np.ndarray, exact: np.ndarray, *, units: int | None = None) -> float:
    """Return the distance of a matrix from the exact one, relative to the norm of the exact one.

    ::

        ||F - exact|| / ||exact||        root of the sum of squares (Frobenius norm)

    Args:
        F: Shape ``(P, P)``.
        exact: Shape ``(P, P)``.
        units: If given, only this many equal blocks on the diagonal are compared, one for each
            unit.

    Example:
        >>> distance(np.array([[3.0, 0.0], [0.0, 6.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]))
        0.4
    """
    mask = 1.0 if units is None else np.kron(np.eye(units), np.ones((len(exact) // units,) * 2))
    return float(np.linalg.norm((F - exact) * mask) / np.linalg.norm(exact * mask))


def random_inputs(rng: np.random.Generator, cases: int = 40, inputs: int = 4) -> np.ndarray:
    """Return normal inputs with mean 1/2 and variance 1, ``(cases, inputs)``."""
    return rng.normal(size=(cases, inputs)) + 0.5


def random_glm(
    rng: np.random.Generator, norm: str, family: str, *, units: int = 3, inputs: int = 4
) -> GLM:
    """Return a random model.

    Weights and biases are normal with variance 1/4, and gains are uniform between 1/2 and 3/2.
    Weights and biases do not depend on the norm.

    Args:
        rng: Generator for the parameters.
        norm: One of :data:`lnlib.fisher.NORMS`.
        family: Distribution of the labels, one of :data:`lnlib.fisher.FAMILIES`.
        units: Number of units.
        inputs: Number of inputs, which the units share.
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
    """Return the :func:`distance` of eq. 13 from the exact matrix for random models.

    The models are those of :func:`random_glm` with inputs of :func:`random_inputs`; the draws have
    the seeds 0, 1, 2, ...

    Args:
        norm: Norm of the models, one of :data:`lnlib.fisher.NORMS`.
        family: Distribution of the labels, one of :data:`lnlib.fisher.FAMILIES`.
        draws: Number of models.
        own: Whether to compare only the diagonal block of each unit.
        units: Number of units of each model.
        inputs: Number of inputs, which the units share.
        cases: Number of examples over which the matrix is averaged.

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
