"""Words and numbers in sentences are highlighted with the marks of a figure they refer to."""

import pytest

from tests.book.conftest import ROOT

SCRIPTS = ("lnbook/widgets/address.js", "_static/page.js")
SCRIPT = "\n".join((ROOT / "book" / name).read_text("utf-8") for name in SCRIPTS)
TABLE = """<div class="ln-norm-table"><table><tr><td><input data-at="x" value="-2"></td>
  <td data-at="y">1.588</td><td data-at="z">−0.5</td></tr></table></div>"""
SENTENCES = """<p><span data-lights='[data-at="x"]' tabindex="0">−2</span> becomes
  <span data-lights='[data-at="y"]' tabindex="0">1.59</span>, not
  <span data-lights='[data-at="y"]' tabindex="0">1.5</span>, and
  <span data-lights="td" tabindex="0">all of it</span> is in the table.</p><p>Elsewhere.</p>"""
PAGES = {"introduction": 5, "normalization_axes": 6, "pre_norm_post_norm": 4}
LIT = "[...document.querySelectorAll('.ln-lit')].map((part) => part.value ?? part.textContent)"


@pytest.fixture
def page(browse):
    source = f"<!doctype html><meta charset='utf-8'><script>{SCRIPT}</script>"
    opened = browse(source + TABLE + SENTENCES)
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
