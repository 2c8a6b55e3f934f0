"""The norm table with the keyboard, in both themes, on all media, and without scripts."""

import numpy as np
import pytest

from lnbook.widgets.norm_table import WEB
from lnlib import norms
from tests.book.conftest import DESK, PHONE
from tests.book.norm_table.conftest import TABLE, Reader, norm_table, open_table, shown_is, write
from tests.cases.themed_page import themed

ACTIVE = """(() => { const e = document.activeElement;
  return e.dataset.at ?? e.dataset.do ?? e.tagName; })()"""


@pytest.mark.every_browser
def test_keys_move_between_cells_as_in_a_spreadsheet_and_within_a_text(reader):
    reader.cell("x", 0, 0).focus()
    moves = [
        ("ArrowDown", "x 1 0"), ("Enter", "x 2 0"), ("Shift+Enter", "x 1 0"), ("ArrowUp", "x 0 0"),
        ("ArrowUp", "x 0 0"), ("ArrowRight", "x 0 1"), ("ArrowLeft", "x 0 0"),
    ]  # fmt: skip
    for key, where in moves:
        reader.page.keyboard.press(key)
        assert reader.page.evaluate(ACTIVE) == where, key
    reader.cell("y", 3, 5).click()
    reader.page.keyboard.press("ArrowUp")
    assert reader.page.evaluate(ACTIVE) == "y 2 5"
    assert reader.snapshot()["cell"] == [2, 5]
    reader.type("x", 0, 1, "12")
    reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.type("0")
    assert reader.texts()[0][1] == "102"
    reader.page.keyboard.press("End")
    reader.page.keyboard.press("ArrowRight")
    assert reader.page.evaluate(ACTIVE) == "x 0 2"


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


def test_without_javascript_there_are_tables_to_read(browse):
    page = browse(themed(WEB, norm_table()), java_script_enabled=False)
    rows = page.locator("noscript .ln-table").nth(1).locator("tbody tr").all()
    for row, numbers in zip(rows, norms.layer_norm(TABLE), strict=True):
        texts = row.locator("td").all_text_contents()
        assert all(shown_is(t, v) for t, v in zip(texts, numbers, strict=True))
    assert page.locator("noscript").is_visible()
