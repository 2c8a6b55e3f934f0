"""Run the tests nearest to the changes, then some quick ones, within a minute and a half.

Usage: python tools/fast.py [WORD ...]     words are passed to pytest

The changed files are those that differ from the commit where the branch left main, committed or
not; on main itself, those that are not committed, or else those of the last commit. The tests of a
file are those with its name in the folder that mirrors its own. If there are none, they are all
tests of that folder, those that mention the file most often first; if there is no such folder,
those of the folder's name. The tests of a widget are those of its pages, with those of its scripts
first. A helper that tests share has the tests in its folder, and one that all tests share has none.
After these, a few quick tests of the whole repository are run. No page of the built book is opened:
this needs `make book` and is part of `make test`. Tests that have not started when the time is over
are left out and counted.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUICK_TESTS = (
    "tests/test_house.py",
    "tests/book/test_notebooks.py",
    "tests/lnlib/norms",
    "tests/lnlib/cells",
)
TIME_LIMIT_S = 60  # after which no test starts; the longest takes less than half a minute


def git(*arguments: str, root: Path = ROOT) -> list[str]:
    """Return the lines that git prints, or none if it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed(root: Path = ROOT) -> list[str]:
    """Return the files that differ from main, and the untracked ones."""
    head = git("rev-parse", "HEAD", root=root)
    base = git("merge-base", "HEAD", "main", root=root) or head
    new = git("ls-files", "--others", "--exclude-standard", root=root)
    result = [*git("diff", "--name-only", *base, root=root), *new]
    if not result and base == head:
        result = git("diff", "--name-only", "HEAD~1", root=root)
    return sorted({name for name in result if (root / name).exists()})


def near(name: str, root: Path = ROOT) -> list[str]:
    """Return the tests of a file: its own, or else those of its folder."""
    path = Path(name)
    if path.parts[0] == "tests":
        if path.name.startswith("test_"):
            return [name]
        shared = path.suffix == ".py" and path.parent != Path("tests")  # else all tests use it
        siblings = sorted((root / path.parent).rglob("test_*.py")) if shared else []
        return [str(test_path.relative_to(root)) for test_path in siblings]
    inside = [p for p in path.parent.parts if p not in ("book", "tools")]
    if path.suffix == ".ipynb":
        inside = ["lnbook"]
    elif inside[:1] in (["_ext"], ["_static"], ["_templates"]):
        inside = ["book", "around"]
    mirror, missing = root.joinpath("tests"), list(inside)
    while missing and (mirror / missing[0]).is_dir():
        mirror /= missing.pop(0)
    stem = path.stem.strip("_")  # tests of __main__ are in main
    by_name = [*named(mirror, stem), *([mirror / stem] if (mirror / stem).is_dir() else [])]
    if missing:  # no folder mirrors its own: all tests with the name of the folder
        by_folder = [test for name in reversed(missing) for test in named(mirror, name)]
        result = [*by_folder, *by_name] or named(root / "tests", missing[-1], deep=True)
    elif inside:
        candidates = sorted(mirror.rglob("test_*.py"))
        result = by_name or sorted(
            candidates, key=lambda test_path: -test_path.read_text("utf-8").count(stem)
        )
    else:
        result = by_name or named(mirror, stem, deep=True)
    if path.suffix == ".ipynb":  # tests of all notebooks
        result.append(root / "tests/book/test_notebooks.py")
    page_tests = pages(path, root)  # first for JavaScript and CSS, which only these run
    result = [*result, *page_tests] if path.suffix == ".py" else [*page_tests, *result]
    return [str(test_path.relative_to(root)) for test_path in dict.fromkeys(result)]


def named(folder: Path, name: str, deep: bool = False) -> list[Path]:
    """Return the tests with a name in a folder."""
    find = folder.rglob if deep else folder.glob
    return sorted(find(f"test_{name}.py")) + sorted(find(f"test_{name}_*.py"))


def pages(path: Path, root: Path) -> list[Path]:
    """Return the tests of pages with a widget, or with the widgets that share its script."""
    package, book = root / "book/lnbook", root / "tests/book"
    folders = {package / name for name in ("diagrams", "explorer", "widgets")}
    if folders.isdisjoint((root / path).parents):
        return []
    if (root / path).with_name(f"{path.parent.name}.css").exists():
        widgets = [path.parent.name]
    else:
        uses = (f"../{path.name}", f".{path.stem} ", f"import {path.stem}")
        packages = sorted(package.rglob("__init__.py"))
        widgets = [
            file_path.parent.name
            for file_path in packages
            if any(u in file_path.read_text() for u in uses)
        ]
    folders_and_names = [(book, name) for name in widgets] + [
        (book / "pages", f"{w}s") for w in widgets
    ]
    tests = [
        file_path
        for folder, name in folders_and_names
        for file_path in (*named(folder, name), folder / name)
    ]
    return [file_path for file_path in tests if file_path.exists()]


class TimeLimit:
    """A pytest plugin that leaves out tests of the built book and tests that start too late."""

    def __init__(
        self, seconds: float, now: Callable[[], float] = time.monotonic, pages: bool = False
    ) -> None:
        self.now, self.end, self.left, self.pages = now, now() + seconds, 0, pages

    def pytest_collection_modifyitems(self, config, items):
        """Leave out tests that open the built book."""
        if self.pages:
            return
        pages = [item for item in items if "built_book" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=pages)
        items[:] = [item for item in items if item not in set(pages)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Count a test instead of running it when the time is over."""
        if self.now() < self.end:
            return None
        self.left += 1
        return True

    def pytest_terminal_summary(self, terminalreporter):
        """Report what was left out."""
        if self.left:
            terminalreporter.line(f"{self.left} tests were left out when the time was over.")


def main(arguments: list[str]) -> int:
    """Run the tests."""
    files = changed()
    first = list(dict.fromkeys(test for name in files for test in near(name)))
    print(f"{len(files)} files have changed; nearest: {' '.join(first) or 'none'}", flush=True)
    paths = [*first, *(path for path in QUICK_TESTS if path not in first)]
    return pytest.main(["-q", *arguments, *paths], plugins=[TimeLimit(TIME_LIMIT_S)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
