"""Run submissions, each in a container or in a process of this user."""

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lnlab
import lnlib
from lnbook import exercises

ENVIRONMENT = {"LNLIB_STATIC": "1", "LNLIB_COMPILED": "0", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Sandbox:
    """Where submissions run, and their limits.

    Args:
        container: An image with Python, Jupyter's kernel and the packages that the homework
            imports. ``None``: submissions run as this user.
        seconds: Time limit per cell in seconds.
        total: Time limit per notebook in seconds.
        memory: Memory limit of a container, in Docker's notation.
    """

    container: str | None = None
    seconds: float = 60.0
    total: float = 600.0
    memory: str = "4g"


def stripped(folder: Path) -> Path:
    """Copy the packages without the chapters' exercises, and return the folder of the copy."""
    packages = {
        package_module.__name__: Path(package_module.__file__).parent
        for package_module in (lnlib, lnlab)
    }
    packages |= {"lnbook": exercises.HERE}
    for package, home in packages.items():

        def left_out(folder_path: str, names: list[str], home: Path = home) -> list[str]:
            secret = ["exercises.py"] if Path(folder_path) != home else []
            return [n for n in names if n in [*secret, "__pycache__", "recorded"]]

        shutil.copytree(home, folder / package, ignore=left_out)
    return folder


def versions(sandbox: Sandbox) -> list[str]:
    """Return the versions that submissions run with: of the image, or of installed packages."""
    names = ["nbgrader", "numpy"]
    if sandbox.container is None:
        here = [sys.version]
        names += ["torch"] if importlib.util.find_spec("torch") else []
    else:
        here = [_image(sandbox.container)]
    return [*here, *map(importlib.metadata.version, names)]


def _image(name: str) -> str:
    """Return the identifier of an image, pulling it if necessary."""
    tool = _tool()
    for command in (["image", "inspect", "--format", "{{.Id}}", name], ["pull", "--quiet", name]):
        done = subprocess.run([tool, *command], capture_output=True, encoding="utf-8", check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise ValueError(
        f"--container must be an image that {tool} has or can pull, got {name}: {reason}"
    )


def execute(work_folder: Path, book: Path, sandbox: Sandbox, notebooks: int) -> str:
    """Run the notebooks of a folder; return the reason if the run was ended, or ""."""
    limits = [f"--seconds={sandbox.seconds:g}", f"--total={sandbox.total:g}"]
    program = ["-m", "lnbook.classroom.execute"]
    patience = sandbox.total * notebooks + 60
    if sandbox.container is None:
        command = [sys.executable, "-P", *program, str(work_folder), *limits]
        env = os.environ | ENVIRONMENT | {"PYTHONPATH": str(book)}
        return _wait(
            command, patience, cwd=work_folder, env=env, start_new_session=os.name == "posix"
        )
    tool, box = _tool(), f"lnbook-{uuid.uuid4().hex[:12]}"
    options = ["--rm", "--name", box, "--network", "none", "--memory", sandbox.memory]
    options += ["--pids-limit", "512", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    options += ["--read-only", "--tmpfs", "/tmp", "--volume", f"{work_folder}:/work"]
    options += ["--volume", f"{book}:/book:ro", "--workdir", "/work"]
    if hasattr(os, "getuid"):
        options += ["--user", f"{os.getuid()}:{os.getgid()}"]
        if tool == "podman" and os.getuid():  # so that the user in it can read /work
            options += ["--userns", "keep-id"]
    settings = ENVIRONMENT | {"PYTHONPATH": "/book", "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    options += [part for pair in settings.items() for part in ("--env", "=".join(pair))]
    command = [tool, "run", *options, sandbox.container, "python", *program, "/work", *limits]
    try:
        return _wait(command, patience)
    finally:
        subprocess.run([tool, "rm", "--force", box], capture_output=True, check=False)


def _tool() -> str:
    """Return the program that runs containers."""
    for tool in ("docker", "podman"):
        if shutil.which(tool):
            return tool
    raise ValueError("--container needs docker or podman, and neither is installed")


def _wait(command: list[str], patience: float, **options: Any) -> str:
    """Run a command; return the last line of its error output, or "" if it succeeded.

    Errors are written to a file, because a pipe would stay open as long as a process that a cell
    has started.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, **options
        )
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            return f"it was not done after {patience:g} seconds"
        finally:
            if options.get("start_new_session"):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 10_000))
        output = errors.read().decode("utf-8", "replace")
    lines = output.strip().splitlines()
    return "" if process.returncode == 0 else (lines[-1] if lines else f"{process.returncode}")
