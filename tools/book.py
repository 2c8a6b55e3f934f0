"""Build the book, unless it is up to date.

Usage: python tools/book.py

The inputs of the pages are hashed: notebooks, pages, records, library, extensions, templates,
settings, the versions of Python and of all packages, the commit and the remote URLs of the clone.
The last build stored this hash together with a hash of its output. If both are unchanged, nothing
is built.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
READ = ("book", "lnlib", "lnlab", "tools/book.py", "_config.yml", "_toc.yml", "pyproject.toml")
SETTINGS = ("LNLIB_", "OMP_", "MKL_", "SOURCE_DATE_EPOCH")  # how the names of variables begin
OPTIONS = "--config _config.yml --toc _toc.yml --path-output . -W -n --keep-going --quiet"
GIT = (["rev-parse", "HEAD"], ["remote", "-v"])
BUILT, OUTCOME = "_build/.built", "_build/.outcome"
PATIENCE = 3600  # s; a limit against hanging, not a measure of speed


def files(folder: Path) -> Iterator[Path]:
    """Yield all files of a folder in a fixed order, except those that tools leave there."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def inputs(root: Path = ROOT) -> str:
    """Return a hash of all inputs of the pages."""
    digest = hashlib.sha256()
    for name in READ:
        for path in files(root / name) if (root / name).is_dir() else [root / name]:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing"
            digest.update(f"{path.relative_to(root)} {content}\n".encode())
    packages = {
        entry.name
        for folder in map(Path, sys.path)
        if folder.is_dir()
        for entry in folder.glob("*.dist-info")
    }
    packages |= {path.name for path in Path(sys.prefix, "share", "lnlib").glob("*")}  # plotly.js
    variables = {k: v for k, v in os.environ.items() if k.startswith(SETTINGS)}
    clone = [
        subprocess.run(["git", *command], cwd=root, capture_output=True, check=False).stdout
        for command in GIT
    ]
    facts = (sys.version, platform.platform(), sorted(packages), sorted(variables.items()), clone)
    digest.update(repr(facts).encode())
    return digest.hexdigest()


def outputs(root: Path = ROOT) -> str:
    """Return a hash of the names, sizes and modification times of the built files."""
    html = root / "_build" / "html"
    results = [
        (str(path.relative_to(html)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(html.rglob("*"))
        if path.is_file()
    ]
    return hashlib.sha256(repr(results).encode()).hexdigest()


def build(root: Path = ROOT) -> bool:
    """Build the book unless it is up to date; return whether it is up to date afterwards."""
    html, built = root / "_build" / "html" / "index.html", root / BUILT
    stored = built.read_text("utf-8").split() if built.exists() and html.exists() else []
    now = inputs(root)
    if stored == [now, outputs(root)]:
        print(f"The book stands: nothing that it is built from has changed. Open: {html}")
        return True
    if stored[1:] != [outputs(root)]:  # Sphinx would keep a page that was changed since
        (root / "_build" / "html" / ".buildinfo").unlink(missing_ok=True)
    built.unlink(missing_ok=True)
    python = Path(sys.executable)
    # Compiled beforehand, or left out, so that no cell's output says that it is being built.
    kernels = [python, "-m", "lnlib.nn.kernels"]
    quiet = subprocess.run(kernels, cwd=root, stdout=subprocess.DEVNULL, check=False)
    # Threads that wait for others sleep: beside the tests they would spin for most of the time.
    env = {"OMP_WAIT_POLICY": "passive"} | os.environ
    env |= {"LNLIB_COMPILED": "0"} if quiet.returncode else {}
    command = [python.with_name("jupyter-book"), "build", "book", *OPTIONS.split()]
    if subprocess.run(command, cwd=root, env=env, check=False).returncode:
        return False
    built.write_text(f"{now} {outputs(root)}\n", "utf-8")
    print(f"The book is built. Open: {html}")
    return True


def outcome(root: Path = ROOT) -> str:
    """Wait for the build that runs in parallel; return ``built`` or ``failed``."""
    end, text = time.monotonic() + PATIENCE, root / OUTCOME
    while time.monotonic() < end:
        if text.exists() and (word := text.read_text("utf-8")):
            return word
        time.sleep(0.5)
    raise TimeoutError(f"the build of the book was not done within {PATIENCE} s")


def main(root: Path = ROOT) -> int:
    """Build the book, and store the outcome for tests that run in parallel and wait for it."""
    (root / "_build").mkdir(exist_ok=True)
    word = "failed"
    try:
        word = "built" if build(root) else "failed"
    finally:
        (root / OUTCOME).write_text(word, "utf-8")
    return word != "built"


if __name__ == "__main__":
    sys.exit(main())
