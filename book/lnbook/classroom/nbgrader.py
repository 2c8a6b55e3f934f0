"""Run nbgrader on a course folder."""

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def required() -> None:
    """Check that nbgrader is installed.

    Raises:
        ValueError: If it is not installed.
    """
    if importlib.util.find_spec("nbgrader") is None:
        raise ValueError(
            "homework and grade need nbgrader, which is not installed; run "
            "tools/setup.sh teach in a clone of the book, or make homework, which does so"
        )


def run(course: Path, *arguments: str) -> str:
    """Run a command of nbgrader and return its log output.

    Args:
        course: The course folder.
        *arguments: The command-line arguments after ``nbgrader``.

    Raises:
        ValueError: If the command fails, with nbgrader's message.
    """
    command = [sys.executable, "-m", "nbgrader", *arguments, f"--course-dir={course.resolve()}"]
    with _alembic_on_path():
        done = subprocess.run(
            command, cwd=course, capture_output=True, encoding="utf-8", errors="replace"
        )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr]
        message = re.sub(r"^\[.*?\] ", "", lines[0].strip())[:300]
        raise ValueError(f"nbgrader {arguments[0]}: {message}; see {course / '.nbgrader.log'}")
    return done.stderr


@contextlib.contextmanager
def gradebook(course: Path) -> Iterator[Any]:
    """Open the gradebook of a course folder, as an ``nbgrader.api.Gradebook``.

    Args:
        course: The course folder.
    """
    from nbgrader.api import Gradebook

    with _alembic_on_path(), Gradebook(f"sqlite:///{course / 'gradebook.db'}") as opened:
        yield opened


@contextlib.contextmanager
def _alembic_on_path() -> Iterator[None]:
    """Add the folder of this Python to the PATH, so that nbgrader finds the program alembic.

    Otherwise it is found only if the environment is activated.
    """
    before = os.environ.get("PATH")
    os.environ["PATH"] = os.pathsep.join(filter(None, [str(Path(sys.executable).parent), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PATH"]
        else:
            os.environ["PATH"] = before
