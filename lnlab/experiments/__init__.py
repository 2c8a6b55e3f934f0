"""The paper's experiments and ours: one module each, which says of itself all that runs it.

A module here that has an ``EXPERIMENT`` is one; adding its file is all there is to do. The first
lines of a folder say what is run and need no torch; ``run.py`` in it is what trains.
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
        ValueError: If there is none of this name.
    """
    if name not in names():
        raise ValueError(f"find: name must be one of {', '.join(names())}, got {name!r}")
    return import_module(f"{__name__}.{name}").EXPERIMENT
