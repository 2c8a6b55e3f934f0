"""The first code cell of a chapter, which installs the library, and how a code cell is folded.

It needs the standard library alone: ``tools/notebooks.py`` and ``tools/live.py`` import it, too.
"""

# The metadata of a cell whose code JupyterLab, Notebook 7 and Colab fold.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
CELL = "cell-setup"  # the name of the first code of a chapter, which is:
SETUP = """\
# @title Installs the book's library where it is missing; then choose Run > Run All Cells
import importlib.util
import subprocess
import sys
from pathlib import Path

SOURCES = {sources}  # of the library, where the book has a public address
if importlib.util.find_spec("lnbook") is None:
    for path in Path().glob("ln[lb]*-*.whl"):
        SOURCES[path.name.partition("-")[0]] = path.absolute().as_uri()
    if len(SOURCES) < 3:
        message = "download the three .whl files of the library from the page 'About this book' "
        raise ModuleNotFoundError(message + "into this notebook's folder, and run this cell again")
    wanted = [f"{{k}} @ {{v}}".replace("book @", "book[live] @") for k, v in SOURCES.items()]
    print("Installing the book's library: a few minutes, once.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *wanted], check=True)
    importlib.invalidate_caches()"""
# From the distributions of the library to their folders in the repository.
DISTRIBUTIONS = {"lnlib": "", "lnlab": "lnlab", "lnbook": "book"}


def setup_cell(sources):
    """Return the code with which a chapter begins.

    Args:
        sources: From the names of the distributions to what pip installs them from, after the @;
            empty where the book has no public address.
    """
    return SETUP.format(sources="{" + ", ".join(f'"{k}": "{v}"' for k, v in sources.items()) + "}")


def in_repository(address):
    """Return what pip installs the library from, by distribution, if it is in this repository."""
    folders = {
        name: f"#subdirectory={folder}" * bool(folder) for name, folder in DISTRIBUTIONS.items()
    }
    return {name: f"git+{address}{folder}" for name, folder in folders.items()} if address else {}
