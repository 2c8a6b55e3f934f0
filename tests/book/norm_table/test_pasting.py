"""Numbers typed and pasted into a norm table: how they are parsed, and where they go."""

import numpy as np
import pytest

from tests.book.norm_table.conftest import TABLE, assert_page_is_right, write


@pytest.mark.every_browser
def test_each_key_press_updates_the_table(reader):
    reader.type("x", 2, 4, "-7.25")
    assert_page_is_right(reader)
    reader.type("gain", 0, 3, "-2")
    assert reader.snapshot()["cell"] == [2, 3]  # in the same example
    assert_page_is_right(reader)  # negative outputs have bars in another color
    reader.type("x", 0, 0, "1,5")
    reader.cell("x", 1, 1).focus()
    assert reader.texts()[0][0] == "1.5"  # shows that the decimal comma was recognized


A, B2 = [["1", "2", "3"], ["4", "5", "6"]], [["1.5", "2.5"], ["-3", "4e2"]]
BLOCKS = {
    "1\t2\t3\r\n4\t5\t6\r\n": (A, "tabs"),
    "1,2,3\n4,5,6": (A, "commas"),
    "1;2;3\n4;5;6;": (A, "semicolons"),
    "  1 2   3\n\n 4 5 6 \n": (A, "spaces"),
    "tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float64)": (A, "commas"),
    "[[1 2\n  3]\n [4 5\n  6]]": (A, "spaces"),  # NumPy breaks long rows
    "[[1.5\t2.5]\n [-3\t4e2]]": (B2, "spaces"),
    "1,5 2,5": ([["1,5", "2,5"]], "spaces"),
    "\t1,5\t2,5": ([["", "1,5", "2,5"]], "tabs"),
    "1 two": ([["1", "two"]], "spaces"),
    "\n \n": ([], "spaces"),
}


def test_pasted_blocks_are_taken_apart(shared):
    for text, (rows, separator) in BLOCKS.items():
        page = shared.evaluate("t => lnNormTableTexts.block(t)", text)
        assert (page["rows"], page["separator"]) == (rows, separator), text


def test_pasted_blocks_start_at_the_cell_and_single_numbers_are_pasted_as_text(reader):
    reader.paste_at(1, 2, "7\t8\n9\t10")
    want = TABLE.copy()
    want[1:3, 2:4] = [[7, 8], [9, 10]]
    assert np.array_equal(np.array(reader.texts(), float), want)
    assert reader.message("note") == "Pasted 2 by 2 numbers, read with tabs between them."
    assert reader.page.evaluate("document.activeElement.dataset.at") == "x 1 2"
    assert_page_is_right(reader)
    reader.paste_at(0, 0, "1,5")
    assert reader.texts()[0][0] == "1,5"
    reader.paste(" \n ")
    assert np.shape(reader.texts()) == TABLE.shape
    assert reader.message("note") == "There is no number to paste."


@pytest.mark.parametrize(
    ("shape", "at", "cut"),
    [
        ((16, 8), None, False),
        ((17, 9), None, True),
        ((2, 2), (14, 6), False),
        ((3, 3), (14, 6), True),
    ],
)
def test_numbers_beyond_the_limits_are_left_out_with_a_message(reader, shape, at, cut):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    if at:
        reader.paste(write(np.zeros((16, 8))))
        reader.paste_at(*at, write(x))
    else:
        reader.paste(write(x))
    (i, j), note = at or (0, 0), reader.message("note")
    kept = x[: 16 - i, : 8 - j]
    assert np.array_equal(np.array(reader.texts(), float)[i:, j:], kept)
    assert note.startswith("Pasted {} by {} numbers".format(*kept.shape))
    assert note.endswith("Numbers beyond 16 examples or 8 features were left out.") == cut
