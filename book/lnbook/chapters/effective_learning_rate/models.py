"""The models of the chapter: four units, six inputs, 64 examples."""

from functools import cache

import numpy as np

from lnlib.fisher import GLM

CASES, INPUTS, UNITS = 64, 6, 4


@cache
def cases() -> np.ndarray:
    """Return the inputs of 64 examples, ``(64, 6)``."""
    return np.random.default_rng(0).normal(size=(CASES, INPUTS)) + 0.3


def glm(norm: str, family: str = "categorical", scale: float = 1.0, whose: str = "all") -> GLM:
    """Return a model of four units with six inputs; the weights do not depend on the norm.

    Args:
        norm: The norm of the summed inputs.
        family: The distribution of the labels.
        scale: Factor of the weights.
        whose: ``"all"`` weights are scaled, or those of ``"one"`` unit, the first.
    """
    rng = np.random.default_rng(3)
    W, b = 0.4 * rng.normal(size=(UNITS, INPUTS)), 0.3 * rng.normal(size=UNITS)
    W[: 1 if whose == "one" else UNITS] *= scale
    return GLM(W, b, norm=norm, family=family)
