"""All widgets: files of their folder, in the built book and in notebooks."""

import html
import json
import re
import sys

import pytest

from lnbook.show import DrawReplay, NormTable, Quiz, choose
from lnbook.widgets import base
from lnbook.widgets.playground import Playground
from lnbook.widgets.replay.caption_ranking import CaptionRanking
from lnbook.widgets.sphere import Sphere, cloud
from lnbook.widgets.transformer import TransformerWidget

WIDGETS = {widget.name: widget for widget in base.widgets()}


@pytest.mark.parametrize("name", WIDGETS)
def test_widgets_include_all_scripts_and_styles_of_their_folder(name, tmp_path):
    web = WIDGETS[name]
    scripts = {path.name for path in web.folder.glob("*.js")} - {"book.js"}
    assert {script for script in web.scripts if "/" not in script} == scripts
    web.write(tmp_path)
    code = (tmp_path / name / f"{name}.js").read_text("utf-8")
    places = [code.index((web.folder / script).read_text("utf-8")) for script in web.scripts]
    assert places == sorted(places)
    if (start := web.folder / "book.js").exists():
        assert code.endswith(start.read_text("utf-8"))
    written = {path.name for path in (tmp_path / name).iterdir()}
    assert written == {f"{name}.js", f"{name}.css", *web.data}


MADE = {
    "caption_ranking": CaptionRanking,
    "draw": DrawReplay,
    "norm_table": lambda: NormTable([[1.0, 2.0]], title="Type here"),
    "playground": Playground,
    "quiz": lambda: Quiz(choose("Which?", {"a": "No.", "b": "Yes."}, answer="b")),
    "sphere": Sphere,
    "transformer": TransformerWidget,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_the_book_gets_html_and_a_notebook_a_widget(make, monkeypatch):
    monkeypatch.setenv("LNLIB_STATIC", "1")
    book = make()._repr_mimebundle_()
    assert set(book) == {"text/plain", "text/html"}
    monkeypatch.delenv("LNLIB_STATIC")
    notebook = make()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in notebook
    assert book["text/plain"] == notebook["text/plain"] == repr(make())
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bare = make()._repr_mimebundle_()
    assert set(bare) == {"text/plain"}
    assert "pip install ipywidgets" in bare["text/plain"]


OPTIONS = [
    (CaptionRanking(), {"picture": 68, "point": 8}),
    (Playground(small=True, depth=12, a="batch"),
     {"small": True, "settings": {"depth": 12, "a": "batch"}}),
    (Sphere(gradient=True), {"cloud": cloud(), "settings": {"gradient": True}}),
    (TransformerWidget("a <b>\n“c”", norms="lrfol"),
     {"settings": {"text": "a <b>\n“c”", "norms": "lrfol"}}),
]  # fmt: skip


@pytest.mark.parametrize(("shown", "options"), OPTIONS, ids=lambda part: type(part).__name__)
def test_pages_get_an_element_with_options_and_notebooks_the_same_files(shown, options):
    page = shown.to_html()
    assert json.loads(html.unescape(re.search(r'data-options="([^"]*)"', page)[1])) == options
    assert "JavaScript" in page
    (widget,) = shown.widget().children
    assert [web.on(page) for web in WIDGETS.values() if web.source() in widget._esm] == [True]
