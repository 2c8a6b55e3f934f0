"""The plotly.js of the book: the part for scatter plots, heat maps and bars, a third of the whole.

Usage: python book/_ext/plotly_bundle.py     fetches it into the Python environment, once

``tools/setup.sh`` calls this. Without a network, or with a plotly whose plotly.js has another
version, the book gets the full plotly.js of the Python package: the same figures, later.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from plotly.offline import get_plotlyjs, get_plotlyjs_version

VERSION = "4.1.1"
NAME = "plotly.js-cartesian-dist-min"
URL = f"https://registry.npmjs.org/{NAME}/-/{NAME}-{VERSION}.tgz"
ARCHIVE_SHA256 = "c5f9a84666b97e571a04de689e09319869e60900e265c89eac2f71d0b5a0de88"
SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
MEMBER = "package/plotly-cartesian.min.js"
HOME = Path(sys.prefix, "share", "lnlib")
TRACES = {"scatter", "heatmap", "bar"}  # the types that the book draws; this bundle has them


def path() -> Path:
    """Return where the bundle lies once it has been fetched."""
    return HOME / f"plotly-cartesian-{VERSION}.min.js"


def read() -> str:
    """Return the cartesian bundle if it is there, sound and of the right version, else all."""
    if path().exists() and get_plotlyjs_version() == VERSION:
        code = path().read_bytes()
        if hashlib.sha256(code).hexdigest() == SHA256:
            return code.decode()
    return get_plotlyjs()


def fetch() -> None:
    """Download the bundle, check it and put it into its place."""
    import shutil

    import pooch

    archive = f"{path().name}.tgz"
    unpack = pooch.Untar(members=[MEMBER])
    (result,) = pooch.retrieve(URL, f"sha256:{ARCHIVE_SHA256}", archive, HOME, processor=unpack)
    shutil.move(result, path())
    shutil.rmtree(f"{HOME / archive}.untar")
    (HOME / archive).unlink()


if __name__ == "__main__" and not path().exists():
    try:
        fetch()
    except Exception as error:  # whatever a network, a proxy or a disk may say
        print(f"setup: the book gets all of plotly.js, 5 MB instead of 1.5: {error}")
