"""The house: what may import what, one list of dependencies, commands that say what is missing."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import lnlib
from lnbook.widgets.quiz.notebook import read_questions
from tools import faults

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = {"lnlib": ROOT / "lnlib", "lnlab": ROOT / "lnlab", "lnbook": ROOT / "book" / "lnbook"}
NUMPY_ALONE = {*sys.stdlib_module_names, "numpy", *PACKAGES}


def imported(path):
    """Every module a file imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize(
    ("package", "above"),
    [("lnlib", ("lnlab", "lnbook", "plotly")), ("lnlab", ("lnbook", "plotly")), ("lnbook", ())],
)
def test_imports_only_go_in_one_direction(package, above):
    for path in PACKAGES[package].rglob("*.py"):
        firsts = {name.partition(".")[0] for name in imported(path)}
        assert path.stem == "__main__" or not firsts & {*above}, path
        if path.stem in ("exercises", "material"):  # what a homework runs
            assert firsts <= NUMPY_ALONE, path


def test_no_file_is_too_long():
    folders = ("lnlib", "lnlab", "book/lnbook", "book/_ext", "bench", "tests", "tools")
    paths = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    assert [path.name for path in paths if len(path.read_text().splitlines()) > 500] == []


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_lnlib_only_loads_numpy():
    third_party = (
        loaded_by("import lnlib") - loaded_by("import numpy") - set(sys.stdlib_module_names)
    )
    assert {name for name in third_party if not name.startswith("_")} == {"lnlib"}


def test_content_modules_do_not_import_drawing_modules():
    assert not loaded_by("import lnbook.show") & {"plotly", "ipywidgets", "anywidget", "torch"}


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert lnlib.__version__ == PROJECT["version"] == citation["version"]
    for folder in ("lnlab", "book"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert project["version"] == lnlib.__version__


def requirements():
    """From package name to its range, over all extras."""
    lines = []
    for folder in ("", "lnlab", "book"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        extras = project["optional-dependencies"].values()
        lines += project["dependencies"] + [line for extra in extras for line in extra]
    return dict(split(line) for line in lines if not re.match(r"lnlib|lnlab|lnbook", line))


def split(line):
    return re.fullmatch(r"([A-Za-z0-9_.-]+)(.*)", line).groups()


def test_environment_yml_has_the_dependencies_of_pyproject():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (from_pip,) = (entry["pip"] for entry in listed if isinstance(entry, dict))
    lines = [entry for entry in listed if isinstance(entry, str)] + from_pip
    results = dict(split(line) for line in lines if not line.startswith("--editable"))
    assert results.pop("python") == PROJECT["requires-python"]
    del results["pip"]
    results["torch"] = results.pop("pytorch")
    assert results == requirements()


def test_constraints_pin_every_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    names = [line.partition("==")[0] for line in lines if "==" in line and line[0] != "#"]
    pinned, wanted = (
        {re.sub(r"[-_.]+", "-", name).lower() for name in of} for of in (names, requirements())
    )
    assert wanted <= pinned


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.M)).split())
    # Within `make test`, make would also say which folder it enters.
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[1] for line in done.stdout.splitlines()} == targets >= {"book", "test"}


def test_both_ends_of_version_ranges_are_tested_on_every_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/versions.yml").read_text())
    matrix = workflow["jobs"]["versions"]["strategy"]["matrix"]
    assert matrix["resolution"] == ["lowest", "newest"]
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    classifiers = "\n".join(PROJECT["classifiers"])
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)", classifiers)


def test_version_ends_are_tested_in_new_environments(tmp_path):
    (tmp_path / "make").write_text("""#!/bin/sh
        echo "$@" >>asked
        mkdir -p "${2#VENV=}/new" _build/html
        case "$*" in *lowest*) exit 2 ;; esac
    """)
    (tmp_path / "make").chmod(0o755)
    for left in (".venv-lowest/old", ".venv-newest/old", "_build/kept"):
        (tmp_path / left).mkdir(parents=True)
    done = subprocess.run(
        [ROOT / "tools" / "versions.sh"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    ends = ("lowest", "newest")
    commands = [f"test VENV=.venv-{end} RESOLUTION={end}" for end in ends]
    assert (tmp_path / "asked").read_text().splitlines() == commands
    for folder, held in ((".venv-lowest", "new"), (".venv-newest", "new"), ("_build", "kept")):
        assert [path.name for path in (tmp_path / folder).iterdir()] == [held]
    assert done.returncode == 1
    assert done.stderr == "versions: the tests failed with these versions: lowest\n"


@pytest.fixture
def bare(tmp_path):
    """A folder with the project's lists and a PATH with the system's small tools alone."""
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("lnlab", "book"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / "pyproject.toml", tmp_path / folder)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "cksum", "cp", "df", "awk", "tail", "grep", "rm", "mkdir"):
        (tools / name).symlink_to(shutil.which(name))

    def setup(extra="nn", **env):
        clean = {"PATH": str(tools), "HOME": str(tmp_path)} | env
        return subprocess.run(
            ["tools/setup.sh", extra], cwd=tmp_path, env=clean, capture_output=True, text=True
        )

    return setup


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "no Python 3.11 or newer was found; "),
        ({"PYTHON": sys.executable, "NEED_GB": "99999999"}, r"\d+ GB are free .* make room"),
        ({"RESOLUTION": "oldest"}, "RESOLUTION must be lowest or newest, got 'oldest'"),
    ],
    ids=["no Python", "full disk", "unknown end"],
)
def test_missing_programs_are_reported_before_setup(bare, tmp_path, env, message):
    done = bare(**env)
    assert done.returncode == 1
    assert re.fullmatch(rf"setup: {message}[^\n]*\n", done.stderr)
    assert not (tmp_path / ".venv").exists()


@pytest.mark.slow
def test_a_missing_network_is_reported_without_marking_setup_as_done(bare, tmp_path):
    done = bare(
        PYTHON=sys.executable,
        PIP_INDEX_URL="http://127.0.0.1:9/simple",  # nobody listens there
        PIP_RETRIES="0",
        PIP_CONFIG_FILE=os.devnull,
        PIP_NO_CACHE_DIR="1",
    )
    assert done.returncode == 1
    assert "is there a network?" in done.stderr.splitlines()[-1]
    assert not list((tmp_path / ".venv").glob(".installed-*"))


@pytest.fixture
def commands(bare, tmp_path):
    """What a set-up asks for, of a Python 3.13 that only notes it."""
    (tmp_path / "bin" / "python3.13").write_text("""#!/bin/sh
        echo "${0##*/} $*" >>asked
        [ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/uv"; }
    """)
    (tmp_path / "bin" / "python3.13").chmod(0o755)

    def ask(extra, **env):
        (tmp_path / "asked").write_text("")
        done = bare(extra, **env)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "asked").read_text().splitlines()

    return ask


def test_python_can_be_selected_by_version(commands):
    assert commands("nn", PYTHON="3.13")[1] == "python3.13 -m venv .venv"


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "python -m pip --constraint constraints.txt"),
        ({"RESOLUTION": "lowest"}, "uv --resolution lowest-direct --only-binary :all:"),
        ({"RESOLUTION": "newest"}, "uv --resolution highest --only-binary :all:"),
    ],
    ids=["pinned", "lowest", "newest"],
)
def test_the_versions_are_the_pinned_ones_or_an_end_of_the_ranges(commands, env, words):
    last = commands("nn", **env)[-1].split()
    assert set(words.split()) <= set(last)
    assert last[-4:] == ["--editable", ".[nn]", "--editable", "./lnlab"]
    assert ("constraints.txt" in last) == (not env)
    assert commands("nn", **env) == []  # once
    assert commands("nn", RESOLUTION="lowest" if env != {"RESOLUTION": "lowest"} else "newest")


@pytest.mark.parametrize(
    ("first", "then", "installs"),
    [
        *(("dev", "test", False), ("live", "nn", False), ("test", "pdf", False)),
        *(("nn", "book", True), ("book", "live", True), ("live", "test", True)),
    ],
)
def test_packages_of_a_larger_extra_are_not_installed_again(commands, first, then, installs):
    assert commands(first)
    lines = commands(then)
    assert (
        any(line.endswith((f"--editable ./book[{then}]", "--editable ./lnlab")) for line in lines)
        == installs
    )
    fetched = [line for line in lines if "plotly_bundle" in line]
    assert len(fetched) == (installs and then != "live")  # what pages load, for what builds them


def test_every_fault_of_the_list_can_be_planted():
    for fault in faults.faults(ROOT / "tools" / "faults.toml"):
        assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1, str(fault)


def test_the_teaching_page_names_words_of_the_questions_that_it_asks():
    source = (ROOT / "book" / "teaching.md").read_text("utf-8")
    asked = re.findall(r"^```\{ask\} (\w+) (\d+)\n:says: (.+)$", source, re.MULTILINE)
    assert len(asked) > 10
    for chapter, number, word in asked:
        question = read_questions(ROOT / "book" / f"{chapter}.ipynb")[int(number) - 1]
        assert word in question.text, (chapter, number)
