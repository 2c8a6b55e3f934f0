"""The house: what may import what, one list of dependencies, commands that say what is missing."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import yaml

import lnlib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# What each room may import from the others; anything else points upwards. lnlib knows nothing of
# lnlab, and neither of lnbook.
ENGINE = {
    *("lnlab.config", "lnlab.experiment", "lnlab.run", "lnlab.training", "lnlab.runner"),
    *("lnlab.distributed", "lnlab.checkpoint", "lnlab.progress"),
    *("lnlab.records", "lnlab.record_schema", "lnlab.results_table"),
}
FILES = {"lnlab.atomic_write", "lnlab.messages"}
EQUATIONS = {"lnlib.norms", "lnlib.cells", "lnlib.numerics", "lnlib.invariance", "lnlib.fisher"}
MAY_IMPORT = {
    "lnlib._install": set(),
    "lnlib.norms": set(),
    "lnlib.registry": set(),
    "lnlib.cells": {"lnlib.norms", "lnlib.registry"},
    "lnlib.numerics": {"lnlib.norms"},
    "lnlib.invariance": {"lnlib.norms", "lnlib.registry"},
    "lnlib.fisher": {"lnlib.norms", "lnlib.registry"},
    "lnlib.transformer": {"lnlib.norms"},
    "lnlib.nn": {"lnlib.norms", "lnlib.registry", "lnlib._install"},
    "lnlab.atomic_write": set(),
    "lnlab.messages": set(),
    "lnlab.comparison": set(),
    "lnlab.datasets": FILES,
    **dict.fromkeys(ENGINE, ENGINE | FILES),
    "lnlab.analysis": EQUATIONS | {"lnlab.datasets", "lnlab.comparison"},
    "lnlab.experiments": {
        *("lnlib.registry", "lnlib.nn"),
        *ENGINE,
        *("lnlab.datasets", "lnlab.comparison", "lnlab.analysis"),
    },
    "lnlab.claims": {
        *EQUATIONS,
        "lnlib.transformer",
        *ENGINE,
        *("lnlab.experiments", "lnlab.comparison", "lnlab.analysis"),
    },
}
MAY_IMPORT["lnlab.experiment"] = {*MAY_IMPORT["lnlab.experiment"], "lnlab.datasets"}
MAY_IMPORT["lnlab.arguments"] = {"lnlab.messages", "lnlab.datasets", "lnlab.experiments", *ENGINE}
MAY_IMPORT["lnlab.cli"] = {"lnlib._install"} | {n for n in MAY_IMPORT if n.startswith("lnlab.")}
NUMPY_ALONE = {
    *("lnlib.norms", "lnlib.registry", "lnlib.cells", "lnlib.transformer", "lnlib.numerics"),
    "lnlab.comparison",
}
# What may import torch: what trains, and a chapter that asks PyTorch itself.
TRAINS = {"lnlib.nn", "lnlab.experiments", "lnlab.cli", *ENGINE}
TRAINS |= {"lnbook.mixed_precision", "lnbook.memory_kernels", "lnbook.outlier_features"}
TRAINS |= {"lnbook.residual_scaling", "lnbook.rl_federated_private"}
COMPUTES = {name for name in MAY_IMPORT if name.startswith("lnlib.")} - {"lnlib.nn"}
COMPUTES |= {"lnlab.analysis", "lnlab.comparison", "lnlab.claims"}
SHOWS = {"show", "display", "explorer", "figures", "diagrams", "widgets"}  # of lnbook
PACKAGES = (ROOT / "lnlib", ROOT / "lnlab", ROOT / "book" / "lnbook")
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))


def rooms():
    """Every file of the packages, with the room it stands in."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package).with_suffix("").parts
            room = parts[1] if parts[0] == "chapters" and parts[1:] != ("__init__",) else parts[0]
            if room not in ("__init__", "__main__", "chapters"):
                yield pytest.param(package.name, room, path, id="/".join((package.name, *parts)))


def imported(path):
    """Every module a file imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def may(package, room, path):
    """Which rooms a file may import, each with its package."""
    if package != "lnbook":
        name = f"{package}.{room}"
        assert name in MAY_IMPORT, f"{name} has no place in the house yet: say what it may import"
        return MAY_IMPORT[name] | {name, package}

    def book(*rooms):
        return {f"lnbook.{name}" for name in rooms}

    if room in SHOWS:
        return {"lnlib.norms", "lnlab.comparison", "lnlab.records", "lnlab.claims"} | book(*SHOWS)
    if room == "classroom":
        shared = ("exercises", "renamed", "_feedback", *SHOWS)
        return {"lnlab", "lnlab.atomic_write"} | book("classroom", *shared)
    if path.stem in ("exercises", "_feedback", "renamed"):
        own = [room] if path.with_name("material.py").exists() else []
        return COMPUTES | book("exercises", "_feedback", *own)
    assert room in CHAPTERS, f"{path}: neither a part of what is shown nor a chapter"
    modules = {"lnlib.nn"} if f"lnbook.{room}" in TRAINS else set()
    return COMPUTES | modules | book(*SHOWS, room)


@pytest.mark.parametrize(("package", "room", "path"), list(rooms()))
def test_imports_run_downwards_only(package, room, path):
    allowed = may(package, room, path)
    for name in imported(path):
        first, *rest = name.replace("lnbook.chapters.", "lnbook.").split(".")
        target = f"{first}.{rest[0]}" if rest else first
        if target in MAY_IMPORT or first in ("lnlab", "lnbook"):
            assert target in allowed, f"{path} imports {name}"
        if path.stem == "exercises" and rest[:1] == [room] and room != "exercises":
            assert rest[1] == "material", f"{path} imports {name}"
        if f"{package}.{room}" in NUMPY_ALONE or path.stem in ("exercises", "material"):
            known = {*sys.stdlib_module_names, "numpy", "lnlib", "lnlab", "lnbook"}
            assert first in known, f"{path} imports {name}"
        if f"{package}.{room}" not in TRAINS:
            assert first != "torch", f"{path} imports {name}"
        if package != "lnbook":
            assert first not in ("plotly", "ipywidgets"), f"{path} imports {name}"


def test_the_library_stays_small_and_no_file_is_long():
    def lines(*folders):
        paths = [path for name in folders for path in sorted((ROOT / name).rglob("*.py"))]
        return {path: len(path.read_text().splitlines()) for path in paths}

    assert sum(lines("lnlib").values()) < 10_100
    house = lines("lnlib", "lnlab", "book/lnbook", "book/_ext", "bench", "tests", "tools")
    assert [path.name for path, n in house.items() if n > 500] == []


def module(path, package):
    """The name by which a file is imported."""
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def runtime(node, within=False):
    """What a program imports when it runs, and whether it does so within a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom):
            yield from ((f"{child.module}.{alias.name}", within) for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from ((alias.name, within) for alias in child.names)
        else:
            inner = within or isinstance(child, ast.FunctionDef | ast.Lambda)
            yield from runtime(child, inner)


def circle(sources):
    """Modules that import each other in a circle; from their names to their texts."""
    graph = {name: set() for name in sources}
    for name, text in sources.items():
        for what, within in runtime(ast.parse(text)):
            target = what if what in sources else what.rpartition(".")[0]
            # An experiment reaches for its run, and for its table, when it is asked: its settings
            # are read without torch.
            own = name.startswith("lnlab.experiments.") and target.startswith(f"{name}.")
            reaches = within and own
            if target in sources and not reaches:
                graph[name].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_no_two_modules_import_each_other_whatever_the_detour():
    assert not circle(
        {
            module(path, package): path.read_text()
            for package in PACKAGES
            for path in package.rglob("*.py")
        }
    )


@pytest.mark.parametrize(
    ("texts", "is_circular"),
    [
        (["from a import b", "from a import c", "import a.b"], True),
        (["from a.b import f", "from a.c import f", "def f():\n    from a.b import g"], True),
        (["from a.b import f", "import a", "import numpy"], True),
        (["from a import b", "from a import c", ""], False),
        (["", "if TYPE_CHECKING:\n    from a import c", "from a import b"], False),
    ],
)
def test_a_circle_is_found(texts, is_circular):
    names = ("a", "a.b", "a.c")
    assert bool(circle(dict(zip(names, texts, strict=True)))) == is_circular


@pytest.mark.parametrize("name", sorted(ENGINE))
def test_the_engine_speaks_of_no_experiment_and_of_no_kind_of_task(name):
    path = (ROOT / name.replace(".", "/")).with_suffix(".py")
    texts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        texts |= {getattr(node, field, None) for field in ("id", "attr", "arg", "name")}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    experiments = {p.name for p in (ROOT / "lnlab" / "experiments").iterdir()}
    tasks = {"x_train", "y_train", "x_test", "classes", "cross_entropy", "accuracy", "batch_nll"}
    assert not texts & (experiments | tasks | {"train_nll", "test_nll", "test_error", "norm"})


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_lnlib_loads_numpy_and_nothing_heavier():
    third_party = (
        loaded_by("import lnlib") - loaded_by("import numpy") - set(sys.stdlib_module_names)
    )
    assert {name for name in third_party if not name.startswith("_")} == {"lnlib"}


def test_what_a_page_shows_is_imported_without_what_draws_it():
    assert not loaded_by("import lnbook.show") & {"plotly", "ipywidgets", "anywidget", "torch"}


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert lnlib.__version__ == PROJECT["version"] == citation["version"]


def requirements():
    """From package name to its range, over all extras."""
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {"nn", "pages", "book", "slides", "pdf", "live", "teach", "test", "dev"}
    lines = PROJECT["dependencies"] + [r for extra in extras.values() for r in extra]
    return dict(split(line) for line in lines if not line.startswith("lnlib["))


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
    pinned = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, version = re.fullmatch(r"([A-Za-z0-9_.-]+)==(\S+)", line).groups()
            pinned[re.sub(r"[-_.]+", "-", name).lower()] = version
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in requirements()} <= set(pinned)
    assert pinned["torch"] == "2.13.0"


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.M)).split())
    # Within `make test`, make would also say which folder it enters.
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[1] for line in done.stdout.splitlines()} == targets
    assert {"book", "test", "live", "bench", "help", "replay"} <= targets


def test_ci_does_what_the_readme_says():
    script, readme = (ROOT / ".ci/run").read_text(), (ROOT / "README.md").read_text()
    for command in ("make test", "make book"):
        assert command in script
        assert command in readme
    assert len(readme.splitlines()) < 120
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text())
    assert {"run": ".ci/run"} in workflow["jobs"]["check"]["steps"]


def test_make_test_looks_for_a_browser_before_it_builds_or_tests():
    command = ["make", "--no-print-directory", "--dry-run", "test"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    first = done.stdout.index("tools/browser.py")
    assert done.stdout.index("setup.sh test") < first
    for step in ("tools/book.py", "pytest -n 2"):
        assert first < done.stdout.index(step)


def test_the_ends_of_the_ranges_are_tested_on_every_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/versions.yml").read_text())
    assert {"schedule", "workflow_dispatch"} <= set(workflow[True])  # YAML reads "on" so
    job = workflow["jobs"]["versions"]
    matrix = job["strategy"]["matrix"]
    assert matrix["resolution"] == ["lowest", "newest"]
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    result = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == result
    picked = "RESOLUTION=${{ matrix.resolution }} PYTHON=${{ matrix.python }}"
    assert job["steps"][-1]["run"] == f"make test-versions {picked}"


@pytest.mark.parametrize(
    ("named", "ends", "failed"),
    [
        ([], ["lowest", "newest"], " lowest"),
        (["newest"], ["newest"], ""),
        (["lowest"], ["lowest"], " lowest"),
    ],
    ids=["both", "newest", "lowest"],
)
def test_each_end_has_an_environment_made_anew_and_what_fails_is_named(
    tmp_path, named, ends, failed
):
    (tmp_path / "make").write_text("""#!/bin/sh
        echo "$@" >>asked
        mkdir -p "${2#VENV=}/new" _build/html
        case "$*" in *lowest*) exit 2 ;; esac
    """)
    (tmp_path / "make").chmod(0o755)
    for left in (".venv-lowest/old", ".venv-newest/old", "_build/kept"):
        (tmp_path / left).mkdir(parents=True)
    done = subprocess.run(
        [ROOT / "tools" / "versions.sh", *named],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    commands = [f"test VENV=.venv-{end} RESOLUTION={end}" for end in ends]
    assert (tmp_path / "asked").read_text().splitlines() == commands
    for end in ("lowest", "newest"):
        held = [path.name for path in (tmp_path / f".venv-{end}").iterdir()]
        assert held == (["new"] if end in ends else ["old"])
    assert [path.name for path in (tmp_path / "_build").iterdir()] == ["kept"]
    assert done.returncode == bool(failed)
    text = f"versions: the tests failed with these versions:{failed}\n" if failed else ""
    assert done.stderr == text


@pytest.fixture
def bare(tmp_path):
    """A folder with the project's lists and a PATH with the system's small tools alone."""
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
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


def test_a_machine_without_python_is_told_so_in_one_sentence(bare):
    done = bare()
    assert done.returncode == 1
    assert re.fullmatch(r"setup: no Python 3.11 or newer was found; [^\n]+\n", done.stderr)


def test_a_full_disk_is_told_so_before_anything_is_made(bare, tmp_path):
    done = bare(PYTHON=sys.executable, NEED_GB="99999999")
    assert done.returncode == 1
    assert re.fullmatch(r"setup: \d+ GB are free .* make room and try again\n", done.stderr)
    assert not (tmp_path / ".venv").exists()


@pytest.mark.slow
def test_a_missing_network_is_told_so_and_leaves_no_stamp(bare, tmp_path):
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


def test_a_python_may_be_named_by_its_version(commands):
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
    assert last[-2:] == ["--editable", ".[nn]"]
    assert ("constraints.txt" in last) == (not env)
    assert commands("nn", **env) == []  # once
    assert commands("nn", RESOLUTION="lowest" if env != {"RESOLUTION": "lowest"} else "newest")


@pytest.mark.parametrize("extra", ["live", "book", "test"])
def test_what_pages_load_is_fetched_only_for_what_builds_them(commands, extra):
    fetched = [line for line in commands(extra) if "plotly_bundle" in line]
    assert len(fetched) == (extra in ("book", "test"))


def test_another_end_is_refused(bare):
    done = bare(RESOLUTION="oldest")
    assert done.returncode == 1
    assert done.stderr == "setup: RESOLUTION must be lowest or newest, got 'oldest'\n"


@pytest.mark.parametrize(
    ("first", "then"),
    [("dev", "test"), ("test", "dev"), ("live", "nn"), ("slides", "book"), ("test", "pdf")],
)
def test_what_a_wider_extra_brought_is_not_installed_again(commands, first, then):
    assert commands(first)
    assert commands(then) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [("nn", "book"), ("book", "live"), ("live", "test")],
)
def test_what_a_narrower_extra_left_out_is_installed(commands, first, then):
    assert commands(first)
    installed, *fetched = commands(then)[-2:] if then not in ("nn", "live") else commands(then)[-1:]
    assert installed.endswith(f"--editable .[{then}]")
    assert [line.endswith("plotly_bundle.py") for line in fetched] == [True] * len(fetched)
