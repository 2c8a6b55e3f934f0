"""C++ for the CPU, built on the first use; absent where no compiler is found.

What it needs is one command, ``$CXX``, ``g++``, ``clang++`` or ``c++``, and some seconds, once: the
library stays in the user's cache folder (``$XDG_CACHE_HOME/lnlib``, or ``~/.cache/lnlib``), under a
name that depends on the source, the flags, the compiler and the processor. It is checked against
what it stands in for before its first use. ``LNLIB_COMPILED=0`` in the environment switches it off.
Nothing happens on import.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import torch

HEADERS = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-march=native", "-shared", "-fPIC", "-pthread")
TIMEOUT = 300  # seconds for the compiler
MAX_THREADS = 256  # as in threads.h


class Library:
    """A library that is built, loaded and checked when it is first asked for.

    Args:
        source: One C++ file; it may include ``threads.h`` and ``vectors.h``.
        check: Called once with the library in place, through :meth:`load`; raises if its numbers
            are wrong.
    """

    def __init__(self, source: Path, check: Callable[[], None]) -> None:
        self.source, self.check = source, check
        self._lock = threading.RLock()
        self._result: tuple[ctypes.CDLL | None, str] | None = None
        self._candidate: tuple[ctypes.CDLL, str] | None = None

    def load(self) -> tuple[ctypes.CDLL | None, str]:
        """Return the library or ``None``, and a sentence about it; the same ever after."""
        if self._result is None:
            with self._lock:
                if self._candidate is not None:  # the check is calling
                    return self._candidate
                if self._result is None:
                    self._result = self._try_to_load()
        return self._result

    def _try_to_load(self) -> tuple[ctypes.CDLL | None, str]:
        if os.environ.get("LNLIB_COMPILED", "1") == "0":
            return None, "switched off by LNLIB_COMPILED=0 in the environment"
        if sys.platform not in ("linux", "darwin"):
            return None, f"not built on {sys.platform}, only on Linux and macOS"
        try:
            compiler = _compiler()
            if compiler is None:
                return None, "no C++ compiler found: install g++ or clang++, or set CXX"
            library, where = self._find_or_build(compiler)
            _share_threads(library)
            self._candidate = library, f"built with {compiler[0]}, in {where}"
            self.check()
            return self._candidate
        except Exception as error:  # whatever it is, the other implementations remain
            return None, f"the build failed ({type(error).__name__}): {error}"
        finally:
            self._candidate = None

    def _find_or_build(self, compiler: list[str]) -> tuple[ctypes.CDLL, str]:
        """Return the library and where it lies."""
        sources = [path.read_bytes() for path in (self.source, *sorted(HEADERS.glob("*.h")))]
        key = (*sources, FLAGS, _output([*compiler, "--version"]), _processor())
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self.source.stem}-{digest}.so"
        path = _cache_folder() / name
        try:
            return ctypes.CDLL(str(path)), str(path)
        except OSError:
            pass  # not there yet, or damaged
        # Two processes may build at once: each in a folder of its own, then in one move to its
        # place.
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / name
            _compile(compiler, self.source, str(made))
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                part = path.with_suffix(f".{os.getpid()}")
                shutil.copyfile(made, part)
                os.replace(part, path)
            except OSError:
                return ctypes.CDLL(str(made)), f"memory alone, as {path.parent} cannot be written"
        return ctypes.CDLL(str(path)), str(path)


def _compiler() -> list[str] | None:
    """Return the command: ``$CXX`` if that is set, else the first that is found."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    found = (shutil.which(name) for name in ("g++", "clang++", "c++"))
    return next(([path] for path in found if path), None)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lnlib"


def _processor() -> str:
    """Return what -march=native depends on: a home folder may be shared by several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    said = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return platform.machine() + platform.processor() + "".join(sorted(set(said)))


def _compile(compiler: list[str], source: Path, to: str) -> None:
    """Write the shared library; without ``-march=native`` where the compiler does not know it."""
    what = (f"-I{HEADERS}", str(source), "-o", to)
    try:
        _output([*compiler, *FLAGS, *what])
    except RuntimeError:
        flags = [f for f in FLAGS if f != "-march=native"]
        _output([*compiler, *flags, *what])


def _output(command: list[str]) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), "")
        raise RuntimeError(f"{command[0]} ended with status {done.returncode} {said}".strip())
    return done.stdout


def _share_threads(library: ctypes.CDLL) -> None:
    """Let the library compute on the threads of PyTorch's own OpenMP, where that is GCC's."""
    library.lnlib_use.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    home = str(Path(torch.__file__).parent)  # torch/lib or, beside it, torch.libs
    paths = {line.split(maxsplit=5)[5] for line in lines if "libgomp" in line}
    for path in sorted(paths):
        if path.startswith(home):
            gomp = ctypes.CDLL(path)  # loaded already: this is the same one
            names = ("GOMP_parallel", "omp_get_num_threads")
            library.lnlib_use(*(ctypes.cast(gomp[n], ctypes.c_void_p).value for n in names))
            # A fork leaves the threads behind, and GCC's OpenMP would wait for them for ever.
            os.register_at_fork(after_in_child=lambda: library.lnlib_use(None, None))
            return
