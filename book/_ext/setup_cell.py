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

SOURCE = "{source}"  # of the library, where the book has a public address
if importlib.util.find_spec("lnbook") is None:
    found = [*(path.absolute().as_uri() for path in Path().glob("lnlib-*.whl")), SOURCE]
    if not found[0]:
        message = "download lnlib-*.whl from the page 'About this book', save it in the folder of "
        raise ModuleNotFoundError(message + "this notebook, and run this cell again")
    wanted = f"lnlib[live] @ {{found[0]}}"
    print(f"Installing {{wanted}}: a few minutes, once.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", wanted], check=True)
    importlib.invalidate_caches()"""


def setup_cell(source):
    """Return the code with which a chapter begins.

    Args:
        source: Where it installs the library from where that is missing, as pip takes it after
            ``lnlib @``; nothing where the book has no public address.
    """
    return SETUP.format(source=source)
