"""The ways into the book: its first page, its search."""

import pytest


@pytest.mark.every_browser
def test_search_finds_a_page(visit, site):
    with visit(site, "search", "?q=normalization") as v:
        v.page.wait_for_selector("#search-results li a")
        assert (v.outside, v.complaints) == ([], [])


def test_a_link_that_highlights_words_opens_its_page(visit, site):
    with visit(site, "layer_norm_from_scratch", "?highlight=mean") as v:
        v.page.wait_for_selector(".ln-explorer[data-ready='yes']")
        assert (v.outside, v.complaints) == ([], [])


def test_index_leads_to_the_first_page(visit, site):
    with visit(site, "index") as v:
        v.page.wait_for_url("**/introduction.html")
        v.page.wait_for_load_state()
        assert v.page.locator("article h1").first.is_visible()
        assert (v.outside, v.complaints) == ([], [])
