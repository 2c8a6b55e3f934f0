"""Where a package is missing, the advice is a command that works: lnlib is not on the index."""

import importlib.metadata
import shlex
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
