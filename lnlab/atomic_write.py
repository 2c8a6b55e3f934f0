"""Files that are there whole or not at all, and how to speak of them."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
from pathlib import Path

IDLE = 600.0  # seconds without a change after which a part of a process that has ended is swept
DAY = 86_400.0  # the same, whatever runs under its number now
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: Path, content: bytes) -> None:
    """Write a file in one atomic step; after a power cut it is the old one or the new one.

    Args:
        path: The file. Its folder is made if need be.
        content: All of it.

    Raises:
        OSError: If that cannot be done, with a sentence; nothing is left behind then.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # another process's of this number, or a link or a pipe
        try:
            with part.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # or the name may be there before the content
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise cannot_write(path, error, len(content)) from error


def cannot_write(path: Path, error: OSError, need: int | None = None) -> OSError:
    """Return the error as one sentence; where the disk is full, with what is needed and free.

    Args:
        path: What was to be written.
        error: What the system says.
        need: Bytes, if known.
    """
    hint = "mend that, or choose another folder"
    if is_full(error):
        free = ""
        with contextlib.suppress(OSError):
            free = f" and {shutil.disk_usage(path.parent).free:,} are free"
        needed = "more" if need is None else f"{need:,}"
        hint = f"{needed} bytes are needed{free}; make room, and run the same command again"
    told = OSError(f"cannot write {path}: {error.strerror or error}; {hint}")
    told.errno = error.errno
    return told


def is_full(error: OSError) -> bool:
    """Return whether there is no room: the disk is full, or a limit is reached."""
    return error.errno in _FULL


def sweep(folder: Path, pattern: str) -> None:
    """Remove what processes left of files that they could not finish writing.

    A part goes when its process has ended, on this machine, and nothing was written to it for ten
    minutes, as another machine may do; or after a day.

    Args:
        folder: Where to look; it need not be there.
        pattern: Of the files' names, ``*.json`` say.
    """
    parts: list[Path] = []
    with contextlib.suppress(OSError):  # whoever writes there will say what is wrong with it
        parts = list(folder.glob(f"{pattern}.*.part"))
    for part in parts:
        process = part.name.split(".")[-2]
        with contextlib.suppress(OSError):
            idle = time.time() - part.stat().st_mtime
            if process.isdigit() and (idle > DAY or (idle > IDLE and not _runs(int(process)))):
                part.unlink()


def _runs(process: int) -> bool:
    if os.name != "posix":  # there, the question would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's
    return True


def check_regular(path: Path) -> None:
    """Refuse what would be waited for or never end: a pipe, a socket, a device.

    Raises:
        ValueError: If the path is no file, nor a link to one.
        OSError: If there is nothing.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket")
        kind = next((name for test, name in kinds if test(mode)), "device")
        raise ValueError(f"{path}: must be a file, is a {kind}")


def printable(text: str, most: int = 500) -> str:
    r"""Return what a stranger says as it can be shown: no control characters, not too long.

    Example:
        >>> printable("404 \x1b[2J gone")
        '404 \\x1b[2J gone'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= most else f"{shown[:most]}…"
