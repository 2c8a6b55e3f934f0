"""All pages on a phone; every other one in `make test`."""

from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError

from tests.book.conftest import PHONE


@pytest.mark.one_in(2)
@pytest.mark.every_browser
def test_pages_do_not_scroll_horizontally_on_a_phone(phone):
    stays_narrow(phone.page, PHONE["width"])
    as_firefox_has_it = phone.page.add_style_tag(content="input[type='range'] { width: 12em }")
    for width in (320, PHONE["width"]):
        phone.page.set_viewport_size({"width": width, "height": PHONE["height"]})
        stays_narrow(phone.page, width)
    as_firefox_has_it.evaluate("e => e.remove()")


def stays_narrow(page, width):
    """Wait until figures have adapted to the window, and check the width of the page."""
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


# Controls smaller than 32 pixels, with their label. Objects in a picture keep their own size.
SMALL = """() => [...document.querySelectorAll(
  "article :is(button:not(.ln-caption-ranking-object), summary, select, textarea), " +
  "article :is(input, .ln-grip)")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true })).flatMap((e) => {
    const boxes = [e, ...(e.type === "range" ? [] : e.labels ?? [])];
    const sides = boxes.map((box) => box.getBoundingClientRect());
    const [wide, high] = ["width", "height"].map((s) => Math.max(...sides.map((r) => r[s])));
    return wide && Math.min(wide, high) < 31.5
      ? [`${e.className || e.parentElement.className} ${e.localName}: ${wide} x ${high}`] : [];
  })"""


@pytest.mark.one_in(2)
def test_every_control_is_large_enough_to_touch(phone):
    assert sorted(set(phone.page.evaluate(SMALL))) == []
