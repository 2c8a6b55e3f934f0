"""Printed pages: light theme, answers at the end. See test_looks.py for figures."""

import pytest


@pytest.mark.parametrize("name", ["equations", "about"])
def test_pages_without_figures_are_also_printed_in_the_light_theme(visit, built_book, name):
    theme = "document.documentElement.dataset.theme"
    with visit(built_book.as_uri(), name, color_scheme="dark") as v:
        assert v.page.locator(".ln-explorer").count() == 0
        observed = []
        for event in ("resize", "beforeprint", "afterprint"):
            v.page.evaluate("name => dispatchEvent(new Event(name))", event)
            observed.append(v.page.evaluate(theme))
        assert observed == ["dark", "light", "dark"]


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_answers_are_printed_at_the_end_of_the_chapter(visit, built_book):
    """Hints unfold in place; afterwards the page is unchanged."""
    with visit(built_book.as_uri(), "layer_norm_from_scratch") as v:
        article = v.page.locator("article.bd-article")
        v.explorers()
        v.page.wait_for_selector("mjx-container")
        count = "() => [...document.querySelectorAll('article *')].length"
        before, order = v.page.evaluate(count), article.inner_text()
        v.page.emulate_media(media="print")
        v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        end = article.locator("section:last-of-type > .ln-answers, :scope > section > .ln-answers")
        assert end.count() == 1
        assert (
            v.page.locator("details.above-input, .ln-show-code").filter(visible=True).count() == 0
        )
        assert end.evaluate("e => !e.nextElementSibling")
        assert end.locator("li").count() == v.page.locator(".ln-question").count() > 0
        assert end.locator(".solution").count() == v.page.locator(".exercise").count() > 0
        assert (
            article.locator("[data-correct]").filter(visible=True).count()
            == end.locator("li").count()
        )
        assert v.page.locator(".ln-question [data-correct]").filter(visible=True).count() == 0
        hidden = article.locator("details:not(.above-input, .ln-numbers, .ln-answer)")
        assert all(one.get_attribute("open") is not None for one in hidden.all())
        v.page.evaluate("dispatchEvent(new Event('afterprint'))")
        v.page.emulate_media(media="screen")
        assert (v.page.evaluate(count), article.inner_text()) == (before, order)
