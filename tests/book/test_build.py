"""The build fails where a reader would miss something; each fault is planted in a tiny book."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from plotly.offline import get_plotlyjs

import lnbook
from lnbook.show import colors

ROOT = Path(__file__).parents[2]
TOC = "format: jb-book\nroot: start\nchapters:\n{chapters}"


class Book:
    """A book of a few cells under the configuration of ours."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = []
        (folder / "book").mkdir()
        shutil.copy(ROOT / "_config.yml", folder)
        shutil.copy(ROOT / "book" / "references.bib", folder / "book")
        for part in ("_ext", "_static", "_templates"):
            shutil.copytree(ROOT / "book" / part, folder / "book" / part)
        self.add(
            "start",
            "# Start\n\nThis page has nothing to hide and takes {minutes}`start`; see "
            "{cite:t}`Ba2016`.\n\n```{bibliography}\n```",
        )

    def add(self, name, text, *code, metadata=None):
        cells = [new_markdown_cell(text), *map(new_code_cell, code)]
        for i, cell in enumerate(cells):
            cell["id"] = f"cell-{i}"
            cell.metadata.update(metadata or {})
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / "book" / f"{name}.ipynb")
        self.pages = [*dict.fromkeys([*self.pages, name])]

    def build(self, **environment):
        chapters = "".join(f"  - file: {name}\n" for name in self.pages if name != "start")
        toc = TOC.format(chapters=chapters).removesuffix("chapters:\n")
        (self.folder / "_toc.yml").write_text(toc)
        command = (
            "build book --config _config.yml --toc _toc.yml --path-output . -W -n --keep-going"
        )
        env = {k: v for k, v in os.environ.items() if k != "LNLIB_STATIC"} | environment
        done = subprocess.run(
            [Path(sys.executable).with_name("jupyter-book"), *command.split()],
            cwd=self.folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # colors
        return done

    def html(self, name):
        return (self.folder / "_build" / "html" / f"{name}.html").read_text("utf-8")


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


SHOWN = (
    "import plotly.graph_objects as go\nfrom lnbook.show.explore import show\n"
    "show(go.Figure(go.Bar(y=[1, 2])), title='Bars', describe='Two bars.')"
)


def test_sound_book_builds_without_a_warning_and_again_in_no_time(book):
    book.add("sound", "# Sound", SHOWN, "print('text')")
    done = book.build()
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout.replace("[IPKernelApp] WARNING", "")
    assert 'class="ln-explorer"' in book.html("sound")
    static = book.folder / "_build" / "html" / "_static"
    assert (static / "plotly" / "plotly.min.js").exists()
    for name in ("sound", "start"):  # every page has the book's colors, once
        assert len(re.findall(r'href="_static/colors\.css', book.html(name))) == 1
    assert (static / "colors.css").read_text("utf-8") == colors.css()
    again = book.build()
    assert again.returncode == 0
    assert "Executing" not in again.stdout


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("raise RuntimeError('planted')", "RuntimeError: planted"),
        (
            SHOWN.replace("go.Figure(go.Bar(y=[1, 2]))", "'no figure'"),
            "must return a plotly figure",
        ),
    ],
    ids=["cell", "display"],
)
def test_error_in_a_cell_or_in_its_display_fails_the_build(book, cell, message):
    book.add("broken", "# Broken", cell)
    done = book.build()
    assert done.returncode != 0
    assert message in done.stdout


FAULTS = {
    "bare_figure": (
        ["import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1]))"],
        "skipping unknown output mime type: application/vnd.plotly.v1+json",
    ),
    "dead_widget": (
        ["import ipywidgets\nipywidgets.IntSlider()"],
        "a widget is dead in the book",
    ),
    "warning_on_stderr": (
        ["import warnings\nwarnings.warn('planted')"],
        "stderr was found in the cell outputs of cell 2",
    ),
    "silent_image": (
        ["from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"],
        "has no alt text",
    ),
    "silent_markdown_image": ([], "has no alt text"),
    "unknown_citation": ([], 'could not find bibtex key "Nobody1900"'),
    "unknown_chapter": ([], "minutes must name a chapter as _toc.yml does, got 'nowhere'"),
}
TEXTS = {
    "silent_markdown_image": "![](_static/logo.svg)",
    "unknown_citation": "{cite:t}`Nobody1900`",
    "unknown_chapter": "This takes {minutes}`nowhere`.",
}


def test_every_planted_fault_is_named_and_fails_the_build_twice(book):
    for name, (code, _) in FAULTS.items():
        book.add(name, f"# Page\n\n{TEXTS.get(name, 'Text.')}", *code)
    for _ in range(2):  # a second build must not take the failed one for done
        done = book.build()
        assert done.returncode != 0
        warnings = [
            line for line in done.stdout.splitlines() if "WARNING" in line or "ERROR" in line
        ]
        for name, (_, message) in FAULTS.items():
            assert any(name in line and message in line for line in warnings), (name, warnings)
        assert not any("start.ipynb" in line for line in warnings)


def test_image_with_a_text_is_no_fault(book):
    code = "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
    metadata = {"mystnb": {"image": {"alt": "An empty picture"}}}
    book.add("image", "# Image\n\n![The logo](_static/logo.svg)", code, metadata=metadata)
    done = book.build()
    assert done.returncode == 0, done.stdout
    assert 'alt="An empty picture"' in book.html("image")
    assert 'takes <span class="ln-minutes">5 min</span>' in book.html("start")


def test_edit_of_the_library_or_of_a_record_runs_the_pages_again(book, tmp_path):
    library = tmp_path / "elsewhere" / "lnbook"
    shutil.copytree(Path(lnbook.__file__).parent, library)
    path, explore = {"PYTHONPATH": str(library.parent)}, library / "show" / "explore.py"
    explore.write_text(explore.read_text() + "\nANSWER = 41\n")
    runs = tmp_path / "book" / "runs"
    runs.mkdir()
    (runs / "run.json").write_text("1")
    book.add(
        "answer",
        "# Answer",
        "from lnbook.show.explore import ANSWER\nprint(f'answer {ANSWER}')",
        "print('record', open('runs/run.json').read())",
    )
    assert book.build(**path).returncode == 0
    assert "answer 41" in book.html("answer")
    explore.write_text(explore.read_text() + "\nANSWER = 42\n")
    assert book.build(**path).returncode == 0
    assert "answer 42" in book.html("answer")
    (runs / "run.json").write_text("2")
    assert book.build(**path).returncode == 0
    assert "record 2" in book.html("answer")


@pytest.fixture
def extension():
    path = ROOT / "book" / "_ext" / "offline_book.py"
    spec = importlib.util.spec_from_file_location("offline_book", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_plotly_loses_its_wrapper_and_keeps_its_license_and_its_name(extension):
    whole = get_plotlyjs()
    bare = extension.unwrapped(whole)
    notice = whole[: whole.index("*/") + 2]
    assert "Licensed under the MIT license" in notice
    assert bare.startswith(f'{notice}\n"use strict";var Plotly=')
    assert bare.rstrip().endswith("window.Plotly = Plotly;")
    assert 0 < len(whole) - len(bare) < 400


def test_plotly_of_an_unknown_make_stays_as_it_is(extension):
    for code in ("var Plotly = {};", '"use strict";var Plotly=1;'):
        assert extension.unwrapped(code) == code


def test_page_with_a_figure_asks_for_mathjax_later(book):
    formula = "\n\n$$ x $$"
    book.add("figure", f"# Figure{formula}", SHOWN)
    book.add("prose", f"# Prose{formula}", "print('text')")
    assert book.build().returncode == 0
    held = re.compile(r'<script type="text/later" src="_static/mathjax/tex-chtml.js[^"]*">')
    plain = re.compile(r'<script defer="defer" src="_static/mathjax/tex-chtml.js[^"]*">')
    for name, has_figure in (("figure", True), ("prose", False)):
        source = book.html(name)
        assert bool(held.search(source)) == has_figure
        assert bool(plain.search(source)) != has_figure
