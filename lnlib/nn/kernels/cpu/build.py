"""C++ for the CPU, built on the first use; absent where no compiler is found.

What it needs is one command, ``$CXX``, ``g++``, ``clang++`` or ``c++``, and some seconds, once: the
library stays in the user's cache folder (``$XDG_CACHE_HOME/lnlib/compiled``, or
``~/.cache/lnlib/compiled``), under a name that depends on the source, the flags, the compiler and
the processor, and that ends in the hash of the file. It is read from there only if the hash is
right and if the file belongs to the user and can be written by nobody else. What is loaded is a
copy in memory, so that nothing that happens to the file later reaches a process that computes; and
it is checked against what it stands in for before its first use. A line on stderr says when it is
built. ``LNLIB_COMPILED=0`` in the environment switches it off. Nothing happens on import.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from filelock import FileLock

HEADERS = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-march=native", "-shared", "-fPIC", "-pthread")
TIMEOUT = 300  # seconds for the compiler
PATIENCE = 300  # seconds to wait for another process that builds
STALE = 60  # seconds: what a dead process was writing before that is swept
MAX_THREADS = 256  # as in threads.h


class Library:
    """A library that is built, loaded and checked on first use.

    Args:
        source: One C++ file; it may include ``threads.h`` and ``vectors.h``.
        check: Called once with the library in place, through :meth:`load`, in a thread of its own;
            raises if its numbers are wrong.
        flags: For the compiler, after those that all libraries have.
        is_extension: Whether the source includes the headers of PyTorch and of Python.
    """

    def __init__(
        self,
        source: Path,
        check: Callable[[], None],
        flags: Sequence[str] = (),
        is_extension: bool = False,
    ) -> None:
        self.source, self.check, self.flags = source, check, flags
        self.is_extension = is_extension
        self._lock = threading.Lock()
        self._result: tuple[ctypes.CDLL | None, str] | None = None
        self._candidate: tuple[ctypes.CDLL, str] | None = None
        self._checker: int | None = None

    def load(self) -> tuple[ctypes.CDLL | None, str]:
        """Return the library or ``None``, and a sentence about it; the same ever after."""
        if self._candidate is not None and threading.get_ident() == self._checker:
            return self._candidate
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
            if compiler is None:
                return None, "no C++ compiler found: install g++ or clang++, or set CXX"
            library, where = self._find_or_build(compiler)
            if not self.is_extension:
                _share_threads(library)
            self._candidate = library, f"built with {compiler[0]}, in {where}"
            # The first call may come from within autocast, inference mode, a checkpoint or hooks on
            # what autograd keeps. All these are a thread's own: a new one has none of them.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self._check_in_this_thread).result()
            return self._candidate
        except Exception as error:  # whatever it is, the other implementations remain
            return None, f"the build failed ({type(error).__name__}): {error}".replace("\n", " ")
        finally:
            self._candidate = self._checker = None

    def _check_in_this_thread(self) -> None:
        self._checker = threading.get_ident()
        with torch.random.fork_rng(devices=[]):  # a seed's numbers are the user's
            self.check()

    def _find_or_build(self, compiler: list[str]) -> tuple[ctypes.CDLL, str]:
        """Return the library and where it lies."""
        sources = [path.read_bytes() for path in (self.source, *sorted(HEADERS.glob("*.h")))]
        shared = _extension_flags() if self.is_extension else FLAGS
        key = (*sources, shared, self.flags, _output([*compiler, "--version"]), _processor())
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self.source.stem}-{digest}"
        folder, content = _cache_folder(), None
        try:
            _make_private(folder)
            _sweep(folder)
            if (cached := _read(folder, name)) is None:
                with _alone(folder / f"{name}.lock"):
                    # The process that held the lock has built it.
                    if (cached := _read(folder, name, mend=True)) is None:
                        content = self._build(compiler)
                        cached = content, str(_write(folder, name, content))
            content, where = cached
        except OSError as error:
            why = error.strerror or error
            notify(
                f"{folder} cannot be used, {why}: the library is kept in memory, for this process"
            )
            where = f"memory alone, as {folder} cannot be used, {why}"
            content = content or self._build(compiler)
        return _open(content, name), where

    def _build(self, compiler: list[str]) -> bytes:
        """Return the content of the library."""
        what = f"building {self.source.name} with {compiler[0]} for this processor"
        notify(f"{what}, once; it takes some seconds ...")
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / "made.so"
                if self.is_extension:
                    _compile_extension(compiler, self.source, str(made))
                else:
                    _compile(compiler, self.source, str(made), self.flags)
                return made.read_bytes()
        except OSError as error:  # not one of the cache folder
            raise RuntimeError(str(error)) from error


def threads(work: int, each: int) -> int:
    """Return how many threads to use: no more than cores, and none with less work than ``each``.

    A thread without a core of its own makes the others wait for it at every step.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(torch.get_num_threads(), cores, work // each, MAX_THREADS))


def is_switched_off() -> bool:
    """Return whether the user wants none of this."""
    return os.environ.get("LNLIB_COMPILED", "1") == "0"


def notify(text: str) -> None:
    """Tell the user: one line on stderr, where there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # gone, or closed
            print(f"lnlib: {text}", file=sys.stderr, flush=True)


# The cache folder. Whoever can write a library can write its hash as well, so that the hash is
# against damage, owner and permissions of the file are against others.


def _cache_folder() -> Path:
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "lnlib" / "compiled"
    try:
        return Path.home() / ".cache" / "lnlib" / "compiled"
    except RuntimeError:  # a user without a home: no folder can be made there
        return Path(os.devnull) / "compiled"


def _make_private(folder: Path) -> None:
    """Make the folder, of the user alone whatever the umask and the permissions it inherits."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(folder)
    if status.st_uid != os.geteuid():
        raise PermissionError(f"it belongs to another user, {status.st_uid}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)


def _complaint(status: os.stat_result) -> str:
    """Return why a file is not to be trusted; nothing, if it is."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid != os.geteuid():
        return f"belongs to another user, {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return ""


def _read(folder: Path, name: str, mend: bool = False) -> tuple[bytes, str] | None:
    """Return the library, if the folder has a whole one of the user's own, and its path.

    Args:
        folder: Where to look.
        name: What its name begins with; the rest is the hash.
        mend: Remove one that cannot be used, and say why.
    """
    for path in sorted(folder.glob(f"{name}-*.so")):
        content = b""
        try:
            # Not through a link, and without waiting for what is no file.
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(file, "rb") as opened:
                if not (complaint := _complaint(os.fstat(file))):
                    content = opened.read()
                    complaint = "" if path.stem == f"{name}-{_hash(content)}" else "is damaged"
        except OSError as error:
            complaint = "is a link" if path.is_symlink() else f"cannot be read, {error.strerror}"
        if not complaint:
            return content, str(path)
        if mend:
            notify(f"{path} {complaint}: it is not loaded but built again")
            path.unlink(missing_ok=True)
    return None


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a library, in one move, and return its path."""
    path = folder / f"{name}-{_hash(content)}.so"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "wb") as to:
            os.fchmod(file, 0o600)  # a folder can have other defaults
            to.write(content)
            to.flush()
            os.fsync(file)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _open(content: bytes, name: str) -> ctypes.CDLL:
    """Load a copy that lies in memory or, where that is not possible, in a file without a name."""
    with contextlib.suppress(AttributeError, OSError):  # not Linux, no /proc, or not allowed
        file = os.memfd_create(name)
        with open(file, "wb", closefd=False) as to:
            to.write(content)
        # It stays open: the system knows by this path what it has loaded, and the number is in it.
        return ctypes.CDLL(f"/proc/self/fd/{file}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        path.write_bytes(content)
        return ctypes.CDLL(str(path))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _sweep(folder: Path) -> None:
    """Remove what processes that have died were writing."""
    for part in folder.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.lstat().st_mtime > STALE and not _writer_lives(part):
                part.unlink()


def _writer_lives(part: Path) -> bool:
    try:
        os.kill(int(part.stem.rpartition(".")[2]), 0)
    except PermissionError:  # another user's
        return True
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    return True


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock within, so that of several processes one builds and the others wait for it."""
    lock = FileLock(path, timeout=PATIENCE)
    # Where there are no locks, or the other one hangs, two build, and the last one's stays.
    with contextlib.suppress(OSError, NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


# The compiler.


def _compiler() -> list[str] | None:
    """Return the command: ``$CXX`` if that is set, else the first that is found."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    first = next((path for name in ("g++", "clang++", "c++") if (path := shutil.which(name))), None)
    # On macOS the names are always there; without the tools behind them they open a dialog.
    if sys.platform == "darwin" and first and first.startswith("/usr/bin/"):
        try:
            _output(["xcode-select", "-p"])
        except (OSError, RuntimeError):
            return None
    return [first] if first else None


def _processor() -> str:
    """Return what -march=native depends on: a home folder may be shared by several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return platform.machine() + platform.processor() + "".join(sorted(set(features)))


def _extension_flags() -> tuple[str, ...]:
    """Return where PyTorch and Python are, and which: all that an extension depends on."""
    home = Path(torch.__file__).resolve().parent
    python = Path(sysconfig.get_path("include"))
    if not (python / "Python.h").exists():
        raise RuntimeError(f"{python / 'Python.h'} is missing: install Python's headers")
    folders = (home / "include", home / "include/torch/csrc/api/include", python)
    flags = [f"-I{folder}" for folder in folders]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    flags += [f'-DBUILT_FOR="{torch.__version__}, {sys.version.split()[0]}"']
    if sys.platform == "darwin":
        return *flags, "-undefined", "dynamic_lookup"
    return *flags, f"-L{home / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch_python"


def _compile_extension(compiler: list[str], source: Path, to: str) -> None:
    """Write an extension; it leaves the arithmetic to other libraries, so that -O1 is enough."""
    flags = ("-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-pthread")
    _output([*compiler, *flags, str(source), "-o", to, *_extension_flags()])  # libraries last


def _compile(compiler: list[str], source: Path, to: str, flags: Sequence[str] = ()) -> None:
    """Write the shared library; without ``-march=native`` where the compiler does not know it."""
    what = (f"-I{HEADERS}", str(source), "-o", to)
    try:
        _output([*compiler, *FLAGS, *flags, *what])
    except RuntimeError:
        known = [flag for flag in FLAGS if flag != "-march=native"]
        _output([*compiler, *known, *flags, *what])


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
        error = next((line for line in done.stderr.splitlines() if "error" in line), "")
        raise RuntimeError(f"{command[0]} ended with status {done.returncode} {error}".strip())
    return done.stdout


def _share_threads(library: ctypes.CDLL) -> None:
    """Let the library compute on the threads of PyTorch's own OpenMP, where that is GCC's."""
    library.lnlib_use.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    # In torch/lib or, beside it, torch.libs. The system names the file behind all links.
    home = str(Path(torch.__file__).resolve().parent)
    paths = {line.split(maxsplit=5)[5] for line in lines if "libgomp" in line}
    for path in sorted(paths):
        if path.startswith(home):
            gomp = ctypes.CDLL(path)  # loaded already: this is the same one
            names = ("GOMP_parallel", "omp_get_num_threads")
            library.lnlib_use(*(ctypes.cast(gomp[n], ctypes.c_void_p).value for n in names))
            # A fork leaves the threads behind, and GCC's OpenMP would wait for them for ever.
            os.register_at_fork(after_in_child=lambda: library.lnlib_use(None, None))
            return
