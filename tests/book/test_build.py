"""The build fails for errors that would affect readers; each is planted in a small book."""

import importlib
from types import SimpleNamespace

import pytest

from lnbook import explorer
from tests.book.conftest import ROOT, Book


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


SHOWN = (
    "import plotly.graph_objects as go\nfrom lnbook.show import Explorer\n"
    "Explorer(lambda: go.Figure(go.Bar(y=[1, 2])), title='Bars', describe=lambda: 'Two bars.')"
)


PICTURE = "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A valid book, built once; the output of the build is its ``said``."""
    book = Book(tmp_path_factory.mktemp("sound"))
    text = "# Sound\n\n![The logo](_static/logo.svg)"
    metadata = {"mystnb": {"image": {"alt": "An empty picture"}}}
    book.add("sound", text, SHOWN, "print('text')", PICTURE, metadata=metadata)
    done = book.build()
    assert done.returncode == 0, done.stdout
    book.said = done.stdout
    return book


def test_a_valid_book_builds_without_warnings_and_quickly_again(sound):
    assert "WARNING" not in sound.said.replace("[IPKernelApp] WARNING", "")
    assert 'class="ln-explorer"' in sound.html("sound")
    for text in ("An empty picture", "The logo"):
        assert f'alt="{text}"' in sound.html("sound")
    static = sound.folder / "_build" / "html" / "_static"
    assert (static / "plotly" / "plotly.min.js").exists()
    script = static / "explorer" / "explorer.js"
    assert script.read_text("utf-8") == explorer.WEB.book()
    assert '"_static/explorer/explorer.js?v=' in sound.html("sound")
    script.write_text("// as it was before an edit", "utf-8")
    again = sound.build()
    assert again.returncode == 0
    assert "Executing" not in again.stdout
    assert script.read_text("utf-8") == explorer.WEB.book()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise RuntimeError('planted')", "RuntimeError: planted"),
        (SHOWN.replace("go.Figure(go.Bar(y=[1, 2]))", "'no'"), "must return a plotly figure"),
    ],
)
def test_error_in_a_cell_or_in_its_display_fails_the_build(book, source, message):
    book.add("broken", "# Broken", source)
    done = book.build()
    assert done.returncode != 0
    assert message in done.stdout


# A page: its text, its cells for one kernel, and the message for each fault.
FAULTS = {
    "outputs": (
        "Text.",
        [
            "import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1]))",
            "import warnings\nwarnings.warn('planted')",
            "import ipywidgets\nipywidgets.IntSlider()",
            PICTURE,
        ],
        [
            "skipping unknown output mime type: application/vnd.plotly.v1+json",
            "stderr was found in the cell outputs of cell 3",
            "a Jupyter widget does not work in the built book",
            "has no alt text",
        ],
    ),
    "silent_image": ("![](_static/logo.svg)", [], ["has no alt text"]),
    "unknown_citation": ("{cite:t}`Nobody1900`", [], ['could not find bibtex key "Nobody1900"']),
    "unknown_chapter": (
        "This takes {minutes}`nowhere`.",
        [],
        ["minutes must name a chapter as _toc.yml does, got 'nowhere'"],
    ),
    "unknown_place": (
        "See eq. 99.\n\nSee section 9.9, and eq. 3.",
        [],
        [
            "'eq. 99': the page of the paper has no anchor (paper-eq-99)=",
            "'section 9.9': the page of the paper has no anchor (paper-section-9-9)=",
        ],
    ),
}


def test_every_planted_fault_fails_the_build_twice_with_a_message(book):
    book.add("equations", "# Paper\n\n(paper-eq-3)=\nPlace.")
    for name, (text, code, _) in FAULTS.items():
        book.add(name, f"# Page\n\n{text}", *code)
    for _ in range(2):  # a second build must not treat the failed one as done
        done = book.build()
        assert done.returncode != 0
        warnings = [
            line for line in done.stdout.splitlines() if "WARNING" in line or "ERROR" in line
        ]
        for name, (_, _, messages) in FAULTS.items():
            for message in messages:
                named = any(name in line and message in line for line in warnings)
                assert named, (name, message, warnings)
        for sound in ("introduction.ipynb", "equations.ipynb", "(paper-eq-3)="):
            assert not any(sound in line for line in warnings)


@pytest.fixture
def load(monkeypatch):
    """Import an extension of the book by its name."""
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    return importlib.import_module


def test_changed_records_invalidate_the_cache_like_a_changed_library(load, tmp_path, monkeypatch):
    """Both change the name of the cache, so that notebooks run again."""
    extension = load("execution_cache")
    monkeypatch.setenv("LNLIB_STATIC", "")  # restored afterwards
    app = SimpleNamespace(srcdir=tmp_path, outdir=tmp_path / "_build" / "html")
    record = tmp_path / "runs" / "mnist" / "run.json"
    record.parent.mkdir(parents=True)

    def cache():
        config = SimpleNamespace()
        extension.configure_execution(app, config)
        return config.nb_execution_cache_path

    names = []
    for content in ("1", "2", "1"):
        record.write_text(content)
        names.append(cache())
    assert names[0] == names[2] != names[1]
    monkeypatch.setattr(extension, "package_folder", lambda name: tmp_path / name)
    for name in ("lnlib", "lnlab", "lnbook"):
        names.append(cache())
        code = tmp_path / name / "deep" / "code.py"
        code.parent.mkdir(parents=True)
        code.write_text("ANSWER = 42")
        assert cache() not in names
        names.append(cache())
        code.with_name("models.json").write_text("42")  # data that a chapter shows
        assert cache() not in names
