"""Every page on a phone."""

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError

from tests.book.pages.conftest import PHONE


def test_a_control_and_all_that_it_compares_are_on_one_screen_of_a_phone(phone):
    head = phone.page.locator(".bd-header-article").bounding_box()["height"]
    for root in phone.explorers():
        if controls := root.query_selector(".ln-controls"):
            top = controls.bounding_box()["y"]
            panels = root.query_selector(".ln-panels").bounding_box()
            tall = panels["y"] + panels["height"] - top
            assert tall <= PHONE["height"] - head, root.query_selector(".ln-title").inner_text()


@pytest.mark.every_browser
def test_phone_scrolls_down_and_never_sideways(phone):
    stays_narrow(phone.page, PHONE["width"])
    as_firefox_has_it = phone.page.add_style_tag(content="input[type='range'] { width: 12em }")
    for width in (360, 320, PHONE["width"]):
        phone.page.set_viewport_size({"width": width, "height": PHONE["height"]})
        stays_narrow(phone.page, width)
    as_firefox_has_it.evaluate("e => e.remove()")


def stays_narrow(page, width):
    """Figures follow the window after a while; then the page is no wider than it."""
    wide = "document.documentElement.scrollWidth"
    with suppress(TimeoutError):
        page.wait_for_function(f"width => {wide} <= width", arg=width, timeout=30_000)
    page.evaluate("scrollTo(1000, 0)")
    beyond = page.evaluate(
        "() => [...document.querySelectorAll('body *')].filter("
        "e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5)"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert page.evaluate("scrollX") == 0, beyond
    assert page.evaluate(wide) <= width, beyond
