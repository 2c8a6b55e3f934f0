"""The cartesian bundle of plotly.js: scatter plots, heat maps and bars, a third of the size.

Usage: python book/_ext/plotly_bundle.py     downloads it into the Python environment, once

``tools/setup.sh`` runs this. Without a network, or if plotly contains another version of plotly.js,
the book uses the full plotly.js of the Python package, which takes longer to load.
"""

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
CACHE = Path(sys.prefix, "share", "lnlib")
TRACES = {"scatter", "heatmap", "bar"}  # the trace types of the book, which the bundle contains


def path() -> Path:
    """Return the path of the downloaded bundle."""
    return CACHE / f"plotly-cartesian-{VERSION}.min.js"


def read() -> str:
    """Return the bundle if it is valid and has the version that plotly contains, else plotly.js."""
    if path().exists() and get_plotlyjs_version() == VERSION:
        code = path().read_bytes()
        if hashlib.sha256(code).hexdigest() == SHA256:
            return code.decode()
    return get_plotlyjs()


def download() -> None:
    """Download the bundle, check its hash and extract it."""
    import shutil

    import pooch

    archive = f"{path().name}.tgz"
    unpack = pooch.Untar(members=[MEMBER])
    (extracted,) = pooch.retrieve(URL, f"sha256:{ARCHIVE_SHA256}", archive, CACHE, processor=unpack)
    shutil.move(extracted, path())
    shutil.rmtree(f"{CACHE / archive}.untar")
    (CACHE / archive).unlink()


if __name__ == "__main__" and not path().exists():
    try:
        download()
    except Exception as error:  # of the network, a proxy or the disk
        print(f"setup: the book gets all of plotly.js, 5 MB instead of 1.5: {error}")
