"""From the wheels alone, in a folder that is not the clone, chapters print what they printed.

Some are run whole, which between them need every kind of file that the package finds by its own
place. For the others it is enough that the wheels hold the same library, and that all modules and
the files that they name come from there: the book runs them in the clone.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from lnlib.nn.kernels.cpu import build, layer_norm, recurrent

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "lnlib", ROOT / "lnlab", ROOT / "book" / "lnbook")
WHOLE = ["introduction", "lstm_gru", "cost", "pre_norm_post_norm", "rms_norm", "memory_kernels"]
WHOLE += ["export"]
# The kernel may read nothing of the clone (but its environment, which may lie within).
GUARD = """
import sys
def refuse(event, args):
    if event == "open" and str(args[0]).startswith({clone!r}):
        if not str(args[0]).startswith({environment!r}):
            raise PermissionError(f"the chapter reads {{args[0]}}, which a reader may not have")
sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of lnlib, lnlab and lnbook, built without a network."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "lnlab", ROOT / "book"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    return [next(folder.glob(f"{package.name}-*.whl")) for package in PACKAGES]


@pytest.mark.slow
def test_wheels_contain_their_package_and_lnlab_the_records(wheels):
    runs = ROOT / "book" / "runs"
    paths = [*runs.rglob("*.json"), *runs.rglob("*.npz")]
    records = {f"lnlab/recorded/{p.relative_to(runs).as_posix()}": p.read_bytes() for p in paths}
    assert len(records) >= 18
    for wheel, package in zip(wheels, PACKAGES, strict=True):
        with zipfile.ZipFile(wheel) as archive:
            held = {n: archive.read(n) for n in archive.namelist() if ".dist-info/" not in n}
        files = {
            path.relative_to(package.parent).as_posix(): path.read_bytes()
            for path in package.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.name != "pyproject.toml"
        }
        assert held == files | (records if package.name == "lnlab" else {})


@pytest.fixture(scope="module")
def elsewhere(wheels, tmp_path_factory):
    """An empty folder, and the environment of a reader who has installed the wheels."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "installed")
    (folder / "guard").mkdir()
    guard = GUARD.format(clone=f"{ROOT}{os.sep}", environment=sys.prefix)
    (folder / "guard" / "sitecustomize.py").write_text(guard)
    (folder / "chapters").mkdir()
    result = os.pathsep.join([str(folder / "guard"), str(folder / "installed")])
    env = os.environ | {"PYTHONPATH": result, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    # The wheels' C++ is the clone's, byte by byte: what was built of that is found and not built.
    env["XDG_CACHE_HOME"] = str(build._cache_folder().parent.parent)
    for name in ("LNLIB_STATIC", "LNLIB_DATA"):
        env.pop(name, None)
    if not (
        recurrent.available() and layer_norm.available()
    ):  # built now, if it was not before: no cell says so
        env["LNLIB_COMPILED"] = "0"
    return folder, env


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_chapter_prints_the_same_in_a_folder_that_is_not_the_clone(elsewhere, name):
    folder, env = elsewhere
    extensions = ("book/_ext/git_remote.py", "book/_ext/setup_cell.py")
    for part in ("tools/notebooks.py", *extensions):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, folder / part)
    chapter = ROOT / "book" / f"{name}.ipynb"
    wanted = nbformat.read(chapter, as_version=4)
    copy = nbformat.from_dict(wanted)
    copy.cells.append(new_code_cell("import lnlib\nlnlib.__file__"))
    path = folder / "chapters" / chapter.name
    nbformat.write(copy, path)
    done = subprocess.run(
        [sys.executable, folder / "tools" / "notebooks.py", path],
        cwd=folder / "chapters",
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *cells, where = nbformat.read(path, as_version=4).cells
    assert str(folder / "installed" / "lnlib") in where.outputs[0].data["text/plain"]
    for ran, stored in zip(cells, wanted.cells, strict=True):
        assert printed_text(ran) == printed_text(stored), stored.source


def printed_text(cell):
    """What a cell prints, however it was cut into pieces on its way."""
    outputs = cell.get("outputs", [])
    return "".join(o.text if "text" in o else o.data["text/plain"] for o in outputs)


# Every module is imported, and each file that it names by its own place is there.
IMPORTS = """
import importlib, pathlib, pkgutil, lnbook, lnlab, lnlib
for package in (lnlib, lnlab, lnbook):
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        print(module.__file__)
        for value in vars(module).values():
            value = getattr(value, "folder", value)  # of a widget
            if isinstance(value, pathlib.Path) and value.is_absolute():
                print(value.resolve(strict=True))
"""


@pytest.mark.slow
def test_imported_modules_and_files_are_those_of_the_wheel(elsewhere):
    folder, env = elsewhere
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    paths = done.stdout.split()
    assert len(paths) > 200
    assert [path for path in paths if not path.startswith(str(folder))] == []
