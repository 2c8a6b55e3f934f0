"""The paper's experiments and further ones of the book, one module or package each.

A public module here is an experiment; its ``EXPERIMENT`` describes it, and no other registration is
needed. The ``__init__.py`` of a package has the settings and does not import torch; its ``run.py``
has the training.
"""

import functools
import pkgutil
from importlib import import_module
from types import ModuleType

from lnlab.experiment import Experiment

#: Modules whose experiment has another name in commands, records and their folders.
MODULES = {
    "landscape": "loss_landscape",
    "noise": "gradient_noise",
    "sequence": "sequential_mnist",
    "weights": "weight_growth",
}


def names() -> tuple[str, ...]:
    """Return the names of all experiments, in alphabetical order.

    Example:
        >>> "mnist" in names()
        True
    """
    return _names_in(*__path__)


@functools.cache
def _names_in(*folders: str) -> tuple[str, ...]:
    experiments = {module: name for name, module in MODULES.items()}
    modules = (module.name for module in pkgutil.iter_modules(folders))
    return tuple(sorted(experiments.get(m, m) for m in modules if not m.startswith("_")))


def module_of(name: str, part: str = "") -> ModuleType:
    """Return the module of an experiment, or a part of it such as ``results``."""
    return import_module(".".join(filter(None, (__name__, MODULES.get(name, name), part))))


def find(name: str) -> Experiment:
    """Return an experiment by its name.

    Raises:
        ValueError: If the name is unknown.
    """
    if name not in names():
        raise ValueError(f"find: name must be one of {', '.join(names())}, got {name!r}")
    return module_of(name).EXPERIMENT
