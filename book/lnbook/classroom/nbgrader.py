"""nbgrader, run on a course folder as its command line does."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path


def required() -> None:
    """Hold that nbgrader is installed.

    Raises:
        ValueError: If it is not.
    """
    if importlib.util.find_spec("nbgrader") is None:
        raise ValueError(
            "homework and grade use nbgrader, and it is not installed; run pip install -e "
            '".[teach]" in a clone of the book, or make homework, which does so'
        )


def run(course: Path, *arguments: str) -> str:
    """Run one command of nbgrader and return what it logged.

    Args:
        course: The course folder.
        *arguments: As typed after ``nbgrader``.

    Raises:
        ValueError: If the command fails; the text is nbgrader's own.
    """
    command = [sys.executable, "-m", "nbgrader", *arguments, f"--course-dir={course.resolve()}"]
    # nbgrader calls alembic, which lies beside this Python and is not on every PATH.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, cwd=course, capture_output=True, encoding="utf-8", errors="replace",
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr]
        said = re.sub(r"^\[.*?\] ", "", lines[0].strip())[:300]
        raise ValueError(f"nbgrader {arguments[0]}: {said}; see {course / '.nbgrader.log'}")
    return done.stderr
