"""The book is built when anything has changed that it comes from, and only then."""

import os
import subprocess
import sys

import pytest

from tools import book

PAGE, RECORD, LIBRARY = "book/introduction.ipynb", "book/runs/mnist/run.npz", "lnlib/norms/layer.py"
FILES = (
    PAGE,
    RECORD,
    LIBRARY,
    "lnlab/cli.py",
    "book/equations.md",
    "_config.yml",
    "_toc.yml",
    "pyproject.toml",
)
# It stands in for jupyter-book: it notes that it was called, and writes what it is told to.
STAND_IN = """#!/bin/sh
mkdir -p _build/html && echo called >>calls
echo "a page" >_build/html/index.html && echo built >_build/html/.buildinfo
exit ${FAILS:-0}
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with one file of each kind, and with a package."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    programs, packages = tmp_path / "bin", tmp_path / "packages"
    (packages / "plotly-6.0.dist-info").mkdir(parents=True)
    programs.mkdir()
    for name, text in {"jupyter-book": STAND_IN, "python": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o700)
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    return tmp_path


def calls(clone):
    return (clone / "calls").read_text().count("called")


def test_an_unchanged_book_is_not_built_again(clone, capsys):
    assert book.main(clone) == 0
    assert "The book is built. Open: " in capsys.readouterr().out
    assert book.main(clone) == 0
    assert "The book is up to date." in capsys.readouterr().out
    assert calls(clone) == 1


def git(clone, *words):
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=clone, check=True, capture_output=True)


CHANGES = {
    "a page": lambda clone: (clone / PAGE).write_text("after!"),
    "a record": lambda clone: (clone / RECORD).write_text("after!"),
    "the library": lambda clone: (clone / LIBRARY).write_text("after!"),
    "the experiments": lambda clone: (clone / "lnlab" / "cli.py").write_text("after!"),
    "the settings": lambda clone: (clone / "_config.yml").write_text("after!"),
    "a page of another name": lambda clone: (clone / PAGE).rename(clone / "book" / "new.ipynb"),
    "a package of another version": lambda clone: (
        clone / "packages" / "plotly-6.0.dist-info"
    ).rename(clone / "packages" / "plotly-6.1.dist-info"),
    "another Python": lambda clone: setattr(sys, "version", sys.version + " another"),
    "a setting": lambda clone: os.environ.update(LNLIB_COMPILED="0"),
    "a commit": lambda clone: git(clone, "commit", "--allow-empty", "-m", "Next"),
    "the address of the clone": lambda clone: git(clone, "remote", "add", "origin", "https://a.b"),
    "a lost page of the book": lambda clone: (clone / "_build/html/index.html").unlink(),
    "an altered page of the book": lambda clone: (clone / "_build/html/index.html").write_text("!"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_any_input_rebuild_the_book(clone, monkeypatch, change):
    monkeypatch.setenv("LNLIB_COMPILED", "1")
    monkeypatch.setattr(sys, "version", sys.version)
    git(clone, "init")
    git(clone, "commit", "--allow-empty", "-m", "First")
    assert book.main(clone) == 0
    CHANGES[change](clone)
    assert book.main(clone) == 0
    assert calls(clone) == 2
    assert book.main(clone) == 0
    assert calls(clone) == 2


def test_failed_builds_are_repeated(clone, monkeypatch):
    monkeypatch.setenv("FAILS", "1")
    assert [book.main(clone), book.main(clone)] == [1, 1]
    assert book.outcome(clone) == "failed"
    monkeypatch.delenv("FAILS")
    assert book.main(clone) == 0
    assert calls(clone) == 3
    assert book.outcome(clone) == "built"
