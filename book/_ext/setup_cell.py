"""The first code cell of a chapter, which installs the library, and the metadata of folded cells.

This module only needs the standard library, because ``tools/notebooks.py`` and ``tools/live.py``
import it, too.
"""

# Metadata of a cell whose code is folded, for Colab, and for JupyterLab and Notebook 7.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
CELL = "cell-setup"  # the id of the first code cell
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
# Maps the name of a distribution of the library to its folder in the repository.
DISTRIBUTIONS = {"lnlib": "", "lnlab": "lnlab", "lnbook": "book"}


def setup_cell(sources):
    """Return the code of the first code cell.

    Args:
        sources: Maps the name of a distribution to the URL that pip installs it from; empty if the
            book has no public repository.
    """
    return SETUP.format(sources="{" + ", ".join(f'"{k}": "{v}"' for k, v in sources.items()) + "}")


def sources_in_repository(url):
    """Return the URLs that pip installs the distributions from, by name; empty without a URL."""
    folders = {
        name: f"#subdirectory={folder}" * bool(folder) for name, folder in DISTRIBUTIONS.items()
    }
    return {name: f"git+{url}{folder}" for name, folder in folders.items()} if url else {}
