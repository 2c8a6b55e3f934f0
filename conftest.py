"""Settings of all tests and doctests: no network, and no data sets unless a test is marked.

``LNLIB_DATA`` is hidden from all tests except those marked ``needs_data``, which are skipped if it
does not contain the data set. A test that needs data and is not marked therefore fails on every
machine.
"""

import functools
import importlib
import os
from pathlib import Path

import pytest

from tests.offline import sitecustomize

# For programs other than Python, and Pythons that ignore PYTHONPATH: no proxy listens on this port.
_PROXY = "http://127.0.0.1:9"
_DATA = "LNLIB_TEST_DATA"  # passes the hidden folder to processes of pytest-xdist


def pytest_configure():
    """Hide the data and block the network, for this process and its child processes."""
    if named := os.environ.pop("LNLIB_DATA", None):
        os.environ[_DATA] = str(Path(named).expanduser().resolve())
    guard = str(Path(sitecustomize.__file__).parent)
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if guard not in path:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [guard, *path]))
    for scheme in ("http", "https", "all"):
        os.environ[f"{scheme}_proxy"] = os.environ[f"{scheme}_proxy".upper()] = _PROXY
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost,::1"


@functools.cache
def _missing(name):
    """Return why a data set cannot be loaded, or "" if it can."""
    data = importlib.import_module("lnlab.datasets")
    if name not in data.BUNDLED and "LNLIB_DATA" not in os.environ:
        return f"LNLIB_DATA names no folder with {name}"
    try:
        data.load(name)
    except FileNotFoundError as error:
        return str(error)
    return ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Make the data visible to a marked test and its fixtures."""
    if item.get_closest_marker("needs_data") and _DATA in os.environ:
        os.environ["LNLIB_DATA"] = os.environ[_DATA]
    try:
        return (yield)
    finally:
        os.environ.pop("LNLIB_DATA", None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip a test if its data set is missing, with the reason."""
    for mark in item.iter_markers("needs_data"):
        if why := _missing(*mark.args):
            pytest.skip(why)
