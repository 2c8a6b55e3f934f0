"""What the tests of modules and of the compiled library share."""

import os

import pytest

from lnlib.nn.kernels.cpu import build, layer_norm, recurrent
from tests.cases.build import FOREIGN, OURS, SOURCE, cached, digest, load
from tests.cases.modules import KINDS, TORCH


@pytest.fixture
def built():
    for library in (layer_norm, recurrent):
        if not library.available():
            pytest.skip(f"no compiled library here: {library.reason()}")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with a compiler that counts, and an empty cache folder."""
    compiler = build._compiler()
    if compiler is None:
        pytest.skip("no C++ compiler here")
    script = tmp_path / "cxx"
    log = f'case "$*" in *library.so*) echo >>{tmp_path}/log; sleep ${{SLOW:-0}};; esac'
    script.write_text(f'#!/bin/sh\n{log}\nexec {" ".join(compiler)} "$@"\n')
    script.chmod(0o700)
    (tmp_path / "tiny.cpp").write_text(SOURCE % OURS)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LNLIB_COMPILED", raising=False)
    return tmp_path


@pytest.fixture
def foreign(machine):
    """A cache folder with another library, whose hash is right, in the place of ours."""
    load(machine)
    path = cached(machine)
    (machine / "foreign.cpp").write_text(SOURCE % FOREIGN)
    made = machine / "foreign.so"
    build._compile([os.environ["CXX"]], machine / "foreign.cpp", str(made))
    made.chmod(0o600)
    key = path.stem.rpartition("-")[0]
    path.unlink()
    return made.rename(path.with_name(f"{key}-{digest(made)}.so"))


@pytest.fixture(params=list(KINDS))
def pair(request):
    """Ours and PyTorch's, as functions of the same arguments."""
    return KINDS[request.param], TORCH[request.param]
