"""From the wheel alone, in a folder that is not the clone, chapters print what they printed.

Three are run whole, which between them need every kind of file that the package finds by its own
place. For the others it is enough that the wheel holds the same library, and that all they import
comes from there: the book runs them in the clone.
"""

import ast
import os
import re
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
CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
WHOLE = ["introduction", "lstm_gru", "cost", "pre_norm_post_norm", "rms_norm", "memory_kernels"]
WHOLE += ["export"]
# The modules that find a file by their own place, and such a file.
WIDGETS = ("norm_table", "playground", "quiz", "sphere", "transformer")
REPLAYS = ("activation_maps", "attention", "handwriting", "sentence_neighbors")
PLACED = {
    "lnlib._install": "Path(lnlib._install.__file__)",
    "lnlab.datasets.fashion_small": "LIST",
    "lnlab.datasets.fetch": "SOURCE",
    "lnlib.nn.kernels.cpu.build": "HEADERS / 'threads.h'",
    "lnlib.nn.kernels.cpu.recurrent": "SOURCE",
    "lnlib.nn.kernels.cpu.layer_norm": "SOURCE",
    "lnlib.nn.kernels.cpu.layer_norm_operator": "SOURCE",
    "lnbook.chapters.memory_kernels.compiled": "SOURCE",
    "lnbook.chapters.mixed_precision": "SOURCE",
    "lnbook.chapters.which_norm.models": "SOURCE",
    "lnbook.figures.css_filter": "SOURCE",
    "lnbook.widgets.replay.caption_ranking": "SOURCE",
    "lnbook.widgets.replay.draw": "WEB.folder / 'digits.json'",
    **{
        f"lnbook.{name}": f"WEB.folder / '{name.rpartition('.')[2]}.css'"
        for name in (
            "diagrams",
            "explorer",
            *(f"widgets.{name}" for name in WIDGETS),
            *(f"widgets.replay.{name}" for name in REPLAYS),
        )
    },
    "lnbook.chapters.claims.chart": "SOURCE",
    "lnbook.classroom.runner": "exercises.HERE",
    "lnbook.classroom.slides.write": "HERE / 'deck.css'",
    "lnbook.widgets.base": "HERE / 'sphere' / 'book.js'",
    "lnbook.exercises": "HERE / 'chapters' / 'introduction' / 'exercises.py'",
    "lnlab.experiments": "import_module('pathlib').Path(lnlab.experiments.__path__[0], 'mnist')",
    "lnlab.records": "folder() / 'bench.json'",
    "lnlab.experiments.mnist.steps.compiled": "SOURCE",
}
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


@pytest.mark.slow
def test_wheel_holds_the_library_and_the_records_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {n: archive.read(n) for n in archive.namelist() if ".dist-info/" not in n}
    library = {
        path.relative_to(package.parent).as_posix(): path.read_bytes()
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    runs = ROOT / "book" / "runs"
    paths = [*runs.rglob("*.json"), *runs.rglob("*.npz")]
    records = {f"lnlab/recorded/{p.relative_to(runs).as_posix()}": p.read_bytes() for p in paths}
    assert len(records) >= 18
    assert held.keys() == library.keys() | records.keys()
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
    result = os.pathsep.join([str(folder / "guard"), str(folder / "installed")])
    env = os.environ | {"PYTHONPATH": result, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    # The wheel's C++ is the clone's, byte by byte: what was built of that is found and not built.
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
    extensions = ("book/_ext/repository_address.py", "book/_ext/setup_cell.py")
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


def cells(chapter):
    notebook = nbformat.read(chapter, as_version=4)
    return [ast.parse(cell.source) for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.slow
def test_all_that_a_chapter_imports_and_the_library_finds_is_that_of_the_wheel(elsewhere):
    folder, env = elsewhere
    results = [node for chapter in CHAPTERS for cell in cells(chapter) for node in ast.walk(cell)]
    imports = {ast.unparse(n) for n in results if isinstance(n, ast.Import | ast.ImportFrom)}
    assert len(imports) > 20
    code = [
        *sorted(imports),
        "import sys, lnlib._install, lnlab.datasets.fashion_small",
        "import lnbook.classroom.grade, lnbook.classroom.slides.write",
        "import lnlab.experiments.mnist.steps.compiled, lnlib.nn.kernels.cpu.recurrent",
    ]
    code += [f"print((sys.modules[{m!r}].{place}).resolve(True))" for m, place in PLACED.items()]
    ours = tuple(package.name for package in PACKAGES)
    code += [f"print(*(m.__file__ for n, m in sys.modules.items() if n.startswith({ours!r})))"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    paths = done.stdout.split()
    assert len(paths) > 50
    assert [path for path in paths if not path.startswith(f"{folder}/installed/ln")] == []


def test_no_module_and_no_chapter_finds_a_file_by_its_place_that_is_not_tried_here():
    placed = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for path in package.rglob("*.py")
        if re.search(
            r"__file__|__path__|importlib\.resources|(?<!import )pkgutil(?!\.resolve_name)",
            path.read_text("utf-8"),
        )
    }
    assert placed == set(PLACED)
    reading = {
        chapter.stem
        for chapter in CHAPTERS
        for cell in cells(chapter)[1:]  # the first looks for the library beside the notebook
        for n in ast.walk(cell)
        if {getattr(n, "id", ""), getattr(n, "attr", "")} & {"open", "Path", "read_text", "listdir"}
    }
    assert reading <= set(WHOLE)


@pytest.mark.slow
def test_guard_refuses_a_file_of_the_clone(elsewhere):
    folder, env = elsewhere
    code = f"import numpy; open({str(ROOT / 'README.md')!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True)
    assert b"PermissionError: the chapter reads" in done.stderr
