"""Numbers in a sheet: answered as they are typed, asked about, written alike in both languages."""

import numpy as np
import pytest

from lnbook.widgets.norm_table.texts import figure, shown
from lnlib import norms
from tests.book.norm_table.conftest import TABLE, assert_page_is_right, shown_is, table_sheet


@pytest.mark.every_browser
def test_typing_key_by_key_is_answered_at_once(reader):
    reader.type("x", 2, 4, "-7.25")
    assert reader.texts()[2][4] == "-7.25"
    assert_page_is_right(reader)
    reader.type("gain", 0, 3, "-2")
    assert reader.state().cell == (2, 3)  # of the same example
    reader.type("gain", 0, 3, "1")
    reader.type("gain", 0, 4, "-2")
    assert_page_is_right(reader)  # negative outputs have bars of their own color
    reader.type("bias", 0, 0, "1/3")
    reader.type("x", 0, 0, "1,5")
    reader.cell("x", 1, 1).focus()
    assert reader.texts()[0][0] == "1.5"  # a decimal comma is seen to have been read as one
    reader.choose("norm", "layer norm")  # the tables are made anew
    assert reader.texts()[0][0] == "1.5"
    want = norms.layer_norm(
        np.array([[1.5, *TABLE[0, 1:]]]),
        np.array([1, 1, 1, 1, -2.0, 1]),
        np.array([1 / 3, 0, 0, 0, 0, 0]),
    )
    assert all(shown_is(t, v) for t, v in zip(reader.texts("y")[0], want[0], strict=True))


ASKED = (
    "Example 2, feature 3 holds “1,155”, which could be 1155 or 1.155: type the one you mean. "
    "Until then, outputs that need it show “?”."
)


def test_a_number_that_may_be_two_is_asked_about(reader):
    reader.type("x", 1, 2, "1,155")
    reader.cell("x", 0, 0).focus()
    assert reader.texts()[1][2] == "1,155"  # as typed: nobody has decided
    assert reader.message("warning") == ASKED == table_sheet().read(reader.state()).warning
    assert reader.cell("x", 1, 2).get_attribute("aria-invalid") == "true"
    assert reader.texts("y")[1] == ["?"] * 6
    reader.type("x", 1, 2, "1.155")
    assert_page_is_right(reader)
    reader.type("bias", 0, 0, "2,000/3,000")  # may be this or that, and is the same
    reader.cell("x", 0, 0).focus()
    assert not reader.root.locator(".sheet-warning").is_visible()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        *[("1,5", "1.5"), (",5", ".5"), ("1 155", "1155"), ("1,155.5", "1155.5")],
        *[("−1,5/2", "-1.5/2"), ("−2", "−2"), ("1e3", "1e3"), ("abc, d", "abc, d")],
    ],
)
def test_a_comma_or_a_gap_is_seen_to_be_read_when_the_cell_is_left(reader, text, form):
    reader.type("x", 1, 2, text)
    reader.cell("x", 0, 0).focus()
    assert reader.texts()[1][2] == form
    reader.choose("norm", "batch norm")  # the tables are made anew
    assert reader.texts()[1][2] == form


@pytest.fixture(scope="module")
def floats():
    rng = np.random.default_rng(3)
    made = rng.normal(size=3000) * 10.0 ** rng.uniform(-14, 14, 3000)
    ties = [0.0625, -0.0625, 2.5, -2.5, 0.5, 1000.5, 12.345, 99.995, 999.95, 9.9995, 99999.5, 1e5]
    edges = [0.0, -0.0, -1e-9, 0.0005, 1e-4, 9.99995e-5, 1e6, 999999.5, 123456.5, 1e300, 5e-324]
    return [*made.tolist(), *ties, *edges]


@pytest.mark.parametrize(("name", "python"), [("shown", shown), ("figure", figure)])
def test_numbers_are_written_alike(shared, floats, name, python):
    page = shared.evaluate("([n, vs]) => vs.map(v => lnNormTable[n](v))", [name, floats])
    assert page == [python(v) for v in floats]


def test_what_is_shown_is_the_number_rounded(shared, floats):
    page = shared.evaluate("vs => vs.map(v => lnNormTable.shown(v))", floats)
    assert all(shown_is(text, v) for text, v in zip(page, floats, strict=True))
