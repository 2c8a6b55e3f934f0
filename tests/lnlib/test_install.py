"""Where a package is missing, the advice is a command that works: lnlib is not on the index."""

import importlib.metadata
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from lnlib import _install

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_in_a_clone_the_command_names_the_clone_by_its_path():
    pip, install, e, target = shlex.split(_install.command())
    assert [pip, install, e] == ["pip", "install", "-e"]
    folder, extra = re.fullmatch(r"(.*)\[(.*)\]", target).groups()
    assert Path(folder).samefile(ROOT)
    assert extra in EXTRAS


@pytest.mark.parametrize("extra", ["nn", "pages", "live"])
def test_without_a_clone_the_command_names_the_packages_themselves(extra, tmp_path, monkeypatch):
    lines = [f"{need}; extra == '{name}'" for name, needs in EXTRAS.items() for need in needs]
    monkeypatch.setattr(_install, "__file__", str(tmp_path / "lnlib" / "_install.py"))
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["numpy>=2.0", *lines])
    pip, install, *packages = shlex.split(_install.command(extra))
    assert [pip, install] == ["pip", "install"]
    built_on = {"nn": ["nn"], "pages": ["nn", "pages"], "live": ["nn", "pages", "live"]}[extra]
    needs = {need for name in built_on for need in EXTRAS[name]}
    assert set(packages) == {need for need in needs if not need.startswith("lnlib")}


def test_no_text_says_to_install_lnlib_from_the_package_index():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    texts = [ROOT / name for name in listed if Path(name).suffix in (".py", ".md", ".ipynb", ".sh")]
    assert len(texts) > 300
    # A name after "install" and flags; a path, an address and a wheel are none.
    advice = re.compile(r"pip3? install (?:-\S+ )*[\\\"']*(lnlib|lnbook)\b(?! @)(?!-\d)")
    results = {
        path.relative_to(ROOT).as_posix()
        for path in texts
        if path.exists() and advice.search(path.read_text("utf-8"))
    }
    assert results <= {"lnlib/_install.py"}  # which says why not
