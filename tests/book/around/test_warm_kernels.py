"""A forked kernel is one that Jupyter starts, but for the time it takes."""

import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from jupyter_cache.executors.utils import single_nb_execution
from jupyter_client.manager import AsyncKernelManager
from nbformat.v4 import new_code_cell, new_notebook

from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import warm_kernels

sys.path.pop(0)
CODE = """import json, os, sys
print(json.dumps([os.getcwd(), sys.path, os.environ["SEEN"], sorted({"lnlib"} & {*sys.modules})]))
print("torch" in sys.modules, os.getpid(), os.getppid())"""


def output_of(manager, folder, monkeypatch, code=CODE):
    monkeypatch.setenv("SEEN", "yes")
    notebook = new_notebook(cells=[new_code_cell(code)])
    options = {"allow_errors": False, "kernel_manager_class": manager}
    ran = single_nb_execution(notebook, str(folder), 300, **options)
    assert ran.err is None, ran.exc_string
    return "".join(output.text for output in notebook.cells[0].outputs).splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")
def test_a_forked_kernel_has_torch_and_is_otherwise_like_any_other(tmp_path, monkeypatch):
    where, other = output_of(AsyncKernelManager, tmp_path, monkeypatch)
    assert other.startswith("False")
    with warm_kernels.kernel_managers() as manager:
        for _ in range(2):
            forked, facts = output_of(manager, tmp_path, monkeypatch)
            assert forked == where
            torch, kernel, server = facts.split()
            assert torch == "True"
    end = time.monotonic() + 60
    while any(map(runs, (kernel, server))):  # neither is left
        assert time.monotonic() < end
        time.sleep(0.05)


def runs(number):
    """Whether a process is there that nobody waits for."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path("/proc", number, "cmdline").read_bytes() != b""
