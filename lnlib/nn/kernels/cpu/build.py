"""Build and load C++ libraries for the CPU on first use, if there is a compiler.

The compiler is ``$CXX`` or ``c++``. A build takes some seconds, once: the library is stored in
``$XDG_CACHE_HOME/lnlib/compiled`` or ``~/.cache/lnlib/compiled``. Before its first use, its results
are compared with those of the implementation that it replaces. ``LNLIB_COMPILED=0`` disables it.

``torch.utils.cpp_extension.load`` needs ``ninja`` on the ``PATH``, does not accept options in
``$CXX``, and waits forever for the lock of a process that was killed (pytorch issue 189245).
"""

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from filelock import FileLock

HEADERS = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-shared", "-fPIC", "-pthread")
# -O1 is enough, because other libraries do the arithmetic.
EXTENSION_FLAGS = ("-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-pthread")
TIMEOUT_S = 300  # of the compiler, and of another process that builds
MAX_THREADS = 256  # as in threads.h


class Library:
    """A library that is built, loaded and checked on first use.

    Args:
        source: One C++ file, which can include ``threads.h`` and ``vectors.h``.
        check: Called once, in a separate thread, in which :meth:`load` returns the new library;
            raises an exception if its results are wrong.
        flags: Compiler flags in addition to :data:`FLAGS`.
        is_extension: Whether the source includes the headers of PyTorch and of Python.
    """

    def __init__(
        self, source: Path, check: Callable, flags: Sequence[str] = (), is_extension: bool = False
    ) -> None:
        self.source, self.check = source, check
        self.flags, self.is_extension = flags, is_extension
        self._lock, self._in_check = threading.Lock(), threading.local()
        self._result: tuple[ctypes.CDLL | None, str] | None = None

    def load(self) -> tuple[ctypes.CDLL | None, str]:
        """Return the library, or ``None``, and where it is or why there is none; cached."""
        if hasattr(self._in_check, "candidate"):
            return self._in_check.candidate
        if self._result is None:
            with self._lock:
                if self._result is None:
                    self._result = self._try_to_load()
        return self._result

    def _try_to_load(self) -> tuple[ctypes.CDLL | None, str]:
        if is_switched_off():
            return None, "switched off by LNLIB_COMPILED=0 in the environment"
        if sys.platform not in ("linux", "darwin"):
            return None, f"not built on {sys.platform}, only on Linux and macOS"
        try:
            compiler = _compiler()
            if shutil.which(compiler[0]) is None:
                return None, f"no C++ compiler {compiler[0]}: install g++ or clang++, or set CXX"
            path = self._find_or_build(compiler)
            library = ctypes.CDLL(str(path))
            if not self.is_extension:
                _share_threads(library)
            result = library, f"built with {compiler[0]}, in {path}"
            # The first call can be inside autocast, inference mode, activation checkpointing or
            # saved-tensor hooks. All of these are thread-local, and so do not affect a new thread.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self._check_in_this_thread, result).result()
            return result
        except Exception as error:  # any error: there are other implementations
            return None, f"the build failed ({type(error).__name__}): {error}".replace("\n", " ")

    def _check_in_this_thread(self, candidate: tuple[ctypes.CDLL, str]) -> None:
        self._in_check.candidate = candidate
        with torch.random.fork_rng(devices=[]):  # do not change the user's random numbers
            self.check()

    def _find_or_build(self, compiler: list[str]) -> Path:
        native, description = _describe(compiler)
        flags = EXTENSION_FLAGS if self.is_extension else (*FLAGS, *native, *self.flags)
        sources = [path.read_bytes() for path in (self.source, *sorted(HEADERS.glob("*.h")))]
        key = (compiler, flags, description, sources, torch.__version__, sys.version)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        path = _cache_folder() / f"{self.source.stem}-{digest}.so"
        if not _is_intact(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock"), timeout=TIMEOUT_S):
                if not _is_intact(path):  # no other process has built it in the meantime
                    _build([*compiler, *flags], self.source, path, self.is_extension)
        return path


def threads(work: int, min_work: int) -> int:
    """Return the number of threads to use: at most one per core, each with at least ``min_work``.

    With more threads than cores, threads wait for each other at every step.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(torch.get_num_threads(), cores, work // min_work, MAX_THREADS))


def is_switched_off() -> bool:
    """Return whether the environment variable ``LNLIB_COMPILED`` is 0."""
    return os.environ.get("LNLIB_COMPILED", "1") == "0"


def notify(text: str) -> None:
    """Print one line on stderr, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # the stream is broken or closed
            print(f"lnlib: {text}", file=sys.stderr, flush=True)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lnlib" / "compiled"


def _is_intact(path: Path) -> bool:
    """Return whether the library is there and undamaged: loading half a file ends the process."""
    with contextlib.suppress(FileNotFoundError):
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        return checksum == path.with_suffix(".sha256").read_text()
    return False


def _build(command: list[str], source: Path, path: Path, is_extension: bool) -> None:
    what = f"{source.name} with {command[0]} for this processor"
    notify(f"building {what}, once; it takes some seconds ...")
    libraries = _torch_flags() if is_extension else []  # after the source
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        new = Path(folder) / path.name
        _run([*command, f"-I{HEADERS}", str(source), "-o", str(new), *libraries])
        path.with_suffix(".sha256").write_text(hashlib.sha256(new.read_bytes()).hexdigest())
        new.replace(path)


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CXX") or "c++")


def _describe(compiler: list[str]) -> tuple[list[str], str]:
    """Return the flag for this processor, if supported, and the macros that the compiler defines.

    They name the compiler's version and the processor's instructions: computers can share a home.
    """
    command = [*compiler, "-dM", "-E", "-x", "c++", os.devnull]
    with contextlib.suppress(RuntimeError):
        return ["-march=native"], _run([*command, "-march=native"])
    return [], _run(command)


def _torch_flags() -> list[str]:
    """Return the flags for the headers and libraries of PyTorch and Python."""
    from torch.utils import cpp_extension  # slow: it loads setuptools

    flags = [f"-I{p}" for p in (*cpp_extension.include_paths(), sysconfig.get_path("include"))]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    flags += [f"-L{p}" for p in cpp_extension.library_paths()]
    flags += ["-lc10", "-ltorch_cpu", "-ltorch_python"]
    return [*flags, "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else flags


def _run(command: list[str]) -> str:
    """Return the output of a command; raise ``RuntimeError`` if it fails."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": TIMEOUT_S}
    result = subprocess.run(command, text=True, errors="replace", **options)
    if result.returncode:
        error = next((line for line in result.stderr.splitlines() if "error" in line), "")
        raise RuntimeError(f"{command[0]} ended with status {result.returncode} {error}".strip())
    return result.stdout


def _share_threads(library: ctypes.CDLL) -> None:
    """Let the library use the threads of PyTorch's OpenMP, if that is GCC's (libgomp)."""
    library.lnlib_use.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    folder = Path(torch.__file__).resolve().parent
    paths = (*folder.glob("lib/libgomp*"), *folder.parent.glob("torch.libs/libgomp*"))
    for path in paths:
        with contextlib.suppress(OSError):  # it is not the one that is loaded
            gomp = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
            names = ("GOMP_parallel", "omp_get_num_threads")
            library.lnlib_use(*(ctypes.cast(gomp[n], ctypes.c_void_p).value for n in names))
            # A forked process does not have the threads, and libgomp would wait for them forever.
            os.register_at_fork(after_in_child=lambda: library.lnlib_use(None, None))
