"""The paper's experiments and further ones of the book, one module or package each.

A public module here is an experiment; its ``EXPERIMENT`` describes it, and no other registration is
needed. The ``__init__.py`` of a package has the settings and does not import torch; its ``run.py``
has the training.
"""

from __future__ import annotations

import functools
import pkgutil
from importlib import import_module

from lnlab.experiment import Experiment


def names() -> tuple[str, ...]:
    """Return the names of all experiments, in alphabetical order.

    Example:
        >>> "mnist" in names()
        True
    """
    return _names_in(*__path__)


@functools.cache
def _names_in(*folders: str) -> tuple[str, ...]:
    result = (module.name for module in pkgutil.iter_modules(folders))
    return tuple(sorted(name for name in result if not name.startswith("_")))


def find(name: str) -> Experiment:
    """Return an experiment by its name.

    Raises:
        ValueError: If the name is unknown.
    """
    if name not in names():
        raise ValueError(f"find: name must be one of {', '.join(names())}, got {name!r}")
    return import_module(f"{__name__}.{name}").EXPERIMENT
