"""What holds for every test and doctest: no network, and no data unless marked.

``LNLIB_DATA`` is hidden from all tests but those marked ``needs_data``, which are skipped where it
does not have the data set. So a test that needs data and is not marked fails on every machine.
"""

import functools
import importlib
import os
from pathlib import Path

import pytest

from tests.offline import sitecustomize

# Programs other than Python, and Pythons that ignore PYTHONPATH: no proxy listens on this port.
_PROXY = "http://127.0.0.1:9"
_DATA = "LNLIB_TEST_DATA"  # where processes of pytest-xdist find what is hidden


def pytest_configure():
    """Hide the data and close the network, for this process and those that it starts."""
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
    """Say why a data set cannot be loaded; an empty text if it can."""
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
    """Let a test that is marked, and its fixtures, see the data."""
    if item.get_closest_marker("needs_data") and _DATA in os.environ:
        os.environ["LNLIB_DATA"] = os.environ[_DATA]
    try:
        return (yield)
    finally:
        os.environ.pop("LNLIB_DATA", None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip a test whose data set is not there, and say why."""
    for mark in item.iter_markers("needs_data"):
        if why := _missing(*mark.args):
            pytest.skip(why)
