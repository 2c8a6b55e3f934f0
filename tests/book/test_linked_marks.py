"""Words and numbers in sentences are highlighted with the marks of a figure they refer to."""

import re

import pytest

from lnbook.diagrams import residual_streams
from lnbook.diagrams.svg import marked, spoken
from tests.book.conftest import ROOT

SCRIPTS = ("lnbook/widgets/address.js", "_static/page.js")
SCRIPT = "\n".join((ROOT / "book" / name).read_text("utf-8") for name in SCRIPTS)
TABLE = """<div class="ln-norm-table"><table><tr><td><input data-at="x" value="-2"></td>
  <td data-at="y">1.588</td><td data-at="z">−0.5</td></tr></table></div>"""
SENTENCES = """<p><span data-lights='[data-at="x"]' tabindex="0">−2</span> becomes
  <span data-lights='[data-at="y"]' tabindex="0">1.59</span>, not
  <span data-lights='[data-at="y"]' tabindex="0">1.5</span>, and
  <span data-lights="td" tabindex="0">all of it</span> is in the table.</p><p>Elsewhere.</p>"""
STREAM = """<div class="ln-diagram"><p>{text}</p><svg width="99" height="99"><text y="20"
  data-mark="last-std">1.00</text></svg></div>"""
PAGES = {"introduction": 5, "normalization_axes": 6, "pre_norm_post_norm": 4}
LIT = "[...document.querySelectorAll('.ln-lit')].map((part) => part.value ?? part.textContent)"


@pytest.fixture
def page(browse):
    stream = STREAM.format(text=marked("It is [1.00](last-std)."))
    source = f"<!doctype html><meta charset='utf-8'><script>{SCRIPT}</script>"
    opened = browse(source + TABLE + SENTENCES + stream)
    yield opened
    assert opened.complaints == []


def test_numbers_and_their_marks_are_highlighted_together(page):
    number, mark = page.get_by_text("1.59"), page.get_by_text("1.588")
    every = page.get_by_text("all of it")
    number.hover()
    assert page.evaluate(LIT) == ["1.588", "1.59"]
    page.get_by_text("Elsewhere").hover()
    assert page.evaluate(LIT) == []
    mark.hover()
    assert set(page.evaluate(LIT)) >= {"1.588", "1.59", "all of it"}
    every.focus()
    assert page.evaluate(LIT)[1:] == ["1.588", "−0.5", "all of it"]
    page.get_by_text("−2").focus()
    assert page.evaluate(LIT) == ["-2", "−2"]


def test_numbers_without_a_visible_mark_are_not_highlighted_and_say_so(page):
    other = page.locator("span").nth(2)
    other.hover()
    assert page.evaluate(LIT) == []
    assert other.get_attribute("title") == "The figure shows this number with other settings."
    page.get_by_text("1.588").evaluate("mark => { mark.textContent = '1.5' }")
    other.focus()
    assert page.evaluate(LIT) == ["1.5", "1.5"]
    assert not other.get_attribute("title")


def test_numbers_in_a_diagram_refer_to_that_diagram(page):
    page.locator(".ln-diagram [data-lights]").hover()
    assert page.evaluate(LIT) == ["1.00", "1.00"]


def test_marks_of_a_sentence_are_not_read_by_screen_readers():
    assert spoken("std [1.00](last-std), $x_t$") == "std 1.00, x t"
    assert re.sub("<[^>]+>", "", marked("std [1.00](last-std)")) == "std 1.00"


@pytest.fixture(scope="module")
def states():
    """Every state of the residual stream of twelve blocks."""
    from lnbook.chapters.pre_norm_post_norm import figures, residual_stream
    from lnlab import records

    runs = figures.TransformerRuns(records.read_all("transformer"))
    places, starts = residual_streams.PLACEMENTS, residual_stream.INITIALIZATION_NAMES
    return [residual_stream.state(runs, place, start) for place in places for start in starts]


def test_numbers_below_the_residual_stream_equal_those_of_their_marks(states):
    for state in states:
        linked = re.findall(r"\[([\d.e-]+)\]\(([\w-]+)\)", state.description)
        assert len(linked) >= 3 * (state.widths is not None)
        shape = residual_streams._shape(
            residual_streams.WIDE, "pre", state, 12, residual_streams.Gauge("", 2, 3.5, {})
        )
        shown = dict(
            zip(residual_streams.MARKS, (text for *_, text in shape["texts"]), strict=True)
        )
        for number, mark in linked:
            assert shown[mark].split()[-1] == number, (state.description, mark)


@pytest.mark.parametrize(("name", "least"), PAGES.items())
def test_linked_marks_exist_in_the_figure(visit, built_book, name, least):
    with visit(built_book.as_uri(), name) as v:
        v.explorers()
        linked = v.page.locator("article [data-lights][tabindex]")
        counts = linked.evaluate_all(
            "all => all.map((e) => document.querySelectorAll(e.dataset.lights).length)"
        )
        assert len(counts) >= least
        assert 0 not in counts
        linked.first.focus()
        assert v.page.locator(".ln-lit").count() >= 2
        assert v.complaints == []
