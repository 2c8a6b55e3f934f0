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


def project(folder=""):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize(("distribution", "folders"), [("lnlib", [""]), ("lnlab", ["", "lnlab"])])
def test_in_a_clone_the_install_command_names_its_folders(distribution, folders):
    pip, install, *words = shlex.split(_install.command(distribution))
    assert [pip, install, *words[::2]] == ["pip", "install", *["-e"] * len(folders)]
    for word, folder in zip(words[1::2], folders, strict=True):
        assert Path(word.removesuffix("[nn]")).samefile(ROOT / folder)


@pytest.mark.parametrize("distribution", ["lnlib", "lnlab"])
def test_without_a_clone_the_install_command_names_packages(distribution, tmp_path, monkeypatch):
    projects = {"lnlib": project(), "lnlab": project("lnlab")}
    lines = {
        name: [
            *of["dependencies"],
            *(
                f"{need}; extra == '{extra}'"
                for extra, needs in of["optional-dependencies"].items()
                for need in needs
            ),
        ]
        for name, of in projects.items()
    }
    monkeypatch.setattr(_install, "__file__", str(tmp_path / "lnlib" / "_install.py"))
    monkeypatch.setattr(importlib.metadata, "requires", lines.get)
    pip, install, *packages = shlex.split(_install.command(distribution))
    assert [pip, install] == ["pip", "install"]
    needs = {*project()["dependencies"], *project()["optional-dependencies"]["nn"]}
    if distribution == "lnlab":
        needs |= {*project("lnlab")["dependencies"]} - {"lnlib[nn]"}
    assert set(packages) == needs


def test_no_text_advises_to_install_lnlib_from_the_package_index():
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
