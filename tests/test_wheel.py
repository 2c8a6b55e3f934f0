"""From the wheel alone, in a folder that is not the clone, every chapter prints what it printed."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
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
def wheel(tmp_path_factory):
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_the_library_and_the_records_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    library = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "lnlib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    records = {f"lnlib/recorded/{path.name}" for path in (ROOT / "book" / "runs").glob("*.json")}
    assert len(records) >= 18
    assert held == library | records


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """An empty folder, and the environment of a reader who has installed the wheel."""
    folder = tmp_path_factory.mktemp("elsewhere")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    (folder / "guard").mkdir()
    guard = GUARD.format(clone=f"{ROOT}{os.sep}", environment=sys.prefix)
    (folder / "guard" / "sitecustomize.py").write_text(guard)
    (folder / "chapters").mkdir()
    found = os.pathsep.join([str(folder / "guard"), str(folder / "installed")])
    env = os.environ | {"PYTHONPATH": found, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("LNLIB_STATIC", "LNLIB_DATA"):
        env.pop(name, None)
    # With the sources that the wheel has; and no cell says that it is being built.
    build = [sys.executable, "-m", "lnlib.nn.kernels"]
    if subprocess.run(build, env=env, cwd=folder, capture_output=True).returncode:
        env["LNLIB_COMPILED"] = "0"
    return folder, env


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_prints_the_same_in_a_folder_that_is_not_the_clone(elsewhere, chapter):
    folder, env = elsewhere
    shutil.copy(ROOT / "tools" / "notebooks.py", folder)
    wanted = nbformat.read(chapter, as_version=4)
    copy = nbformat.from_dict(wanted)
    copy.cells.append(new_code_cell("import lnlib\nlnlib.__file__"))
    path = folder / "chapters" / chapter.name
    nbformat.write(copy, path)
    done = subprocess.run(
        [sys.executable, folder / "notebooks.py", path],
        cwd=folder / "chapters",
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *cells, where = nbformat.read(path, as_version=4).cells
    assert str(folder / "installed" / "lnlib") in where.outputs[0].data["text/plain"]
    for ran, stored in zip(cells, wanted.cells, strict=True):
        assert said(ran) == said(stored), stored.source


def said(cell):
    """What a cell prints, however it was cut into pieces on its way."""
    outputs = cell.get("outputs", [])
    return "".join(o.text if "text" in o else o.data["text/plain"] for o in outputs)


def test_guard_refuses_a_file_of_the_clone(elsewhere):
    folder, env = elsewhere
    code = f"import numpy; open({str(ROOT / 'README.md')!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True)
    assert b"PermissionError: the chapter reads" in done.stderr
