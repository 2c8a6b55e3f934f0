"""Data sets, one module each, every one checked against a SHA-256 before it is used.

``digits`` comes with scikit-learn and is always there; ``mnist`` is what section 6.6 of the paper
measures. Importing this package loads neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np

__all__ = ["Dataset", "load"]

_NAMES = ("digits", "mnist")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test cases, one row each.

    Attributes:
        name: As given to :func:`load`.
        x_train: Features, shape ``(N, D)``, float32 in [0, 1].
        y_train: Classes, shape ``(N,)``, int64.
        x_test: As ``x_train``.
        y_test: As ``y_train``.
        sha256: Of everything that was read; the module that loads says of which bytes.
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    sha256: str


def load(name: str) -> Dataset:
    """Load a data set by its name.

    Args:
        name: ``"digits"`` or ``"mnist"``.

    Returns:
        What ``lnlib.data.<name>.load()`` returns.

    Raises:
        ValueError: If there is no data set of this name.

    Example:
        >>> load("digits").x_train.shape
        (1437, 64)
    """
    if name not in _NAMES:
        raise ValueError(f"load: name must be one of {', '.join(_NAMES)}; got {name!r}")
    return import_module(f"lnlib.data.{name}").load()
