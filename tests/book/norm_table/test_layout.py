"""The norm table with the keyboard, in both themes, on all media, and without scripts."""

import numpy as np
import pytest

from lnbook.show import NormTable
from lnbook.widgets.norm_table import WEB
from lnlib import norms
from tests.book.conftest import DESK, PHONE
from tests.book.norm_table.conftest import (
    TABLE,
    TEST_TIME,
    Reader,
    norm_table,
    open_table,
    shown_is,
    write,
)
from tests.cases.themed_page import themed
from tools.browser import browser_name

ACTIVE = """(() => { const e = document.activeElement;
  return e.dataset.at ?? e.dataset.do ?? e.tagName; })()"""


@pytest.mark.every_browser
def test_keys_move_between_cells_as_in_a_spreadsheet_and_within_a_text(reader):
    reader.cell("x", 0, 0).focus()
    moves = [
        ("ArrowDown", "x 1 0"), ("Enter", "x 2 0"), ("Shift+Enter", "x 1 0"), ("ArrowUp", "x 0 0"),
        ("ArrowUp", "x 0 0"), ("ArrowRight", "x 0 1"), ("ArrowLeft", "x 0 0"),
        ("ArrowLeft", "x 0 0"), ("ArrowDown", "x 1 0"), ("ArrowDown", "x 2 0"),
        ("ArrowDown", "x 3 0"), ("ArrowDown", "gain 0 0"), ("ArrowDown", "bias 0 0"),
        ("ArrowDown", "bias 0 0"), ("ArrowUp", "gain 0 0"), ("ArrowUp", "x 3 0"),
    ]  # fmt: skip
    for key, where in moves:
        reader.page.keyboard.press(key)
        assert reader.page.evaluate(ACTIVE) == where, key
    reader.cell("y", 3, 5).click()
    reader.page.keyboard.press("ArrowUp")
    assert reader.page.evaluate(ACTIVE) == "y 2 5"
    assert reader.state().cell == (2, 5)
    reader.type("x", 0, 1, "12")
    reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.type("0")
    assert reader.texts()[0][1] == "102"
    reader.page.keyboard.press("End")
    reader.page.keyboard.press("ArrowRight")
    assert reader.page.evaluate(ACTIVE) == "x 0 2"


def test_the_tab_key_visits_every_control_in_the_order_of_the_page(reader):
    reader.page.locator("h1").click()
    stops = []
    while not stops or stops[-1] != "SUMMARY":
        reader.page.keyboard.press("Tab")
        stops.append(reader.page.evaluate(ACTIVE))
        assert len(stops) < 60, stops
    cells = [f"x {i} {j}" for i, j in np.ndindex(4, 6)]
    affine = [f"{which} 0 {j}" for which in ("gain", "bias") for j in range(6)]
    steps = ["less example", "more example", "less feature", "more feature", "new", "start"]
    assert stops == ["SELECT", "SELECT", *steps, *cells, *affine, "SUMMARY"]


def test_a_title_cannot_end_the_script_of_the_page(browse):
    title = "</script><b>x</b> & <!--"
    reader = Reader(open_table(browse, norm_table(title=title)))
    assert reader.root.locator(".norm-table-title").text_content() == title
    assert reader.root.get_attribute("aria-label") == title


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browse, violations, theme):
    """Of a start, of groups with a wrong cell, of a large batch."""
    page = open_table(browse, norm_table(), theme=theme)
    reader = Reader(page)
    for view in (DESK, PHONE):
        page.set_viewport_size(view)
        assert violations(page) == []
    reader.choose("norm", "group norm")
    reader.type("x", 1, 1, "abc")
    reader.root.locator("summary").click()
    assert violations(page) == []
    reader.choose("norm", "batch norm")
    reader.paste(write(np.arange(128.0).reshape(16, 8) ** 2 % 83))
    reader.cell("x", 3, 7).focus()
    assert violations(page) == []
    assert page.complaints == []


def test_a_phone_shows_six_features_and_scrolls_wider_tables(browse):
    page = open_table(browse, viewport=PHONE)
    reader = Reader(page)
    room = (
        "r => [...r.querySelectorAll('.norm-table-scroll')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(reader.root.evaluate(room)) <= (browser_name(page) == "firefox")  # rounding
    sizes = reader.root.evaluate(
        "r => [...r.querySelectorAll('input, select, textarea')].map(e => "
        "parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 16  # smaller, and iOS zooms in
    reader.press("more feature", 2)
    reader.type("x", 0, 0, "-123456.789")
    assert min(reader.root.evaluate(room)) > 1
    assert page.evaluate("(r => r.scrollWidth - r.clientWidth)(document.documentElement)") == 0


def test_a_field_is_as_wide_as_its_number(browse):
    short = "r => [...r.querySelectorAll('input')].map(e => e.scrollWidth - e.clientWidth)"
    for view in (DESK, PHONE):
        reader = Reader(open_table(browse, viewport=view))
        for text in ("-99.99", "12345.678", "-1.25e-10", "1234567890"):
            reader.type("x", 0, 0, text)
            assert max(reader.root.evaluate(short)) <= 0, text


TOPS = """kind => [...document.querySelectorAll(`.norm-table-${kind} tbody tr`)]
  .filter((e) => e.offsetParent).map((e) => e.getBoundingClientRect().top)"""


def test_input_and_output_are_side_by_side_on_a_desktop(shared):
    x, y = (shared.locator(f".norm-table-{kind} tbody").bounding_box() for kind in "xy")
    assert x["x"] + x["width"] <= y["x"]
    # An example is one line through both.
    assert shared.evaluate(TOPS, "x") == pytest.approx(shared.evaluate(TOPS, "y"), abs=1)


def test_without_javascript_there_are_tables_to_read(browse):
    page = browse(themed(WEB, norm_table()), java_script_enabled=False)
    rows = page.locator("noscript .ln-table").nth(1).locator("tbody tr").all()
    for row, numbers in zip(rows, norms.layer_norm(TABLE), strict=True):
        texts = row.locator("td").all_text_contents()
        assert all(shown_is(t, v) for t, v in zip(texts, numbers, strict=True))
    assert page.locator("noscript").is_visible()


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_room_of_the_table_is_kept_until_it_is_drawn(browse, viewport):
    table = norm_table(title="Which outputs change when one number changes?")  # as in the book
    page = browse(themed(WEB, table, script=False), viewport=viewport)
    height = page.locator(".ln-norm-table").bounding_box()["height"]
    page = open_table(browse, table, viewport=viewport)
    drawn = page.locator(".ln-norm-table").bounding_box()["height"]
    assert drawn == pytest.approx(height, abs=1)


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_printed_pages_have_the_tables_but_no_controls(browse):
    page = open_table(browse)
    page.emulate_media(media="print")
    for part in (".norm-table-x", ".norm-table-y", ".norm-table-text"):
        assert page.locator(part).is_visible()
    assert not page.locator(".norm-table-controls").is_visible()


def test_two_tables_on_a_page_are_independent(browse):
    page = open_table(browse, norm_table(), NormTable([[1.0, 2.0, 4.0]], title="Another"))
    first, second = (Reader(page, f".cell_output:nth-of-type({n}) .ln-norm-table") for n in (1, 2))
    second.type("x", 0, 0, "9")
    assert np.array_equal(np.array(first.texts(), float), TABLE)
    assert second.texts() == [["9", "2", "4"]]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    options = second.root.locator(".norm-table-norm option").all_text_contents()
    assert TEST_TIME not in options
