"""Messages and progress: a courtesy to whoever watches, never a reason for a run to fail.

A service or a cron job may close standard output and standard error, a log may fill its disk, and
the program that reads a pipe may end first.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO


class Tolerant:
    """A text stream whose ``write`` and ``flush`` never fail: what cannot be written is dropped.

    Args:
        stream: The stream; ``None``, as Python has it where a standard stream is closed, drops all.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, its characters escaped if the stream's encoding lacks them."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "backslashreplace").decode())
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Return whether someone may be looking."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __eq__(self, other: object) -> bool:
        # So tqdm prints above a bar on the same stream. It flushes sys.stderr itself, which can
        # fail, where that is equal to what it was given.
        return isinstance(other, Tolerant) and self._stream is other._stream

    __hash__ = None


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return a question that names the word that is probably meant; an empty text if none is near.

    Example:
        >>> suggestion("minst", ["digits", "mnist"]), suggestion("MNIST", ["mnist"])
        ("; did you mean 'mnist'?", "; did you mean 'mnist'?")
        >>> suggestion("letters", ["digits", "mnist"])
        ''
    """
    known = {other.casefold().replace("-", "_"): other for other in words}
    near = difflib.get_close_matches(word.casefold().replace("-", "_"), known, 1)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def stderr() -> Tolerant:
    """Return the present standard error as a stream that never fails."""
    return Tolerant(sys.stderr)


def note(text: str) -> None:
    """Print a line to standard output if that is possible."""
    Tolerant(sys.stdout).write(f"{text}\n")


def tell(text: str) -> None:
    """Print a line to standard error if that is possible, above a progress bar if there is one."""
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        # It goes through all bars, and one may end in another thread meanwhile.
        with contextlib.suppress(RuntimeError):
            tqdm.write(text, file=stderr())
            return
    stderr().write(f"{text}\n")


def open_closed_descriptors() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next file that is opened gets the number of the closed one, and what a library
    writes to standard error ends up in a checkpoint.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def finish() -> None:
    """Flush the standard streams, and drop what they cannot take.

    Otherwise Python tries again as it ends, fails, and ends with a status of its own.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except AttributeError:  # None: it is closed
            pass
        except (OSError, ValueError):
            discard(stream)


def discard(stream: TextIO) -> None:
    """Let a standard stream lead to the null device, with what it still holds."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()
