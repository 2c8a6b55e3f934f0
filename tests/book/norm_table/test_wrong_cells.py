"""Invalid cells and undefined outputs are marked and explained, and do not affect others."""

import numpy as np
import pytest

from lnbook.widgets.norm_table.state import NORMS, TEST_TIME
from lnbook.widgets.norm_table.texts import shown
from tests.book.norm_table.conftest import assert_page_is_right, norm_table


@pytest.mark.parametrize("text", ["", "-1e999", "1,155", "<b>{i}</b>"])
def test_a_cell_without_a_number_is_marked_and_named(reader, text):
    before = reader.texts("y")
    reader.type("x", 1, 2, text)
    field = reader.cell("x", 1, 2)
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby")
    warning = norm_table().read(reader.state()).warning
    assert text in warning
    assert reader.page.locator(f"#{described}").text_content() == warning
    assert reader.message("warning") == warning
    assert reader.root.locator(".norm-table-warning").is_visible()
    mark = "e => getComputedStyle(e.closest('td'), '::after').content"
    assert field.evaluate(mark) == '"!"'
    after = reader.texts("y")
    assert after == [["?"] * 6 if i == 1 else row for i, row in enumerate(before)]
    reader.page.keyboard.press("Escape")  # restores the previous text
    assert reader.texts()[1][2] == "18.18"
    assert field.get_attribute("aria-invalid") is None
    assert field.evaluate(mark) == "none"
    assert not reader.root.locator(".norm-table-warning").is_visible()
    assert reader.texts("y") == before


def test_an_invalid_gain_or_bias_only_affects_its_feature(reader):
    before = reader.texts("y")
    for which, j in (("gain", 4), ("bias", 1)):
        reader.type(which, 0, j, "one")
        assert reader.texts("y") == [[*row[:j], "?", *row[j + 1 :]] for row in before]
        assert reader.message("warning") == norm_table().read(reader.state()).warning
        reader.type(which, 0, j, "1" if which == "gain" else "0")


def test_every_warning_is_the_same_as_in_python(reader):
    tables = ["7", "0\n0", "1 5\n8 2", "0 0 0 0\n1 2 3 3", "4 4 4\n4 4 4\n1 2 3"]
    tables += ["1 a 3\n4 5\n6 b 8", "1e200 2 3 4\n1 1 2 2", "1e-200 2e-200", "1e-160 3e-160 8e-160"]
    observed, table = set(), norm_table()
    for text in tables:
        reader.paste(text)
        for name in NORMS:
            reader.choose("norm", name)
            for eps in ("0", "1e-5"):
                reader.choose("eps", eps)
                snapshot = reader.snapshot()
                python = table.read(reader.state(snapshot))
                for kind in ("warning", "text", "work"):
                    assert snapshot["said"][kind] == getattr(python, kind)
                notes = [[n or shown(y) for n, y in zip(*row, strict=True)]
                         for row in zip(python.note, python.y, strict=True)]  # fmt: skip
                assert snapshot["texts"]["y"] == notes
                observed.update(np.unique(python.note))
    assert observed == {"", "0/0", "too big", "too small", "?"}


def test_features_without_running_averages_are_reported(reader):
    reader.choose("norm", TEST_TIME)
    for words in ("Feature 7 has no running averages from training", "Feature 7 and those after"):
        reader.press("more feature")
        assert reader.message("warning").startswith(words)
        assert_page_is_right(reader)
