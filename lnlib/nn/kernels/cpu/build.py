"""Build and load C++ libraries for the CPU on first use, if there is a compiler.

The compiler is ``$CXX``, ``g++``, ``clang++`` or ``c++``. A build takes some seconds, once: the
library is stored in the user's cache folder (``$XDG_CACHE_HOME/lnlib/compiled``, or
``~/.cache/lnlib/compiled``). Its name depends on the source, the flags, the compiler and the
processor, and ends with the hash of the file. The file is read only if its hash is right, if it
belongs to the user and if nobody else can write to it. A copy in memory is loaded, so that later
changes of the file do not affect a running process. Before its first use, the results of the
library are compared with those of the implementation that it replaces. A line on stderr says when
it is built. ``LNLIB_COMPILED=0`` in the environment disables it. Nothing happens on import.
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
COMPILE_TIMEOUT_S = 300
LOCK_TIMEOUT_S = 300  # how long to wait for another process that builds
STALE_AFTER_S = 60  # age at which partial files of dead processes are removed
MAX_THREADS = 256  # as in threads.h


class Library:
    """A library that is built, loaded and checked on first use.

    Args:
        source: One C++ file, which can include ``threads.h`` and ``vectors.h``.
        check: Called once, in a separate thread, in which :meth:`load` returns the new library;
            raises an exception if its results are wrong.
        flags: Compiler flags in addition to those of all libraries.
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
        """Return the library, or ``None``, and where it is or why there is none; cached."""
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
            library, location = self._find_or_build(compiler)
            if not self.is_extension:
                _share_threads(library)
            self._candidate = library, f"built with {compiler[0]}, in {location}"
            # The first call can be inside autocast, inference mode, activation checkpointing or
            # saved-tensor hooks. All of these are thread-local, and so do not affect a new thread.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self._check_in_this_thread).result()
            return self._candidate
        except Exception as error:  # any error: there are other implementations
            return None, f"the build failed ({type(error).__name__}): {error}".replace("\n", " ")
        finally:
            self._candidate = self._checker = None

    def _check_in_this_thread(self) -> None:
        self._checker = threading.get_ident()
        with torch.random.fork_rng(devices=[]):  # do not change the user's random numbers
            self.check()

    def _find_or_build(self, compiler: list[str]) -> tuple[ctypes.CDLL, str]:
        """Return the library and its location."""
        sources = [path.read_bytes() for path in (self.source, *sorted(HEADERS.glob("*.h")))]
        flags = _extension_flags() if self.is_extension else FLAGS
        key = (*sources, flags, self.flags, _run([*compiler, "--version"]), _cpu_description())
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self.source.stem}-{digest}"
        folder, content = _cache_folder(), None
        try:
            _make_private(folder)
            _remove_stale_parts(folder)
            if (cached := _read(folder, name)) is None:
                with _build_lock(folder / f"{name}.lock"):
                    # Another process may have built it while this one waited for the lock.
                    if (cached := _read(folder, name, remove_unusable=True)) is None:
                        content = self._build(compiler)
                        cached = content, str(_write(folder, name, content))
            content, location = cached
        except OSError as error:
            reason = error.strerror or error
            notify(
                f"{folder} cannot be used, {reason}: the library is kept in memory, for this "
                "process"
            )
            location = f"memory alone, as {folder} cannot be used, {reason}"
            content = content or self._build(compiler)
        return _open(content, name), location

    def _build(self, compiler: list[str]) -> bytes:
        """Return the content of the library."""
        notify(
            f"building {self.source.name} with {compiler[0]} for this processor, once; it takes "
            "some seconds ..."
        )
        try:
            with tempfile.TemporaryDirectory() as folder:
                library = Path(folder) / "library.so"
                if self.is_extension:
                    _compile_extension(compiler, self.source, str(library))
                else:
                    _compile(compiler, self.source, str(library), self.flags)
                return library.read_bytes()
        except OSError as error:  # the caller handles those of the cache folder
            raise RuntimeError(str(error)) from error


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


# The cache folder. Anyone who can write a library can write its hash as well. So the hash protects
# against damage; the owner and the permissions of the file protect against other users.


def _cache_folder() -> Path:
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "lnlib" / "compiled"
    try:
        return Path.home() / ".cache" / "lnlib" / "compiled"
    except RuntimeError:  # the user has no home folder: creating this one fails
        return Path(os.devnull) / "compiled"


def _make_private(folder: Path) -> None:
    """Create the folder, accessible by the user only, whatever the umask and the parent folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(folder)
    if status.st_uid != os.geteuid():
        raise PermissionError(f"it belongs to another user, {status.st_uid}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)


def _distrust_reason(status: os.stat_result) -> str:
    """Return why a file must not be loaded, or an empty string."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid != os.geteuid():
        return f"belongs to another user, {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return ""


def _read(folder: Path, name: str, remove_unusable: bool = False) -> tuple[bytes, str] | None:
    """Return the content and the path of a library, if the folder has one that can be trusted.

    Args:
        folder: The cache folder.
        name: The name of the file without the hash of its content.
        remove_unusable: Remove files that cannot be used, and say why.
    """
    for path in sorted(folder.glob(f"{name}-*.so")):
        content = b""
        try:
            # Do not follow links, and do not block on a named pipe.
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                if not (reason := _distrust_reason(os.fstat(fd))):
                    content = file.read()
                    reason = "" if path.stem == f"{name}-{_hash(content)}" else "is damaged"
        except OSError as error:
            reason = "is a link" if path.is_symlink() else f"cannot be read, {error.strerror}"
        if not reason:
            return content, str(path)
        if remove_unusable:
            notify(f"{path} {reason}: it is not loaded but built again")
            path.unlink(missing_ok=True)
    return None


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a library atomically and return its path."""
    path = folder / f"{name}-{_hash(content)}.so"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            os.fchmod(fd, 0o600)  # the folder can have an ACL with other defaults
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _open(content: bytes, name: str) -> ctypes.CDLL:
    """Load a library from memory or, where that is not possible, from a temporary file."""
    with contextlib.suppress(AttributeError, OSError):  # not Linux, no /proc, or not allowed
        fd = os.memfd_create(name)
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
        # Never closed: the dynamic linker identifies a loaded library by this path, and a later
        # file with the same number would count as the same library.
        return ctypes.CDLL(f"/proc/self/fd/{fd}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        path.write_bytes(content)
        return ctypes.CDLL(str(path))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _remove_stale_parts(folder: Path) -> None:
    """Remove partial files of processes that no longer run."""
    for part in folder.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.lstat().st_mtime > STALE_AFTER_S and not _is_written(part):
                part.unlink()


def _is_written(part: Path) -> bool:
    """Return whether the process whose number is in the name of a partial file still runs."""
    try:
        os.kill(int(part.stem.rpartition(".")[2]), 0)
    except PermissionError:  # the process of another user
        return True
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    return True


@contextlib.contextmanager
def _build_lock(path: Path) -> Iterator[None]:
    """Hold a file lock, so that one process builds while others wait for it."""
    lock = FileLock(path, timeout=LOCK_TIMEOUT_S)
    # If the file system has no locks, or the other process hangs, both build and the last one wins.
    with contextlib.suppress(OSError, NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


# The compiler.


def _compiler() -> list[str] | None:
    """Return the command of the compiler: ``$CXX`` if set, else the first one on the PATH."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    first = next((path for name in ("g++", "clang++", "c++") if (path := shutil.which(name))), None)
    # On macOS these commands always exist; without the developer tools they open a dialog.
    if sys.platform == "darwin" and first and first.startswith("/usr/bin/"):
        try:
            _run(["xcode-select", "-p"])
        except (OSError, RuntimeError):
            return None
    return [first] if first else None


def _cpu_description() -> str:
    """Return what -march=native depends on: machines can share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return platform.machine() + platform.processor() + "".join(sorted(set(features)))


def _extension_flags() -> tuple[str, ...]:
    """Return the flags with the paths and versions of PyTorch and Python."""
    torch_folder = Path(torch.__file__).resolve().parent
    torch_include, python_include = torch_folder / "include", Path(sysconfig.get_path("include"))
    if not (python_include / "Python.h").exists():
        raise RuntimeError(f"{python_include / 'Python.h'} is missing: install Python's headers")
    folders = (torch_include, torch_include / "torch/csrc/api/include", python_include)
    flags = [f"-I{folder}" for folder in folders]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    flags += [f'-DBUILT_FOR="{torch.__version__}, {sys.version.split()[0]}"']
    if sys.platform == "darwin":
        return *flags, "-undefined", "dynamic_lookup"
    return *flags, f"-L{torch_folder / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch_python"


def _compile_extension(compiler: list[str], source: Path, output: str) -> None:
    """Compile an extension of PyTorch; -O1 is enough, because other libraries do the arithmetic."""
    flags = ("-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-pthread")
    _run([*compiler, *flags, str(source), "-o", output, *_extension_flags()])  # libraries last


def _compile(compiler: list[str], source: Path, output: str, flags: Sequence[str] = ()) -> None:
    """Compile a library; without ``-march=native`` if the compiler does not support it."""
    arguments = (*flags, f"-I{HEADERS}", str(source), "-o", output)
    try:
        _run([*compiler, *FLAGS, *arguments])
    except RuntimeError:
        portable_flags = [flag for flag in FLAGS if flag != "-march=native"]
        _run([*compiler, *portable_flags, *arguments])


def _run(command: list[str]) -> str:
    """Run a command and return its output; raise ``RuntimeError`` if it fails."""
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )
    if result.returncode:
        error = next((line for line in result.stderr.splitlines() if "error" in line), "")
        raise RuntimeError(f"{command[0]} ended with status {result.returncode} {error}".strip())
    return result.stdout


def _share_threads(library: ctypes.CDLL) -> None:
    """Let the library use the threads of PyTorch's OpenMP, if that is GCC's (libgomp)."""
    library.lnlib_use.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    # Either in torch/lib or in torch.libs next to it. The paths in maps have no symbolic links.
    torch_folder = str(Path(torch.__file__).resolve().parent)
    paths = {line.split(maxsplit=5)[5] for line in lines if "libgomp" in line}
    for path in sorted(paths):
        if path.startswith(torch_folder):
            gomp = ctypes.CDLL(path)  # the library that is already loaded
            names = ("GOMP_parallel", "omp_get_num_threads")
            library.lnlib_use(*(ctypes.cast(gomp[n], ctypes.c_void_p).value for n in names))
            # A forked process does not have the threads, and libgomp would wait for them forever.
            os.register_at_fork(after_in_child=lambda: library.lnlib_use(None, None))
            return
