"""Appearance of all pages: formulas, code, images, colors, accessibility."""

import pytest

from lnbook.figures.colors import COLORS, DARK
from tests.book.pages.conftest import INK

SIZE_LIMIT = 150_000  # bytes of HTML per page
# All measures of all claims; two tables of recorded runs; an answer for every network.
LARGER = {
    "claims": 265_000, "teaching": 160_000, "pre_norm_post_norm": 173_500, "which_norm": 151_500,
}  # fmt: skip


def test_formulas_are_typeset(opened):
    page = opened.page
    if not page.query_selector(".math"):
        pytest.skip("no formula on this page")
    wrong = "mjx-merror, [data-mjx-error], mjx-container [style*='color: red']"  # unknown macro
    assert [e.text_content() for e in page.query_selector_all(wrong)] == []
    assert len(page.query_selector_all("mjx-container")) >= len(page.query_selector_all(".math"))
    prose = page.evaluate(
        "() => { const a = document.querySelector('article').cloneNode(true);"
        "a.querySelectorAll('pre, code, script, mjx-container').forEach(e => e.remove());"
        "return a.textContent }"
    )
    assert not [sign for sign in ("$", r"\(", r"\[", r"\begin") if sign in prose]


def test_scrollable_formulas_can_be_focused(visit, built_book):
    scrolls = (
        "() => [...document.querySelectorAll('div.math, div.math mjx-container')]"
        ".filter(e => e.scrollWidth > e.clientWidth).map(e => e.tabIndex)"
    )
    with visit(built_book.as_uri(), "equations") as v:
        v.page.wait_for_selector("div.math mjx-container")
        assert v.page.evaluate(scrolls) == []
        assert not v.page.query_selector("div.math[tabindex], div.math [tabindex]")
        v.page.add_style_tag(content="div.math { width: 120px }")
        v.page.wait_for_selector("div.math [tabindex='0']")
        assert set(v.page.evaluate(scrolls)) == {0}


def test_images_and_figures_have_alt_texts(opened):
    silent = opened.page.evaluate(
        "() => [...document.querySelectorAll('article img, article [role=img], article svg')]"
        ".filter(e => !e.closest('[aria-hidden=true], [role=img] *, button, summary'))"
        ".filter(e => !(e.alt || e.ariaLabel || '').trim()).map(e => e.outerHTML.slice(0, 200))"
    )
    assert silent == []


def test_every_page_is_small(built_book, chapter):
    assert (built_book / f"{chapter}.html").stat().st_size < LARGER.get(chapter, SIZE_LIMIT)


SHIFT = 0.05  # half of the limit that search engines consider good


@pytest.mark.not_in("firefox", "webkit", reason="it does not measure what moves")
def test_layouts_are_stable_while_a_page_is_drawn_and_scrolled(opened):
    assert opened.shift < SHIFT


@pytest.mark.one_in(2)
@pytest.mark.not_in("firefox", "webkit", reason="it does not measure what moves")
def test_layouts_are_stable_on_a_phone(phone):
    assert phone.shift < SHIFT


@pytest.fixture(scope="session")
def seen():
    """Styles of text that axe has checked on earlier pages."""
    return set()


def test_axe_finds_no_violations(opened, violations, seen):
    opened.explorers()
    assert violations(opened.page, seen=seen) == []


LINES = """e => [...e.querySelectorAll('.js-line, .js-fill, .annotation-text')].map((part) =>
  getComputedStyle(part)[part.matches('.js-line') ? 'stroke' : 'fill'])"""


def color_names(root, theme):
    """What the colors of lines, bands and labels of a figure mean in a theme."""
    named = {f"rgb({', '.join(str(n) for n in bytes.fromhex(color[1:]))})": name
             for name, color in {"light": COLORS, "dark": DARK}[theme].items()}  # fmt: skip
    return [named.get(color) for color in root.evaluate(LINES)]


@pytest.mark.one_in(3)
def test_figures_follow_the_theme_and_are_accessible_in_dark_mode(opened, violations, seen):
    page, roots = opened.page, opened.explorers()
    light = [root.evaluate(INK) for root in roots]
    names = [color_names(root, "light") for root in roots]
    for theme, differs in (("dark", "!=="), ("light", "===")):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        for root, before in zip(roots, light, strict=True):
            page.wait_for_function(f"([e, b]) => ({INK})(e) {differs} b", arg=[root, before])
        assert [color_names(root, theme) for root in roots] == names
        if theme == "dark":
            page.wait_for_timeout(200)  # the theme fades in
            assert violations(page, colors=True, seen=seen) == []


def test_lines_have_the_colors_of_their_norms(visit, built_book):
    with visit(built_book.as_uri(), "why_layer_norm_helps") as v:
        assert {"layer", "none"} < {name for e in v.explorers() for name in color_names(e, "light")}


@pytest.mark.slow
def test_axe_finds_no_violations_on_a_phone(phone, violations):
    assert violations(phone.page, colors=False) == []


PLANTED = """<!doctype html><html lang="en"><title>t</title><main><h1>h</h1><img src="data:,">
<button aria-label="Go">Stop</button><p>dark</p><p style="color: #999">pale</p>
<div style="background: #222"><p>dark, too</p></div><p>one <a style="color: #222" href="#x">link</a>
</p><p style="opacity: 0.3">faint</p><p style="color: #999; display: none">unseen</p></main>"""


def test_axe_finds_planted_violations(browser, violations):
    page = browser.new_page()
    page.set_content(PLANTED)
    wrong = dict(violations(page))
    assert set(wrong) == {"image-alt", "label-content-name-mismatch", "color-contrast"}
    assert wrong["image-alt"] == ['<img src="data:,">']
    every = violations(page, colors=True)
    ((rule, pale),) = every
    assert (rule, len(pale)) == ("color-contrast", 3)
    page.close()


@pytest.mark.not_in("firefox", reason="its driver cannot turn the theme of an open page, or print")
def test_figures_follow_the_system_theme_print_and_the_theme_button(visit, built_book, explored):
    theme = "document.documentElement.dataset.theme"
    with visit(built_book.as_uri(), explored, color_scheme="light") as v:
        page, root = v.page, v.explorers()[0]
        light = root.evaluate(INK)

        def until(differs):
            page.wait_for_function(f"([e, b]) => ({INK})(e) {differs} b", arg=[root, light])

        page.emulate_media(color_scheme="dark")
        until("!==")
        page.emulate_media(media="print")
        dark = root.evaluate(INK)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert root.evaluate(INK) != dark
        assert root.query_selector(".ln-panels").is_visible()
        assert not root.query_selector(".ln-controls").is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(theme) == "dark"
        page.emulate_media(media="screen", color_scheme="light")
        until("===")
        button = page.locator(".theme-switch-button").first
        while page.evaluate(theme) != "dark":
            button.click()
        until("!==")
