"""The Fisher information: how far a model's predictions move when its parameters do.

Section 5.2 of Ba, Kiros & Hinton (2016), eqs. 8-14 and 32-35. :class:`GLM` is the paper's model,
small enough to form the matrix; :class:`MLP` is a network of section 6.6's size, with products of
its matrix and a vector alone, from which :func:`largest_eigenvalues` and :func:`trace` come.
"""

from lnlib.fisher.glm import FAMILIES, GLM, NORMS
from lnlib.fisher.mlp import MLP, Dense, largest_eigenvalues, trace, trace_estimates

__all__ = [
    "FAMILIES",
    "GLM",
    "MLP",
    "NORMS",
    "Dense",
    "largest_eigenvalues",
    "trace",
    "trace_estimates",
]
