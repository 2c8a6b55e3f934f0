"""Mutation testing: plant faults in the code, one at a time, and run the nearest tests.

Usage: python -m tools.faults [--only WORD ...] [--seconds S] [--fresh] [--list]

A fault is an entry of ``faults.toml``: a file, a text that occurs in it once, the replacement of
that text, and a description. The fault is planted in a copy of the repository. Then the tests that
``tools/fast.py`` finds are run (tests of pages only if there is a built book) and, if the file
belongs to a chapter, its notebook. A test that fails is run again without the fault, so that a test
that always fails does not count. Results are stored in ``_build/faults.json`` and remain valid
while the file, the fault and the tests are unchanged, so an interrupted run can be resumed. The
exit code is 1 if less than 95% of the faults are caught.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import fast

ROOT = Path(__file__).parents[1]
MIN_CAUGHT_FRACTION = 0.95
TIMEOUT_RATIO = 10  # wall-clock time after which a test run hangs, per CPU time
CAUGHT, SURVIVED, HUNG = "caught", "survived", "hung"
UNPLANTED, ANYWAY = "not planted", "fails anyway"
PYTEST = """
import os
import sys
import pytest
from tools import fast
# CPU time of this process and its children, which does not depend on the load of the machine.
limit = fast.TimeLimit({seconds}, now=lambda: sum(os.times()[:4]), pages={pages})
sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[limit]))
"""
WIDGET_FOLDERS = tuple(f"book/lnbook/{name}/" for name in ("diagrams", "explorer", "widgets"))
# Updates the files of widgets in the built book.
UPDATE_WIDGETS = """
from pathlib import Path
from lnbook.widgets import base
for widget in base.widgets():
    folder = Path("_build/html/_static", widget.name)
    if folder.is_dir():
        (folder / f"{widget.name}.js").write_text(widget.book(), "utf-8")
        (folder / f"{widget.name}.css").write_text(widget.style(), "utf-8")
"""


@dataclass(frozen=True)
class Fault:
    """A fault that is planted in a file.

    Args:
        file: Path of the file, from the root of the repository.
        old: A text that occurs once in the file.
        new: The replacement of that text.
        what: Description of the fault.
        tests: The nearest tests, if they cannot be found by name.
    """

    file: str
    old: str
    new: str
    what: str
    tests: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"

    def planted(self, text: str) -> str:
        """Return the content of the file with the fault.

        Raises:
            ValueError: If the text to replace does not occur exactly once, or is equal to its
                replacement.
        """
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.file} must have once, and has {count} times: {self.old!r}")
        if self.old == self.new:
            raise ValueError(f"{self.file} would not change: {self.old!r}")
        return text.replace(self.old, self.new)

    def near(self, root: Path) -> list[str]:
        """Return the nearest tests: those of the file, and the doctests in the file itself."""
        result = list(self.tests) or fast.near(self.file, root)
        path = root / self.file
        if path.suffix == ".py" and path.exists() and ">>> " in path.read_text("utf-8"):
            result.append(self.file)
        return result

    def notebook(self, root: Path) -> str | None:
        """Return the notebook of the chapter that the file belongs to, if there is one."""
        parts = Path(self.file).parts
        chapter = parts[:3] == ("book", "lnbook", "chapters")
        name = parts[3] if chapter else Path(self.file).stem
        path = f"book/{name}.ipynb"
        return path if parts[0] == "book" and (root / path).exists() else None


@dataclass
class Outcome:
    """The outcome of a fault: its state, the test or the reason, and the time in seconds."""

    state: str
    by: str
    seconds: float = 0.0


def faults(path: Path) -> list[Fault]:
    """Read a list of faults."""
    entries = tomllib.loads(path.read_text("utf-8"))["fault"]
    return [Fault(**(entry | {"tests": tuple(entry.get("tests", ()))})) for entry in entries]


@contextlib.contextmanager
def copy(root: Path) -> Iterator[Path]:
    """Create a temporary copy of a working tree, with a git history and the built book."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        target = Path(folder, "copy")
        clone = ["git", "clone", "--quiet", "--shared", str(root), str(target)]
        subprocess.run(clone, check=True)
        untracked = fast.git("ls-files", "--others", "--exclude-standard", root=root)
        for name in [*fast.git("diff", "--name-only", "HEAD", root=root), *untracked]:
            if (root / name).exists():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, target / name)
            else:
                (target / name).unlink(missing_ok=True)
        if (root / "_build/html/introduction.html").exists():
            shutil.copytree(root / "_build/html", target / "_build/html")
        yield target


class WorkingTreeCopy:
    """A copy of the working tree, and the tests that run in it."""

    def __init__(self, root: Path, seconds: float) -> None:
        self.root, self.seconds = root, seconds
        self.pages = (root / "_build/html/introduction.html").exists()
        own = {"PYTHONPATH": f"{root}{os.pathsep}{root / 'book'}", "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment = {"OMP_NUM_THREADS": "1", **os.environ, **own}

    def run(self, *arguments: str) -> tuple[int | None, str]:
        """Run Python in the copy; an exit status of ``None`` means that it timed out."""
        with subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                text, _ = process.communicate(timeout=TIMEOUT_RATIO * self.seconds)
                return process.returncode, text
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with contextlib.suppress(ProcessLookupError):  # the whole process group
                    os.killpg(process.pid, signal.SIGKILL)

    def tests(self, *names: str) -> list[str]:
        """Return the arguments of ``python`` that run tests until the first failure."""
        return ["-c", PYTEST.format(seconds=self.seconds, pages=self.pages), *names]

    def refresh(self, fault: Fault) -> None:
        """Copy the files that a page loads for a widget into the built book."""
        if self.pages and fault.file.startswith(WIDGET_FOLDERS):
            self.run("-c", UPDATE_WIDGETS)

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Plant the fault in the copy for the duration of the context."""
        path = self.root / fault.file
        before = path.read_text("utf-8")
        path.write_text(fault.planted(before), "utf-8")
        try:
            self.refresh(fault)
            yield
        finally:
            path.write_text(before, "utf-8")
            self.refresh(fault)

    def stages(self, fault: Fault) -> list[list[str]]:
        """Return the arguments of Python for the nearest tests and for the chapter's notebook."""
        near, notebook = fault.near(self.root), fault.notebook(self.root)
        return [
            *([self.tests(*near)] if near else []),
            *([["tools/notebooks.py", "--check", notebook]] if notebook else []),
        ]

    def try_fault(self, fault: Fault) -> Outcome:
        """Plant the fault and run its nearest tests until one fails."""
        if not (self.root / fault.file).exists():
            return Outcome(UNPLANTED, f"there is no {fault.file}")
        try:
            fault.planted((self.root / fault.file).read_text("utf-8"))
        except ValueError as error:
            return Outcome(UNPLANTED, str(error))
        notes = []
        for arguments in self.stages(fault):
            with self.planted(fault):
                code, text = self.run(*arguments)
            if code is None:
                return Outcome(
                    HUNG,
                    f"no end after {TIMEOUT_RATIO * self.seconds:.0f} s: {' '.join(arguments[2:])}",
                )
            notes += [line for line in text.splitlines() if "were left out when" in line]
            if code not in (0, 5):  # 5: there were no tests
                return self.recheck(arguments, text)
        return Outcome(SURVIVED, " ".join(notes) or "all of the nearest tests pass")

    def recheck(self, arguments: list[str], output: str) -> Outcome:
        """Check whether the failed test passes without the fault."""
        lines = [line.split(" - ")[0] for line in output.splitlines()]
        failed = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        test = failed[0].strip() if failed else ""
        # Without the name of a test (a notebook, or an error of collection), all tests run again.
        code, output_without_fault = self.run(*(self.tests(test) if test else arguments))
        if code == 0:
            return Outcome(CAUGHT, test or output.strip().splitlines()[-1])
        last = (output_without_fault.strip().splitlines() or ["no end"])[-1]
        return Outcome(ANYWAY, f"{test}, without the fault too: {last}")


def key(fault: Fault, root: Path) -> str:
    """Return a hash of the fault, its file and its nearest tests, for which a result is valid."""
    digest = hashlib.sha256(repr(fault).encode())
    notebook = fault.notebook(root)
    for name in [fault.file, *fault.near(root), *([notebook] if notebook else [])]:
        path = root / name
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(source.name.encode() + (source.read_bytes() if source.exists() else b""))
    return digest.hexdigest()[:16]


def table(results: list[tuple[Fault, Outcome]]) -> str:
    """Return a table of the outcomes, with the faults that were not caught last, and the counts."""
    rows = sorted(results, key=lambda pair: pair[1].state != CAUGHT)
    lines = [f"{o.state:<12} {o.seconds:4.0f} s  {f}\n{'':21}{o.by}" for f, o in rows]
    counts = Counter(outcome.state for _, outcome in results)
    summary = ", ".join(f"{count} {state}" for state, count in counts.most_common())
    share = counts[CAUGHT] / len(results)
    return "\n".join(
        [*lines, "", f"{len(results)} faults: {summary}; {100 * share:.1f}% are caught."]
    )


def main(arguments: list[str], root: Path = ROOT, path: Path | None = None) -> int:
    """Try the faults; return 1 if too few are caught."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="WORD", help="only faults with one of these words")
    add(
        "--seconds",
        type=float,
        default=60,
        help="CPU time of a test run in seconds after which no further test starts (default: 60)",
    )
    add("--fresh", action="store_true", help="ignore stored results")
    add("--list", action="store_true", help="list the faults and exit")
    args = parser.parse_args(arguments)
    chosen = [
        fault for fault in faults(path or root / "tools/faults.toml")
        if not args.only or any(word in str(fault) for word in args.only)
    ]  # fmt: skip
    if not chosen:
        parser.error(f"--only: no fault has {' or '.join(args.only)}; --list shows them")
    if args.list:
        print("\n".join(map(str, chosen)))
        return 0
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(1)
    )  # also ends the processes that it has started
    cache = root / "_build/faults.json"
    cache.parent.mkdir(exist_ok=True)
    results = json.loads(cache.read_text("utf-8")) if cache.exists() and not args.fresh else {}
    result = []
    with copy(root) as copy_root:
        tree = WorkingTreeCopy(copy_root, args.seconds)
        for number, fault in enumerate(chosen, 1):
            name = key(fault, copy_root)
            if name not in results:
                start = time.monotonic()
                outcome = tree.try_fault(fault)
                outcome.seconds = round(time.monotonic() - start, 1)
                results[name] = vars(outcome)
                cache.write_text(json.dumps(results, indent=1), "utf-8")
            outcome = Outcome(**results[name])
            result.append((fault, outcome))
            print(f"{number:3}/{len(chosen)} {outcome.state:<12} {fault}", flush=True)
    print("\n" + table(result))
    return int(
        sum(outcome.state == CAUGHT for _, outcome in result) < MIN_CAUGHT_FRACTION * len(result)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
