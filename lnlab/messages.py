"""Messages to standard output and standard error that never make a run fail.

A service or a cron job can close standard output and standard error, a log can fill its disk, and
the program that reads a pipe can end first.
"""

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO


class NonRaisingStream:
    """A text stream whose ``write`` and ``flush`` never raise; text that cannot be written is lost.

    Args:
        stream: The stream, or ``None``, which Python uses for a standard stream that is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, with escapes for characters that the stream cannot encode."""
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
        """Return whether the stream is a terminal."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __eq__(self, other: object) -> bool:
        # tqdm compares streams to print above a bar on the same stream. It must not find this one
        # equal to sys.stderr, which it would then flush itself; that can fail.
        return isinstance(other, NonRaisingStream) and self._stream is other._stream

    __hash__ = None


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the most similar word, or an empty string if none is close.

    Example:
        >>> suggestion("minst", ["digits", "mnist"]), suggestion("MNIST", ["mnist"])
        ("; did you mean 'mnist'?", "; did you mean 'mnist'?")
        >>> suggestion("letters", ["digits", "mnist"])
        ''
    """
    known = {candidate.casefold().replace("-", "_"): candidate for candidate in words}
    matches = difflib.get_close_matches(word.casefold().replace("-", "_"), known, 1)
    return f"; did you mean {known[matches[0]]!r}?" if matches else ""


def stderr() -> NonRaisingStream:
    """Return the current standard error as a stream that never raises."""
    return NonRaisingStream(sys.stderr)


def info(text: str) -> None:
    """Print a line to standard output, if possible."""
    NonRaisingStream(sys.stdout).write(f"{text}\n")


def warn(text: str) -> None:
    """Print a line to standard error, if possible, above a progress bar if there is one."""
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        # It iterates over all bars, and another thread can close one meanwhile.
        with contextlib.suppress(RuntimeError):
            tqdm.write(text, file=stderr())
            return
    stderr().write(f"{text}\n")


def open_closed_descriptors() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next file that is opened gets the descriptor of the closed stream, and a library
    that writes to standard error writes into a checkpoint.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)


def finish() -> None:
    """Flush the standard streams, and discard text that cannot be written.

    Otherwise Python flushes again at exit, fails, and exits with status 120.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except AttributeError:  # the stream is None, because it is closed
            pass
        except (OSError, ValueError):
            discard(stream)


def discard(stream: TextIO) -> None:
    """Redirect a standard stream, with its buffered text, to the null device."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()
