"""The models of the chapter: three units, four inputs, forty examples."""

from functools import cache

import numpy as np

from lnbook.figures.plots import NORMS
from lnlab.analysis import fisher_error
from lnlib.fisher import GLM

UNITS, INPUTS, CASES = 3, 4, 40

#: Labels of the names in :mod:`lnlib.fisher`.
FAMILIES = {
    "Gaussian": "gaussian",
    "Bernoulli": "bernoulli",
    "Poisson": "poisson",
    "categorical": "categorical",
}
CHOICES = {label: norm for norm, (label, *_) in NORMS.items()}
ZERO = 1e-12  # relative rounding error of numbers that are 0


@cache
def cases() -> np.ndarray:
    """Return the inputs of 40 examples, ``(40, 4)``."""
    return fisher_error.random_inputs(np.random.default_rng(1), CASES, INPUTS)


@cache
def glm(norm: str, family: str) -> GLM:
    """Return a model of three units with four inputs; the weights do not depend on the norm."""
    rng = np.random.default_rng(18)
    return fisher_error.random_glm(rng, norm, family, units=UNITS, inputs=INPUTS)
