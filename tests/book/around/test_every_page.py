"""Features of every page: link previews, folded code, folded sections."""

import re

import pytest

from lnbook.widgets import base


def test_link_previews_have_a_title_a_description_and_an_image(built_book, chapter):
    source = (built_book / f"{chapter}.html").read_text("utf-8")
    results = dict(re.findall(r'<meta property="(og:[a-z:]+)" content="([^"]+)">', source))
    heading = re.search(r"<title>(.+?)(?: &#8212;.*)?</title>", source)[1]
    assert results["og:title"] == heading.strip()
    assert 40 <= len(results["og:description"]) <= 160
    assert f'<meta name="description" content="{results["og:description"]}">' in source
    picture = built_book / results["og:image"]
    assert picture.read_bytes()[1:4] == b"PNG"
    assert picture.stat().st_size < 150_000


def test_a_page_loads_only_the_files_of_its_own_widgets(built_book, chapter):
    source = (built_book / f"{chapter}.html").read_text("utf-8")
    for widget in base.widgets():
        name, has = widget.name, widget.on(source)
        scripts = re.findall(rf'<script([^>]*) src="_static/{name}/{name}\.js\?v=', source)
        assert [("defer" in result) for result in scripts] == [True] * has, name
        looks = [m.start() for m in re.finditer(rf'href="_static/{name}/{name}\.css\?v=', source)]
        assert len(looks) == has, name
        assert all(at > source.index('href="_static/custom.css') for at in looks), name


FOLDED_CODE = """() => [...document.querySelectorAll('details.above-input')].map((fold) =>
    fold.querySelector('.cell_input').checkVisibility({contentVisibilityAuto: true}))"""


@pytest.mark.parametrize("scripts", [True, False])
def test_a_folded_cell_unfolds_in_place(visit, built_book, scripts):
    with visit(built_book.as_uri(), "introduction", java_script_enabled=scripts) as v:
        folds = v.page.locator("details.above-input")
        controls = folds.locator("> summary")
        assert controls.all_inner_texts() == ["Show code: imports", "Show code"]
        controls.last.press("Enter")
        code = folds.last.locator(".cell_input")
        code.wait_for(state="visible")
        assert not folds.first.locator(".cell_input").is_visible()
        assert controls.last.inner_text() == "Hide code"
        controls.last.click()
        code.wait_for(state="hidden")


def test_a_button_unfolds_all_code_also_on_the_next_page(visit, built_book):
    with visit(built_book.as_uri(), "introduction") as v:
        assert set(v.page.evaluate(FOLDED_CODE)) == {False}
        v.page.get_by_role("button", name="Show all code", exact=True).click()
        assert set(v.page.evaluate(FOLDED_CODE)) == {True}
        v.page.goto(f"{built_book.as_uri()}/normalization_axes.html")
        assert set(v.page.evaluate(FOLDED_CODE)) == {True}
        v.page.get_by_role("button", name="Hide all code", exact=True).click()
        v.page.reload()
        assert set(v.page.evaluate(FOLDED_CODE)) == {False}


def test_quiz_exercises_and_notes_are_folded_initially(browser, built_book):
    page = browser.new_page()
    page.goto(f"{built_book.as_uri()}/introduction.html")
    parts = "() => [...document.querySelectorAll('details.ln-part')].map((part) => part.open)"
    assert page.evaluate(parts) == [False, False, False]
    page.locator(".ln-question").first.wait_for(state="hidden")
    page.evaluate("location.hash = '#quiz'")
    page.locator(".ln-question").first.wait_for(state="visible")
    assert page.evaluate(parts) == [True, False, False]
    inside = page.locator(".exercise").last.get_attribute("id")
    page.goto(f"{built_book.as_uri()}/introduction.html#{inside}")
    page.reload()
    page.wait_for_function("() => document.querySelector('.ln-part .exercise').checkVisibility()")
    assert page.evaluate(parts) == [False, True, False]
    page.close()


def test_a_section_of_the_third_level_is_folded_under_its_heading(browser, built_book):
    page = browser.new_page()
    page.goto(f"{built_book.as_uri()}/rms_norm.html")
    topic = page.locator("section:has(> details.ln-topic)").first
    heading, text = topic.locator("summary > h3"), topic.locator("details > p").first
    assert heading.is_visible()
    assert not text.is_visible()
    heading.click()
    assert text.is_visible()
    page.goto(f"{built_book.as_uri()}/rms_norm.html#{topic.get_attribute('id')}")
    page.reload()
    text.wait_for(state="visible")
    page.goto(f"{built_book.as_uri()}/pre_norm_post_norm.html#explorer-4&kind=post-norm")
    page.locator("#explorer-4").wait_for(state="visible")  # it is in a folded section
    page.close()
