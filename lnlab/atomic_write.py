"""Atomic writing of files, removal of partial files, and error messages about files."""

import contextlib
import errno
import os
import shutil
import stat
import time
from pathlib import Path

STALE_S = (
    600.0  # seconds without a change after which a partial file of an ended process is removed
)
REUSED_PID_S = 86_400.0  # the same, even if a process with its number is running
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: Path, content: bytes) -> None:
    """Write a file atomically: after a power failure, it has the old content or the new one.

    Args:
        path: The file. Its folder is created if necessary.
        content: The complete content.

    Raises:
        OSError: If the file cannot be written; no partial file is left then.
    """
    part = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # of an earlier process with this number, or a link or a pipe
        try:
            with part.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # otherwise the name can be on disk before the content
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise cannot_write(path, error, len(content)) from error


def partial_path(path: Path) -> Path:
    """Return the path of the partial file that this process writes before it replaces ``path``."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def cannot_write(path: Path, error: OSError, need: int | None = None) -> OSError:
    """Return an error with one sentence, which names the space needed if the disk is full.

    Args:
        path: The file that could not be written.
        error: The error of the system.
        need: Size of the file in bytes, if known.
    """
    hint = "fix that, or choose another folder"
    if is_full(error):
        free = ""
        with contextlib.suppress(OSError):
            free = f" and {shutil.disk_usage(path.parent).free:,} are free"
        needed = "more" if need is None else f"{need:,}"
        hint = f"{needed} bytes are needed{free}; make room, and run the same command again"
    result = OSError(f"cannot write {path}: {error.strerror or error}; {hint}")
    result.errno = error.errno
    return result


def is_full(error: OSError) -> bool:
    """Return whether the disk is full, or a quota or a size limit is reached."""
    return error.errno in _FULL


def remove_stale(folder: Path, pattern: str) -> None:
    """Remove partial files of processes that ended before they had finished writing.

    A partial file is removed if it was not changed for ten minutes and its process no longer runs
    on this machine, or after a day. (Another machine can be writing to the same folder.)

    Args:
        folder: The folder, which need not exist.
        pattern: Pattern of the names of the complete files, for example ``*.json``.
    """
    parts: list[Path] = []
    with contextlib.suppress(OSError):  # reported by the code that writes there
        parts = list(folder.glob(f"{pattern}.*.part"))
    for part in parts:
        process = part.name.split(".")[-2]
        with contextlib.suppress(OSError):
            idle = time.time() - part.stat().st_mtime
            if process.isdigit() and (
                idle > REUSED_PID_S or (idle > STALE_S and not _is_alive(int(process)))
            ):
                part.unlink()


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it belongs to another user
    return True


def check_regular(path: Path) -> None:
    """Check that a path is a regular file: reading a pipe, socket or device might never end.

    Raises:
        ValueError: If the path is not a file or a link to one.
        OSError: If it does not exist.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket")
        kind = next((name for test, name in kinds if test(mode)), "device")
        raise ValueError(f"{path}: must be a file, is a {kind}")


def printable(text: str, max_length: int = 500) -> str:
    r"""Return untrusted text for display: control characters are escaped, and its end is cut off.

    Example:
        >>> printable("404 \x1b[2J gone")
        '404 \\x1b[2J gone'
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escaped if len(escaped) <= max_length else f"{escaped[:max_length]}…"
