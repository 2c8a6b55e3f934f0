"""Error of eq. 13, the paper's Fisher matrix, relative to the exact one.

Section 5.2 of Ba, Kiros & Hinton (2016). For each unit, eq. 13 has only the effect of its weights
on its own output. With layer norm, they affect all outputs of the layer, through the shared mean
and standard deviation.
"""

import numpy as np

from lnlib.fisher import GLM


def relative_error(F: np.ndarray, exact: np.ndarray, *, units: int | None = None) -> float:
    """Return the error of a matrix relative to the exact one, in the Frobenius norm.

    ::

        ||F - exact|| / ||exact||

    Args:
        F: Shape ``(P, P)``.
        exact: Shape ``(P, P)``.
        units: If given, compare only the diagonal blocks of this many units, which have equally
            many parameters.

    Example:
        >>> relative_error(np.array([[3.0, 0.0], [0.0, 6.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]))
        0.4
    """
    mask = 1.0 if units is None else np.kron(np.eye(units), np.ones((len(exact) // units,) * 2))
    return float(np.linalg.norm((F - exact) * mask) / np.linalg.norm(exact * mask))


def random_inputs(rng: np.random.Generator, examples: int, inputs: int) -> np.ndarray:
    """Return normal inputs with mean 1/2 and variance 1, shape ``(examples, inputs)``."""
    return rng.normal(size=(examples, inputs)) + 0.5


def random_glm(rng: np.random.Generator, norm: str, family: str, *, units: int, inputs: int) -> GLM:
    """Return a generalized linear model with random parameters.

    Weights and biases are normal with variance 1/4, and gains are uniform between 1/2 and 3/2.
    With the same generator, the weights and biases of all norms are equal.

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


def eq13_errors(norm: str, family: str, *, models: int = 100) -> np.ndarray:
    """Return the :func:`relative_error` of eq. 13 for random models.

    The models are those of :func:`random_glm` with 3 units and 4 inputs, and the matrices are
    averaged over 40 examples of :func:`random_inputs`; the seeds are 0, 1, 2, ...

    Args:
        norm: Norm of the models, one of :data:`lnlib.fisher.NORMS`.
        family: Distribution of the labels, one of :data:`lnlib.fisher.FAMILIES`.
        models: Number of models.

    Returns:
        Shape ``(models,)``.
    """
    errors = []
    for seed in range(models):
        rng = np.random.default_rng(seed)
        X = random_inputs(rng, 40, 4)
        model = random_glm(rng, norm, family, units=3, inputs=4)
        errors.append(relative_error(model.fisher(X, "paper"), model.fisher(X)))
    return np.array(errors)
