"""Helpers for tests of the build: a small source, a compiler without optimization, the cache."""

import hashlib
import shlex

from lnlib.nn.kernels.cpu import build

SOURCE = 'extern "C" void lnlib_use(void*, void*) {}\nextern "C" int answer() { return %d; }\n'
OURS, FOREIGN = 42, 13


def unoptimized(folder):
    """Return a compiler without optimization, which builds faster."""
    script = folder / "unoptimized"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(build._compiler())} "$@" -O0\n')
    script.chmod(0o700)
    return str(script)


def load(machine):
    """Return the answer, as a new process would get it, and where the library lies."""
    library, why = build.Library(machine / "tiny.cpp", lambda: None).load()
    assert library is not None, why
    return library.answer(), why


def builds(machine):
    return len((machine / "log").read_text().splitlines())


def cached(machine):
    (path,) = folder(machine).glob("*.so")
    return path


def folder(machine):
    return machine / "cache" / "lnlib" / "compiled"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
