"""Pages without JavaScript, plotly.js, a recent browser, or storage."""

import pytest

from tests.book.pages.conftest import index


@pytest.mark.one_in(4)
def test_pages_are_readable_without_javascript(visit, built_book, payloads, chapter):
    with visit(built_book.as_uri(), chapter, java_script_enabled=False) as v:
        assert v.page.locator("article h1").first.is_visible()
        for fold in v.page.locator("details.ln-part > summary").all():
            fold.click()
        roots = v.page.locator(".ln-explorer").all()
        for root, states in zip(roots, payloads(chapter), strict=True):
            sentence = root.locator(".ln-text")
            assert sentence.is_visible()
            assert sentence.inner_text() in [state["text"] for state in states]
            assert root.locator("noscript").is_visible()
            for panel in root.locator(".ln-panel").all():
                assert panel.locator(".ln-still div > svg").bounding_box()["width"] > 100
                assert panel.locator(".ln-still div > svg > :not(.ln-grid)").count()
        for width in (390, 320):  # a phone first shows the static figure
            v.page.set_viewport_size({"width": width, "height": 844})
            assert v.page.evaluate("document.documentElement.scrollWidth") <= width
        assert v.outside == []


def make_old(page):
    page.add_init_script("delete window.DecompressionStream")


def lose_plotly(page):
    page.route("**/plotly.min.js", lambda route: route.abort())


@pytest.mark.parametrize(
    ("before", "reason"),
    [(make_old, "this browser is too old"), (lose_plotly, "plotly.min.js is missing")],
)
def test_a_figure_that_cannot_be_drawn_says_why(visit, http, explored, payloads, before, reason):
    with visit(http, explored, before=before) as v:
        root = v.explorers()[0]
        text = root.query_selector(".ln-text").inner_text()
        assert root.get_attribute("data-ready") == "failed"
        assert text.startswith(payloads(explored)[0][index(root)]["text"])
        assert reason in text
        assert not root.query_selector(".ln-controls").is_visible()
        assert all(one.is_visible() for one in root.query_selector_all(".ln-still"))
        assert root.query_selector(".ln-still svg")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "state",
    [
        "localStorage.mode = '<img>'; localStorage.theme = '__proto__';"
        "localStorage.pst_banner_pref = '{'; sessionStorage['sidebar-scroll-top'] = 'x'",
        "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty("
        "window, name, { get() { throw new DOMException('no') } })",
    ],
    ids=["nonsense", "forbidden"],
)
def test_pages_work_with_invalid_stored_settings(visit, built_book, explored, state):
    with visit(
        built_book.as_uri(),
        explored,
        before=lambda page: page.add_init_script(state),
        color_scheme="dark",
    ) as v:
        v.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        assert {e.get_attribute("data-ready") for e in v.explorers()} == {"yes"}
        assert v.page.locator(".ln-quiz[data-ready]").count() == 1
        v.page.wait_for_selector("mjx-container", state="attached")
