"""Pasted tables: taken apart alike by Python and by the page, and where they land."""

import re

import numpy as np
import pytest

from lnbook.widgets.norm_table.texts import block
from tests.book.norm_table.conftest import TABLE, assert_page_is_right, table_sheet, write

A, B2 = [["1", "2", "3"], ["4", "5", "6"]], [["1.5", "2.5"], ["-3", "4e2"]]
BLOCKS = {
    "1\t2\t3\n4\t5\t6": (A, "tabs"),
    "1\t2\t3\r\n4\t5\t6\r\n": (A, "tabs"),
    "1,2,3\n4,5,6": (A, "commas"),
    "1, 2, 3,\n4, 5, 6": (A, "commas"),
    "1;2;3\n4;5;6;": (A, "semicolons"),
    "  1 2   3\n\n 4 5 6 \n": (A, "spaces"),
    "[[1 2 3]\n [4 5 6]]": (A, "spaces"),
    "array([[1, 2, 3],\n       [4, 5, 6]])": (A, "commas"),
    "tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float64)": (A, "commas"),
    "[[1 2\n  3]\n [4 5\n  6]]": (A, "spaces"),  # NumPy breaks long rows
    "[[1,2,3],[4,5,6]]": (A, "commas"),
    "[[1.5\t2.5]\n [-3\t4e2]]": (B2, "spaces"),
    "1.5 2.5\n-3 4e2": (B2, "spaces"),
    "1,5 2,5": ([["1,5", "2,5"]], "spaces"),
    "1,5;2,5": ([["1,5", "2,5"]], "semicolons"),
    "1,5\t2,5": ([["1,5", "2,5"]], "tabs"),
    "1\t\t3": ([["1", "", "3"]], "tabs"),
    "\t2\t3": ([["", "2", "3"]], "tabs"),
    "1 2\n3": ([["1", "2"], ["3"]], "spaces"),
    "1 two": ([["1", "two"]], "spaces"),
    "": ([], "spaces"),
    "\n \n": ([], "spaces"),
}


def test_pasted_blocks_are_read_alike(shared):
    for text, (rows, separator) in BLOCKS.items():
        assert block(text) == (rows, separator), text
        page = shared.evaluate("t => lnNormTable.block(t)", text)
        assert (page["rows"], page["separator"]) == (rows, separator), text


def test_what_numpy_prints_can_be_pasted(reader):
    x = np.random.default_rng(5).normal(0, 30, (4, 8))
    for text in (str(x), repr(x), np.array_str(x.T, precision=3)):
        reader.paste(text)
        numbers = np.array(re.findall(r"-?\d+\.\d*", text), float)
        assert np.array_equal(np.array(reader.texts(), float).ravel(), numbers)
        assert_page_is_right(reader)


# Pasting at a cell.


def test_a_block_lands_at_the_cell_and_leaves_the_others(reader):
    reader.paste_at(1, 2, "7\t8\n9\t10")
    want = TABLE.copy()
    want[1:3, 2:4] = [[7, 8], [9, 10]]
    assert np.array_equal(np.array(reader.texts(), float), want)
    assert reader.message("note") == "Pasted 2 by 2 numbers, read with tabs between them."
    assert_page_is_right(reader)
    reader.type("x", 0, 0, "1")
    assert not reader.root.locator(".sheet-note").is_visible()


@pytest.mark.parametrize("text", ["1,5", "1,155", "1 155", " −3 "])
def test_one_number_is_pasted_as_it_is_typed(reader, text):
    reader.paste_at(0, 0, text)
    assert reader.texts()[0][0] == text
    assert np.shape(reader.texts()) == TABLE.shape
    assert not reader.root.locator(".sheet-note").is_visible()


def test_the_table_grows_under_a_block_and_invents_no_number(reader):
    reader.paste_at(3, 4, "1\t2\t3\n4\t5\t6")
    texts = reader.texts()
    assert np.shape(texts) == (5, 7)
    assert [row[4:] for row in texts[3:]] == [["1", "2", "3"], ["4", "5", "6"]]
    assert texts[4][:4] == [""] * 4
    assert [row[6] for row in texts[:3]] == [""] * 3
    python = table_sheet().read(reader.state())
    assert reader.message("warning") == python.warning
    assert reader.message("warning").startswith("Example 1, feature 7 is empty")


def test_what_is_beyond_the_limits_is_left_out_and_said(reader):
    x = np.arange(20 * 10.0).reshape(20, 10)
    reader.paste(write(x))
    assert np.array_equal(np.array(reader.texts(), float), x[:16, :8])
    assert reader.message("note").endswith(
        "Numbers beyond 16 examples or 8 features were left out."
    )
    reader.paste_at(15, 7, "1 2\n3 4")
    assert np.shape(reader.texts()) == (16, 8)
    assert reader.texts()[15][7] == "1"
    assert reader.message("note").endswith("were left out.")


@pytest.mark.parametrize(
    ("shape", "at", "cut"),
    [
        ((16, 8), None, False),
        ((17, 8), None, True),
        ((16, 9), None, True),
        ((2, 9), None, True),
        ((2, 2), (14, 6), False),
        ((3, 2), (14, 6), True),
        ((2, 3), (14, 6), True),
    ],
)
def test_a_cut_is_said_of_rows_alone_and_of_columns_alone(reader, shape, at, cut):
    text = write(np.ones(shape))
    if at:
        reader.paste(write(np.zeros((16, 8))))
        reader.paste_at(*at, text)
    else:
        reader.paste(text)
    texts = reader.message("note")
    B, F = (min(size, 2 if at else most) for size, most in zip(shape, (16, 8), strict=True))
    assert texts.startswith(f"Pasted {B} by {F} numbers")
    assert texts.endswith("Numbers beyond 16 examples or 8 features were left out.") == cut


def test_pasting_nothing_changes_nothing_and_says_so(reader):
    reader.paste(" \n ")
    assert np.array_equal(np.array(reader.texts(), float), TABLE)
    assert reader.message("note") == "There is no number to paste."
