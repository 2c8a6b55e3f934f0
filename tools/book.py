"""Build the book, unless it is up to date.

Usage: python tools/book.py

The inputs of the pages are hashed: notebooks, pages, records, library, extensions, templates,
settings, the versions of Python and of all packages, the commit and the remote URLs of the clone.
The last build stored this hash together with a hash of its output. If both are unchanged, nothing
is built.
"""

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
INPUTS = ("book", "lnlib", "lnlab", "tools/book.py", "_config.yml", "_toc.yml", "pyproject.toml")
VARIABLE_PREFIXES = ("LNLIB_", "OMP_", "MKL_", "SOURCE_DATE_EPOCH")  # of environment variables
OPTIONS = "--config _config.yml --toc _toc.yml --path-output . -W -n --keep-going --quiet"
GIT_COMMANDS = (["rev-parse", "HEAD"], ["remote", "-v"])
BUILT, OUTCOME = "_build/.built", "_build/.outcome"
TIMEOUT_S = 3600  # a limit against hanging, not a measure of speed


def files(folder: Path) -> Iterator[Path]:
    """Yield all files of a folder in a fixed order, except hidden files and caches."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def input_hash(root: Path = ROOT) -> str:
    """Return a hash of all inputs of the pages."""
    digest = hashlib.sha256()
    for name in INPUTS:
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
    variables = {k: v for k, v in os.environ.items() if k.startswith(VARIABLE_PREFIXES)}
    clone = [
        subprocess.run(["git", *command], cwd=root, capture_output=True, check=False).stdout
        for command in GIT_COMMANDS
    ]
    facts = (sys.version, platform.platform(), sorted(packages), sorted(variables.items()), clone)
    digest.update(repr(facts).encode())
    return digest.hexdigest()


def output_hash(root: Path = ROOT) -> str:
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
    now = input_hash(root)
    if stored == [now, output_hash(root)]:
        print(f"The book is up to date. Open: {html}")
        return True
    if stored[1:] != [output_hash(root)]:  # else Sphinx would keep pages that were changed since
        (root / "_build" / "html" / ".buildinfo").unlink(missing_ok=True)
    built.unlink(missing_ok=True)
    python = Path(sys.executable)
    # The kernels are compiled before, or disabled, so that no cell prints the compilation.
    kernels = [python, "-m", "lnlib.nn.kernels"]
    compiled = subprocess.run(kernels, cwd=root, stdout=subprocess.DEVNULL, check=False)
    # Waiting OpenMP threads sleep instead of spinning, because tests run at the same time.
    env = {"OMP_WAIT_POLICY": "passive"} | os.environ
    env |= {"LNLIB_COMPILED": "0"} if compiled.returncode else {}
    command = [python.with_name("jupyter-book"), "build", "book", *OPTIONS.split()]
    if subprocess.run(command, cwd=root, env=env, check=False).returncode:
        return False
    built.write_text(f"{now} {output_hash(root)}\n", "utf-8")
    print(f"The book is built. Open: {html}")
    return True


def outcome(root: Path = ROOT) -> str:
    """Wait for the build that runs in parallel; return ``built`` or ``failed``."""
    end, path = time.monotonic() + TIMEOUT_S, root / OUTCOME
    while time.monotonic() < end:
        if path.exists() and (result := path.read_text("utf-8")):
            return result
        time.sleep(0.5)
    raise TimeoutError(f"the build of the book was not done within {TIMEOUT_S} s")


def main(root: Path = ROOT) -> int:
    """Build the book, and store the outcome for tests that run in parallel and wait for it."""
    (root / "_build").mkdir(exist_ok=True)
    result = "failed"
    try:
        result = "built" if build(root) else "failed"
    finally:
        (root / OUTCOME).write_text(result, "utf-8")
    return result != "built"


if __name__ == "__main__":
    sys.exit(main())
