"""The sheet by keyboard, in both themes, on a desk, a phone and paper, and without a script."""

import json

import numpy as np
import pytest

from lnbook.show import NormTable
from lnbook.widgets.norm_table.state import TEST_TIME
from lnlib import norms
from tests.book.norm_table.conftest import (
    DESK,
    PHONE,
    TABLE,
    Reader,
    at,
    busy,
    html_of,
    shown_is,
    table_sheet,
)
from tools.browser import browser_name


@pytest.mark.every_browser
def test_keys_move_as_in_a_spreadsheet(reader):
    reader.cell("x", 0, 0).focus()
    moves = [
        ("ArrowDown", "x 1 0"), ("Enter", "x 2 0"), ("Shift+Enter", "x 1 0"), ("ArrowUp", "x 0 0"),
        ("ArrowUp", "x 0 0"), ("ArrowRight", "x 0 1"), ("ArrowLeft", "x 0 0"),
        ("ArrowLeft", "x 0 0"), ("Tab", "x 0 1"), ("Shift+Tab", "x 0 0"),
        ("ArrowDown", "x 1 0"), ("ArrowDown", "x 2 0"), ("ArrowDown", "x 3 0"),
        ("ArrowDown", "gain 0 0"), ("ArrowDown", "bias 0 0"), ("ArrowDown", "bias 0 0"),
        ("ArrowUp", "gain 0 0"), ("ArrowUp", "x 3 0"),
    ]  # fmt: skip
    for key, where in moves:
        reader.page.keyboard.press(key)
        assert at(reader) == where, key
    reader.cell("y", 3, 5).click()
    reader.page.keyboard.press("ArrowUp")
    assert at(reader) == "y 2 5"
    assert reader.state().cell == (2, 5)


@pytest.mark.every_browser
def test_within_a_text_left_and_right_move_the_cursor(reader):
    reader.type("x", 0, 1, "12")
    reader.page.keyboard.press("ArrowLeft")
    assert at(reader) == "x 0 1"
    reader.page.keyboard.type("0")
    assert reader.texts()[0][1] == "102"
    reader.page.keyboard.press("End")
    reader.page.keyboard.press("ArrowRight")
    assert at(reader) == "x 0 2"


def test_the_tab_key_visits_every_control_in_the_order_of_the_page(reader):
    reader.page.locator("h1").click()
    stops = []
    for _ in range(60):
        reader.page.keyboard.press("Tab")
        stop = reader.page.evaluate(
            "(() => { const e = document.activeElement; return e.dataset.at ?? e.dataset.do ?? "
            "e.tagName })()"
        )
        if stop == "BODY":
            break
        stops.append(stop)
    cells = [f"x {i} {j}" for i, j in np.ndindex(4, 6)]
    affine = [f"{which} 0 {j}" for which in ("gain", "bias") for j in range(6)]
    steps = ["less example", "more example", "less feature", "more feature", "new", "start"]
    assert stops == ["SELECT", "SELECT", *steps, *cells, *affine, "SUMMARY"]


def test_focus_stays_where_the_tables_are_made_anew(reader):
    reader.cell("x", 2, 3).focus()
    reader.paste_at(2, 3, "1\t2")
    assert at(reader) == "x 2 3"


# Names, themes, widths, paper, no script.


def test_every_field_and_every_control_has_a_name(browse):
    columns = ["height", "width", "depth", "mass", "age", "price"]
    reader = Reader(browse(html_of(table_sheet(columns=columns))))
    names = reader.root.evaluate(
        "r => [...r.querySelectorAll('[data-at^=x], [data-at^=g], [data-at^=b]')]"
        ".map(e => e.ariaLabel)"
    )
    assert names[0] == "example 1, height"
    assert names[-1] == "the bias of price"
    assert len(set(names)) == 24 + 12
    heads = reader.root.locator(".sheet-x thead th").all_text_contents()
    assert heads == [*columns, "mean and standard deviation"]
    assert reader.message("text").startswith("Example 2, depth shares its mean")
    assert reader.root.locator("table th:not([scope])").count() == 0
    assert reader.root.get_attribute("role") == "group"
    assert reader.root.locator("[role=status][aria-live=polite] .sheet-text").count() == 1


@pytest.mark.parametrize(
    ("theme", "view", "what"),
    [
        ("light", DESK, "start"),
        ("dark", PHONE, "start"),
        ("light", PHONE, "groups and a wrong cell"),
        ("dark", DESK, "groups and a wrong cell"),
        ("light", DESK, "batch, 16 by 8"),
    ],
)
def test_axe_finds_nothing(browse, violations, theme, view, what):
    page = browse(html_of(table_sheet(alt="Numbers to type over"), theme=theme), viewport=view)
    busy(Reader(page), what)
    assert violations(page) == []


def test_phone_holds_six_features_and_scrolls_wider_tables_inside_themselves(browse):
    page = browse(html_of(table_sheet()), viewport=PHONE)
    reader = Reader(page)
    room = "r => [...r.querySelectorAll('.sheet-scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(reader.root.evaluate(room)) <= (browser_name(page) == "firefox")  # a rounded pixel
    sizes = reader.root.evaluate(
        "r => [...r.querySelectorAll('input, select, textarea')].map(e => "
        "parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 16  # smaller, and iOS zooms in
    reader.press("more feature", 2)
    reader.type("x", 0, 0, "-123456.789")
    assert min(reader.root.evaluate(room)) > 1
    page.evaluate("scrollTo(1000, 0)")
    beyond = "(r => r.scrollWidth - r.clientWidth)(document.documentElement)"
    assert page.evaluate(f"[scrollX, {beyond}]") == [0, 0]


def test_a_field_is_as_wide_as_its_number(browse):
    for view in (DESK, PHONE):
        reader = Reader(browse(html_of(table_sheet()), viewport=view))
        short = "r => [...r.querySelectorAll('input')].map(e => e.scrollWidth - e.clientWidth)"
        for text in ("18.18", "-99.99", "12345.678", "-1.25e-10", "1234567890"):
            reader.type("x", 0, 0, text)
            assert max(reader.root.evaluate(short)) <= 0, text


def test_desk_has_input_and_output_side_by_side(browse):
    page = browse(html_of(table_sheet()))
    boxes = [page.locator(f".sheet-{kind} tbody").bounding_box() for kind in "xy"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    rows = [
        page.evaluate(
            "k => [...document.querySelectorAll(`.sheet-${k} tbody tr`)]"
            ".filter(e => e.offsetParent).map(e => e.getBoundingClientRect().top)",
            kind,
        )
        for kind in "xy"
    ]
    assert rows[0] == pytest.approx(rows[1], abs=1)  # an example is one line through both


def test_without_javascript_it_is_a_table_to_read(browse):
    page = browse(html_of(table_sheet()), wait=False, java_script_enabled=False)
    rows = page.locator(".sheet-y tbody tr").all()
    want = norms.layer_norm(TABLE)
    for row, numbers in zip(rows, want, strict=True):
        texts = row.locator("td").all_text_contents()
        assert all(shown_is(t, v) for t, v in zip(texts, numbers, strict=True))
    assert page.locator(".sheet-x").inner_text().count("μ") == 4
    assert page.locator(".sheet-text").is_visible()
    assert page.locator("noscript").is_visible()
    for part in (".sheet-controls", ".sheet-paste"):
        assert not page.locator(part).is_visible()
    assert page.locator("input").count() == 0


def test_the_card_keeps_its_height_when_the_script_comes(browse):
    for view in (DESK, PHONE):
        without = browse(html_of(table_sheet(), script=False), wait=False, viewport=view)
        height = "document.querySelector('.ln-norm-table').getBoundingClientRect().height"
        with_it = browse(html_of(table_sheet()), viewport=view)
        assert with_it.evaluate(height) == pytest.approx(without.evaluate(height), abs=1)


@pytest.mark.not_in("firefox", reason="its driver cannot show a page as on paper")
def test_paper_has_the_tables_and_no_controls(browse):
    page = browse(html_of(table_sheet()))
    page.emulate_media(media="print")
    for part in (".sheet-x", ".sheet-y", ".sheet-text"):
        assert page.locator(part).is_visible()
    assert not page.locator(".sheet-controls").is_visible()


def test_nothing_leaves_the_page(browse):
    page = browse(html_of(table_sheet()))
    reader = Reader(page)
    busy(reader, "batch, 16 by 8")
    reader.paste("1 2\n3 4")
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert page.evaluate(stored) == [0, 0, ""]
    assert page.complaints == []


def test_two_sheets_on_a_page_do_not_disturb_each_other(browse):
    page = browse(html_of(table_sheet(), NormTable([[1.0, 2.0, 4.0]], title="Another")))
    first, second = (Reader(page, f".cell_output:nth-of-type({n}) .ln-norm-table") for n in (1, 2))
    second.type("x", 0, 0, "9")
    assert np.array_equal(np.array(first.texts(), float), TABLE)
    assert second.texts() == [["9", "2", "4"]]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    options = second.root.locator(".sheet-norm option").all_text_contents()
    assert TEST_TIME not in options


def test_the_data_of_the_page_cannot_end_its_script(browse):
    title = "</script><b>x</b>"
    columns = ["</script>", "<!--", "&amp;", "\"'", "e", "f"]
    page = browse(html_of(table_sheet(title=title, columns=columns)))
    heads = page.locator(".sheet-y thead th").all_text_contents()
    assert heads == columns
    assert page.locator(".sheet-title").text_content() == title
    assert json.loads(page.locator(".sheet-data").text_content())["columns"] == columns
