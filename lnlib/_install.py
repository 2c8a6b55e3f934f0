"""How to install what an optional part of the library needs.

The name lnlib is not registered on the package index, so no message may say ``pip install lnlib``:
that would install whatever someone else publishes under it.
"""

import importlib.metadata
import shlex
from pathlib import Path


def command(distribution: str = "lnlib") -> str:
    """Return the command that installs what a distribution needs, from the clone if there is one.

    Args:
        distribution: ``lnlib``, with PyTorch, or ``lnlab``.
    """
    clone = Path(__file__).parent.parent
    if (clone / "pyproject.toml").is_file():
        folders = [
            f"{clone}[nn]",
            *([str(clone / distribution)] if distribution != "lnlib" else []),
        ]
        return shlex.join(["pip", "install", *(w for folder in folders for w in ("-e", folder))])
    return shlex.join(["pip", "install", *_packages(distribution)])


def _packages(distribution: str) -> list[str]:
    """Return the requirements of an installed distribution, those of lnlib[nn] included."""
    packages = []
    for line in importlib.metadata.requires(distribution) or []:
        requirement, _, marker = line.partition(";")
        if requirement.startswith("lnlib["):
            packages += _packages("lnlib")
        elif not marker or marker.replace('"', "'").strip() == "extra == 'nn'":
            packages.append(requirement.strip())
    return packages
