"""Which browser the pages are opened in: the system's, else Playwright's own, else one sentence.

A fake Playwright stands in: it starts a file that says "works", and its installer does as told.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import browser

ROOT = Path(__file__).parents[1]
SYNC_API = """
import os
from pathlib import Path

class Error(Exception): ...
class BrowserContext: ...
class Page: ...
class Browser:
    version = "1.0"
    def close(self): print("closed")
class Playwright:
    chromium = property(lambda self: self)
    def __enter__(self): return self
    def __exit__(self, *args): ...
    def launch(self, *, executable_path, args, timeout):
        path = Path(executable_path or os.environ["OWN"])
        if not path.exists() or path.read_bytes() != b"works":
            raise Error(f"{path} does not start")
        return Browser()
sync_playwright = Playwright
"""
MAIN = """
import os, sys, time
print(*sys.argv[1:], file=open(os.environ["OWN"] + ".asked", "a"))
exec(os.environ["INSTALLER"])
"""
WORKS = 'open(os.environ["OWN"], "w").write("works")'


@pytest.fixture
def machine(tmp_path):
    """A machine with nothing on its PATH; ``install`` says what Playwright's installer does."""
    package = tmp_path / "fake" / "playwright"
    package.mkdir(parents=True)
    for name, text in {"__init__": "", "sync_api": SYNC_API, "__main__": MAIN}.items():
        (package / f"{name}.py").write_text(text)
    (tmp_path / "bin").mkdir()

    def look(installer=WORKS, **env):
        known = {"PATH": "bin", "HOME": "home", "OWN": "own", "PYTHONPATH": "fake"}
        done = subprocess.run(
            [sys.executable, ROOT / "tools" / "browser.py"],
            cwd=tmp_path,
            env=known | {"INSTALLER": installer} | env,
            capture_output=True,
            text=True,
        )
        requested = tmp_path / "own.asked"
        return done, requested.read_text() if requested.exists() else None

    return look


def put(path, text="works"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("name", browser.NAMES[::3])
def test_the_browser_of_the_system_is_used_without_installation(machine, tmp_path, name):
    put(tmp_path / "bin" / name)
    done, requested = machine()
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"The pages are opened in bin/{name}, version 1.0.\nclosed\n"
    assert requested is None


def test_browsers_that_do_not_start_are_skipped(machine, tmp_path):
    put(tmp_path / "bin" / "chromium-browser", "to install it, run: snap install chromium")
    put(tmp_path / "bin" / "microsoft-edge")
    assert "opened in bin/microsoft-edge," in machine()[0].stdout


def test_without_a_browser_playwrights_own_is_installed_and_used(machine):
    done, requested = machine()
    assert done.returncode == 0, done.stderr
    assert "The pages are opened in Playwright's own, version 1.0." in done.stdout
    assert requested == "install --only-shell chromium\n"
    _, requested = machine()
    assert requested == "install --only-shell chromium\n"  # once


@pytest.mark.parametrize(
    ("installer", "why"),
    [
        (
            "print('Downloading'); print('Error: no such host'); print('  at x'); sys.exit(1)",
            "could not be installed (Error: no such host)",
        ),
        ("sys.exit(3)", "could not be installed (no reason given)"),
        ("pass", "was installed and does not start (sudo playwright install-deps chromium"),
    ],
    ids=["no network", "silent", "system libraries missing"],
)
def test_without_any_browser_the_error_says_what_to_do(machine, installer, why):
    done, _ = machine(installer)
    assert done.returncode == 1
    assert re.fullmatch(r"browser: no Chromium[^\n]*: install one [^\n]+\n", done.stderr)
    assert f"Playwright's own {why}" in done.stderr
    assert "LNLIB_BROWSER=" in done.stderr


def test_a_selected_browser_is_the_only_one_used(machine, tmp_path):
    put(tmp_path / "bin" / "chromium")
    put(tmp_path / "mine")
    assert "opened in mine," in machine(LNLIB_BROWSER="mine")[0].stdout
    put(tmp_path / "mine", "is a text")
    done, requested = machine(LNLIB_BROWSER="mine")
    assert (done.returncode, requested) == (1, None)
    assert re.fullmatch(r"browser: LNLIB_BROWSER=mine does not start [^\n]+\n", done.stderr)


@pytest.mark.parametrize("base", ["", "home/me"], ids=["for all", "of the user"])
@pytest.mark.parametrize("place", browser.BROWSER_PATHS[::2])
def test_browsers_outside_the_path_are_found(monkeypatch, tmp_path, base, place):
    monkeypatch.setenv("PATH", "")
    put(tmp_path / base / place)
    results = list(browser.find_browsers(tmp_path, tmp_path / "home" / "me"))
    assert results == [str(tmp_path / base / place)]
    (tmp_path / base / place).chmod(0o644)
    assert list(browser.find_browsers(tmp_path, tmp_path / "home" / "me")) == []
