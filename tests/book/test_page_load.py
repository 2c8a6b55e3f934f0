"""Files that a page loads: small, without duplicates, nothing that blocks, no inline scripts."""

import gzip
import sys
from html.parser import HTMLParser

import pytest
from plotly.offline import get_plotlyjs

from lnbook.renamed import NEW_NAMES
from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import plotly_bundle

sys.path.pop(0)
LATER = ("mathjax/tex", "plotly/", "states/", "search/sections")  # files that are loaded on demand
MATHJAX_SETTINGS = "_static/mathjax/settings.js"
KILOBYTES = 260  # compressed: 1.3 s at 1.6 Mbit/s
# Megabytes by which the full plotly.js exceeds the bundle.
ALL_OF_PLOTLY = 3.4 if plotly_bundle.read() == get_plotlyjs() else 0
LARGEST = {  # megabytes, by part of the built book
    "_static/mathjax": 1.9,
    "_static/plotly": 1.6 + ALL_OF_PLOTLY,
    "_static/caption_ranking": 3.1,
    "_static/activation_maps": 2.3,
    "_static/draw": 0.7,
    "_static/states": 1.0,
    "_static/styles": 0.5,
    "_static/scripts": 0.2,
    "_static/search": 1.24,
    "_static/vendor": 0.05,
    "_static": 13.0 + ALL_OF_PLOTLY,
    "_downloads": 3.0,  # the library's wheel, and all chapters with it
    "": 23.4 + ALL_OF_PLOTLY,
}


class Tags(HTMLParser):
    """The tags of a page with their attributes and, for scripts, their content."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inline = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.lasttag == "script" and data.strip():
            self.inline.append((self.elements[-1][1], data))


def tags(path):
    return Tags(path.read_text("utf-8"))


def test_figures_only_use_trace_types_of_the_bundle(payloads, chapter):
    states = [state for explorer in payloads(chapter) for state in explorer]
    traces = [trace for state in states for panel in state["panels"] for trace in panel["data"]]
    assert {trace["type"] for trace in traces} <= plotly_bundle.TRACES


@pytest.fixture(scope="module")
def every_page(built_book):
    moved = set(NEW_NAMES)  # these addresses are redirects
    return {path.stem: tags(path) for path in built_book.glob("*.html") if path.stem not in moved}


def test_pages_have_no_inline_scripts_and_styles(every_page):
    for name, page in every_page.items():
        code = [text for attributes, text in page.inline if attributes.get("type") is None]
        assert code == [], name
        assert [tag for tag, _ in page.elements if tag == "style"] == [], name
        handlers = [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
        assert handlers == [], name


def test_only_the_theme_script_blocks_rendering(every_page):
    for name, page in every_page.items():
        scripts = [attributes for tag, attributes in page.elements if tag == "script"]
        scripts = [one for one in scripts if "src" in one and "type" not in one]
        waiting = [one["src"] for one in scripts if not {"defer", "async"} & set(one)]
        assert waiting[:1] == ["_static/first/first.js"] * bool(scripts), name
        # A setting that must precede MathJax, which is loaded asynchronously.
        assert all(source.startswith(MATHJAX_SETTINGS) for source in waiting[1:]), name
        loaded = [one["src"] for one in scripts]
        assert len(loaded) == len(set(loaded)), name
        assert any("_static/search/" in source for source in loaded) == (name == "search"), name


@pytest.mark.parametrize("comes", [True, False])
def test_formulas_are_hidden_until_typeset_and_readable_without_mathjax(visit, built_book, comes):
    def without(page):
        page.route("**/mathjax/tex-chtml.js*", lambda r: r.continue_() if comes else r.abort())

    with visit(built_book.as_uri(), "glossary", before=without) as v:
        formula = v.page.locator(".bd-article span.math").first
        if comes:
            formula.locator("mjx-container").wait_for()
        else:
            style = "e => { const s = getComputedStyle(e); return [s.visibility, s.fontSize]; }"
            visible, size = formula.evaluate(style)
            assert visible == "hidden"
            formula.evaluate("e => e.getAnimations().forEach((a) => a.finish())")
            visible, full = formula.evaluate(style)
            assert visible == "visible"
            assert float(size[:-2]) < float(full[:-2]) / 2
        assert formula.is_visible()


def asked_at_once(path, page):
    """The files that a browser loads with a page, except those that are loaded on demand."""
    yield path
    for tag, attributes in page.elements:
        source = attributes.get("src" if tag == "script" else "href", "").partition("?")[0]
        sheet = tag == "link" and attributes.get("rel") in ("stylesheet", "preload")
        if (sheet or tag == "script") and source and not any(late in source for late in LATER):
            yield path.parent / source


def test_initial_files_of_a_page_are_small_and_exist(built_book, every_page):
    for name, page in every_page.items():
        files = list(asked_at_once(built_book / f"{name}.html", page))
        size = sum(len(gzip.compress(file.read_bytes())) for file in files) / 1000
        # Includes the weights of the transformer.
        assert size < KILOBYTES + 100 * (name == "transformer_ablation"), name


def test_the_built_book_is_small(built_book):
    for part, limit in LARGEST.items():
        files = [path for path in (built_book / part).rglob("*") if path.is_file()]
        assert 0 < sum(path.stat().st_size for path in files) / 1e6 < limit, part
