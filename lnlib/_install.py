"""How to install what an optional part of the library needs.

The name lnlib is not registered on the package index, so no message may say ``pip install lnlib``:
that would install whatever someone else publishes under it.
"""

from __future__ import annotations

import importlib.metadata
import shlex
from pathlib import Path


def command(extra: str = "nn") -> str:
    """Return the command that installs an extra: from the clone, or package by package without one.

    Args:
        extra: As in ``pyproject.toml``.
    """
    clone = Path(__file__).parent.parent
    if (clone / "pyproject.toml").is_file():
        return shlex.join(["pip", "install", "-e", f"{clone}[{extra}]"])
    return shlex.join(["pip", "install", *_packages(extra)])


def _packages(extra: str) -> list[str]:
    """Return the requirements of an extra of the installed package, those it builds on included."""
    packages = []
    for line in importlib.metadata.requires("lnlib") or []:
        requirement, _, marker = line.partition(";")
        if f"extra == '{extra}'" not in marker.replace('"', "'"):
            continue
        name, _, others = requirement.strip().partition("[")
        if name == "lnlib":
            for nested_extra in others.rstrip("]").split(","):
                packages += _packages(nested_extra)
        else:
            packages.append(requirement.strip())
    return packages
