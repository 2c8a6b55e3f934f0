"""What every page has: a card when its link is shared, "Show code", a printed form."""

import re

import pytest


def test_a_shared_link_has_a_title_a_description_and_a_picture(built_book, chapter):
    source = (built_book / f"{chapter}.html").read_text("utf-8")
    results = dict(re.findall(r'<meta property="(og:[a-z:]+)" content="([^"]+)">', source))
    heading = re.search(r"<title>(.+?)(?: &#8212;.*)?</title>", source)[1]
    assert results["og:title"] == heading.strip()
    assert 40 <= len(results["og:description"]) <= 160
    assert f'<meta name="description" content="{results["og:description"]}">' in source
    picture = built_book / results["og:image"]
    assert picture.read_bytes()[1:4] == b"PNG"
    assert picture.stat().st_size < 150_000


WIDGETS = {
    "explorer": "ln-explorer",
    "norm_table": "ln-norm-table",
    "quiz": "ln-quiz",
    "playground": "ln-playground",
    "sphere": "ln-sphere",
    "transformer": "ln-transformer",
    "caption_ranking": "ln-caption-ranking",
    "draw": "ln-draw",
    "activation_maps": "ln-activation-maps",
    "sentence_neighbors": "ln-sentence-neighbors",
    "handwriting": "ln-handwriting",
    "attention": "ln-attention",
    "diagrams": "ln-diagram",
}


def test_a_page_loads_what_its_own_widgets_need_and_no_other(built_book, chapter):
    source = (built_book / f"{chapter}.html").read_text("utf-8")
    for name, element in WIDGETS.items():
        has = bool(re.search(f'class="{element}[ "]', source))
        scripts = re.findall(rf'<script([^>]*) src="_static/{name}/{name}\.js\?v=', source)
        assert [("defer" in result) for result in scripts] == [True] * has, name
        looks = [m.start() for m in re.finditer(rf'href="_static/{name}/{name}\.css\?v=', source)]
        assert len(looks) == has, name
        assert all(at > source.index('href="_static/custom.css') for at in looks), name


def test_code_is_out_of_sight_until_it_is_asked_for_and_stays_so_on_the_next_page(
    visit, built_book
):
    visibility_script = (
        "() => [...document.querySelectorAll('details.above-input')]"
        ".map(e => [e.checkVisibility(), e.open])"
    )
    with visit(built_book.as_uri(), "introduction") as v:
        button = v.page.get_by_role("button", name="Show code", exact=True)
        folded = v.page.evaluate(visibility_script)
        assert folded
        assert all(one == [False, False] for one in folded)
        button.click()
        assert all(one == [True, True] for one in v.page.evaluate(visibility_script))
        v.page.goto(f"{built_book.as_uri()}/normalization_axes.html")
        assert all(one == [True, True] for one in v.page.evaluate(visibility_script))
        v.page.get_by_role("button", name="Hide code", exact=True).click()
        v.page.reload()
        assert all(one == [False, False] for one in v.page.evaluate(visibility_script))
    with visit(built_book.as_uri(), "introduction", java_script_enabled=False) as v:
        bars = v.page.locator("details.above-input > summary")
        assert bars.first.is_visible()
        assert not v.page.locator(".ln-show-code").first.is_visible()


def test_quiz_and_exercises_are_folded_until_they_are_asked_for(browser, built_book):
    page = browser.new_page()
    page.goto(f"{built_book.as_uri()}/introduction.html")
    parts = "() => [...document.querySelectorAll('details.ln-part')].map((part) => part.open)"
    assert page.evaluate(parts) == [False, False]
    labels = page.locator("details.ln-part > summary").all_inner_texts()
    assert labels == [f"{page.locator('.ln-question').count()} questions",
                      f"{page.locator('.exercise').count()} exercises"]  # fmt: skip
    page.locator(".ln-question").first.wait_for(state="hidden")
    page.evaluate("location.hash = '#quiz'")
    page.locator(".ln-question").first.wait_for(state="visible")
    assert page.evaluate(parts) == [True, False]
    inside = page.locator(".exercise").last.get_attribute("id")
    page.goto(f"{built_book.as_uri()}/introduction.html#{inside}")
    page.reload()
    page.wait_for_function("() => document.querySelector('.ln-part .exercise').checkVisibility()")
    assert page.evaluate(parts) == [False, True]
    page.close()


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_paper_has_hints_and_solutions_open_and_no_bars_of_source(visit, built_book):
    shown = (
        "sel => [...document.querySelectorAll(sel)].map("
        "e => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }))"
    )
    with visit(built_book.as_uri(), "introduction") as v:
        assert not any(
            v.page.evaluate(
                shown, ".exercise details p, article .solution p:not(.admonition-title)"
            )
        )
        v.page.emulate_media(media="print")
        v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        hints = v.page.evaluate(shown, ".exercise details p")
        assert hints
        assert all(hints)
        assert all(v.page.evaluate(shown, "article .solution p"))
        assert not any(v.page.evaluate(shown, "details.above-input, .ln-show-code"))
        v.page.evaluate("dispatchEvent(new Event('afterprint'))")
        v.page.emulate_media(media="screen")
        assert not any(v.page.evaluate(shown, "article .solution p:not(.admonition-title)"))
