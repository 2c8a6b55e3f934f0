"""What is no number, and what no norm can be computed of, is marked, said, and spoils no more."""

import numpy as np
import pytest

from lnbook.widgets.norm_table.state import NORMS, TEST_TIME
from lnbook.widgets.norm_table.texts import shown
from tests.book.norm_table.conftest import TABLE, assert_page_is_right, set_by_trial, table_sheet


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "abc",
            "Example 2, feature 3 holds “abc”, where a number such as 1.5, −2, 1e3, or 1/3 is "
            "expected. Until then, outputs that need it show “?”.",
        ),
        (
            "",
            "Example 2, feature 3 is empty, where a number such as 1.5, −2, 1e3, or 1/3 is "
            "expected. Until then, outputs that need it show “?”.",
        ),
        (
            "-1e999",
            "Example 2, feature 3 holds “-1e999”, beyond the largest float64 number, "
            "1.8e308. Until then, outputs that need it show “?”.",
        ),
        (
            "<b>{i}</b>",
            "Example 2, feature 3 holds “<b>{i}</b>”, where a number such as 1.5, −2, 1e3, or 1/3 "
            "is expected. Until then, outputs that need it show “?”.",
        ),
    ],
)
def test_a_cell_without_a_number_is_marked_and_named(reader, text, sentence):
    before = reader.texts("y")
    reader.type("x", 1, 2, text)
    field = reader.cell("x", 1, 2)
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby")
    assert reader.page.locator(f"#{described}").text_content() == sentence
    assert reader.root.locator(".sheet-warning").is_visible()
    mark = "e => getComputedStyle(e.closest('td'), '::after').content"
    assert field.evaluate(mark) == '"!"'
    after = reader.texts("y")
    assert after == [["?"] * 6 if i == 1 else row for i, row in enumerate(before)]
    assert reader.message("warning") == table_sheet().read(reader.state()).warning
    reader.type("x", 1, 2, "18.18")
    assert field.get_attribute("aria-invalid") is None
    assert field.evaluate(mark) == "none"
    assert not reader.root.locator(".sheet-warning").is_visible()
    assert reader.texts("y") == before


@pytest.mark.parametrize("name", NORMS)
def test_a_cell_without_a_number_spoils_its_normalization_set_alone(reader, name):
    reader.choose("norm", name)
    before = reader.texts("y")
    reader.type("x", 1, 2, "?!")
    after = reader.texts("y")
    spoilt = {(i, j) for i, j in np.ndindex(4, 6) if after[i][j] == "?"}
    assert spoilt == reader.set("x") == set_by_trial(name, TABLE, (1, 2), 2)
    assert all(after[i][j] == before[i][j] for i, j in np.ndindex(4, 6) if (i, j) not in spoilt)


@pytest.mark.parametrize("which", ["gain", "bias"])
def test_a_gain_or_bias_without_a_number_spoils_its_feature_alone(reader, which):
    before = reader.texts("y")
    reader.type(which, 0, 4, "one")
    after = reader.texts("y")
    assert after == [[*row[:4], "?", row[5]] for row in before]
    assert reader.message("warning").startswith(f"The {which} of feature 5 holds “one”, where")


def test_many_wrong_cells_are_counted(reader):
    reader.paste("1 a 3\n4 5\n6 b 8")
    assert reader.message("warning").startswith(
        "Example 1, feature 2 holds “a”, where a number such as 1.5, −2, 1e3, or 1/3 is expected. "
        "2 more cells hold no number."
    )
    assert reader.root.locator("input[aria-invalid=true]").count() == 3
    assert reader.texts("y") == [["?"] * 3] * 3


def test_escape_puts_back_what_was_there(reader):
    reader.type("x", 1, 2, "oh no")
    reader.page.keyboard.press("Escape")
    assert reader.texts()[1][2] == "18.18"
    assert_page_is_right(reader)


# Degenerate tables.


def test_batch_of_one_makes_batch_norm_return_the_bias(reader):
    reader.choose("norm", "batch norm")
    reader.press("less example", 3)
    reader.type("bias", 0, 1, "2.5")
    assert reader.texts("y") == [["0.000", "2.500", "0.000", "0.000", "0.000", "0.000"]]
    assert reader.message("warning").startswith(
        "The batch has one example: a single number is its own"
    )
    assert_page_is_right(reader)
    reader.choose("eps", "0")
    assert reader.texts("y") == [["0/0"] * 6]
    assert_page_is_right(reader)


DEGENERATE = {
    "7": "There is one feature: a single number is its own mean",
    "1 5\n8 2": "There are two features: any two different numbers become −1 and 1",
    "1 2 3\n4 4 4": "The numbers of example 2 are equal: x − μ is 0 and the output is the bias.",
    "4 4 4\n4 4 4\n1 2 3": "The numbers of example 1 (and of 1 more) are equal",
    "1e200 2 3": "“too big”: the number, or a square on the way to it, is beyond 1.8e308",
}


@pytest.mark.parametrize("text", DEGENERATE)
def test_degenerate_tables_are_said_to_be(reader, text):
    reader.paste(text)
    assert reader.message("warning").startswith(DEGENERATE[text])
    assert reader.root.locator(".sheet-warning").is_visible()


def test_every_warning_of_every_norm_is_the_one_of_python(reader):
    tables = ["7", "0\n0", "1 5\n8 2", "0 0 0 0\n1 2 3 3", "1e200 2 3 4\n1 1 2 2", "1e-200 2e-200"]
    observed, sheet = set(), table_sheet()
    for text in tables:
        reader.paste(text)
        for name in NORMS:
            reader.choose("norm", name)
            for eps in ("0", "1e-5"):
                reader.choose("eps", eps)
                snapshot = reader.snapshot()
                python = sheet.read(reader.state(snapshot))
                for kind in ("warning", "text", "work"):
                    assert snapshot["said"][kind] == getattr(python, kind)
                notes = [[n or shown(y) for n, y in zip(*row, strict=True)]
                         for row in zip(python.note, python.y, strict=True)]  # fmt: skip
                assert snapshot["texts"]["y"] == notes
                observed.update(np.unique(python.note))
    assert observed == {"", "0/0", "too big", "too small"}


def test_a_feature_without_running_averages_is_said_to_have_none(reader):
    reader.choose("norm", TEST_TIME)
    reader.press("more feature")
    assert reader.message("warning").startswith("Feature 7 has no running averages from training")
    reader.press("more feature")
    assert reader.message("warning").startswith("Feature 7 and those after it have no running")
    assert_page_is_right(reader)
