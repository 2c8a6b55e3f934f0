"""A process for one hand-in, as the grader sees it: started, asked, and ended in time."""

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from lnbook.classroom import wire

MB = 1 << 20
LINE = 64 * MB  # of a reply
START = 120.0  # seconds to import what the chapter needs, on a busy machine
KEPT = ("PATH", "PYTHONPATH", "LNLIB_DATA", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Limits:
    """What a hand-in may use.

    Args:
        seconds: For one cell, or for one answer on all its inputs.
        total: Seconds for a notebook, its restarts included.
        memory: Megabytes beyond what the imports take.
        file_size: Megabytes of each of the few files it may write, all thrown away.
    """

    seconds: float = 60.0
    total: float = 600.0
    memory: int = 2000
    file_size: int = 10


class Ended(Exception):
    """The process is no more; the text says why."""


class CellProcess:
    """Runs cells of one hand-in, one after the other.

    Args:
        setup: Code that runs before the limits are set: the book's own, never the hand-in's.
        limits: What it may use.
        hidden: Folders it may not read.
    """

    def __init__(self, setup: str, limits: Limits, hidden: list[str]):
        self.limits, self.refused = limits, []
        self.folder = tempfile.mkdtemp(prefix="hand-in-")
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lnbook.classroom.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=kept
            | threads
            | dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"), self.folder)
            | {"PYTHONDONTWRITEBYTECODE": "1", "LNLIB_STATIC": "1", "LNLIB_COMPILED": "0"},
            start_new_session=True,
        )
        self._lines: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        started = {
            "setup": setup,
            "folder": self.folder,
            "hidden": hidden,
            "memory": limits.memory * MB,
            "file_size": limits.file_size * MB,
            "seconds": int(limits.total) + 1,
        }
        self.started = self.ask(started, START)

    def _read(self) -> None:
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stdout.readline(LINE):
                self._lines.put(line)
        self._lines.put(b"")

    def ask(self, message: dict, seconds: float | None = None) -> dict[str, Any]:
        """Send a message and return the reply.

        Args:
            message: As ``child`` reads it.
            seconds: How long to wait; ``None``: what the limits say.

        Raises:
            Ended: If there is no reply; the process is ended then.
        """
        seconds = self.limits.seconds if seconds is None else seconds
        try:
            self._process.stdin.write(wire.line(message))
            self._process.stdin.flush()
            reply = json.loads(self._lines.get(timeout=seconds))
            if not _is_reply(reply, "ask" in message):
                raise ValueError("a line that child has not written")
            self.refused = [str(what)[:80] for what in reply["refused"]]
            return reply
        except queue.Empty:
            why = f"stopped: not done after {seconds:g} seconds"
        except OSError:
            why = self._how_it_ended()
        except (ValueError, KeyError, TypeError, RecursionError):
            why = self._how_it_ended()
        self.close()
        raise Ended(why)

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            if code < 0:
                name = signal.Signals(-code).name
                return f"stopped: the process was ended by {name}, as when memory runs out"
            return f"stopped: the cell ended the process with exit status {code}"
        return "stopped: the cell wrote into the grader's channel"

    def close(self) -> None:
        """End the process with all it has started, and throw its folder away."""
        with contextlib.suppress(OSError, AttributeError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session, so its own group
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "CellProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _is_reply(reply: Any, asked: bool) -> bool:
    """Say whether a line has the form of what ``child`` writes: a cell can write one, too."""
    if not (isinstance(reply, dict) and isinstance(reply.get("refused"), list)):
        return False
    if "error" not in reply or not isinstance(reply["error"], str | None):
        return False
    return not asked or reply["error"] is not None or "value" in reply
