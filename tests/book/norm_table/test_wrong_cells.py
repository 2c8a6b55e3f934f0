"""Invalid cells and undefined outputs are marked and explained, and do not affect others."""

import pytest

from tests.book.norm_table.conftest import TEST_TIME, assert_page_is_right

EXPECTED = "where a number such as 1.5, −2, 1e3, or 1/3 is expected."
UNTIL_THEN = " Until then, outputs that need it show “?”."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"is empty, {EXPECTED}"),
        ("-1e999", "holds “-1e999”, beyond the largest float64 number, 1.8e308."),
        ("1,155", "holds “1,155”, which could be 1155 or 1.155: type the one you mean."),
        ("<b>{i}</b>", f"holds “<b>{{i}}</b>”, {EXPECTED}"),
    ],
)
def test_a_cell_without_a_number_is_marked_and_named(reader, text, message):
    before = reader.texts("y")
    reader.type("x", 1, 2, text)
    field = reader.cell("x", 1, 2)
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby")
    warning = f"Example 2, feature 3 {message}{UNTIL_THEN}"
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
        message = f"The {which} of feature {j + 1} holds “one”, {EXPECTED}{UNTIL_THEN}"
        assert reader.message("warning") == message
        reader.type(which, 0, j, "1" if which == "gain" else "0")


SINGLE = "a single number is its own mean, so x − μ"
BIAS, UNDEFINED = "is 0 and every output is the bias.", "and σ are both 0, and 0/0 is not a number."
TWO = "any two different numbers become −1 and 1, apart from eps, gain, and bias."
SIGN = "a number divided by its own magnitude leaves only its sign, apart from eps and gain."
EQUAL = "are equal: x − μ is 0 and the output is the bias."
EQUAL_UNDEFINED = "are equal: x − μ and σ are both 0, and 0/0 is not a number."
ALL_ZERO = "are all 0, and so is their root mean square; 0/0 is not a number."
SMALL = "the squares of the differences are below 1e-290, where float64 loses its digits."
BIG = (
    "“too big”: the number, or a square on the way to it, is beyond 1.8e308, the largest that "
    "float64 holds."
)
INSTANCE = "In a table of examples by features an instance is one number"
ZEROS, FOURS = "0 0 0 0\n1 2 3 3", "4 4 4\n4 4 4\n1 2 3"
WARNINGS = [
    ("7", "layer norm", "1e-5", f"There is one feature: {SINGLE} {BIAS}"),
    ("7", "batch norm", "0", f"The batch has one example: {SINGLE} {UNDEFINED}"),
    ("7", "RMS norm", "0", f"There is one feature: {SIGN}"),
    ("7", "group norm", "1e-5", f"A group is one feature: {SINGLE} {BIAS}"),
    ("7", "instance norm", "0", f"{INSTANCE}: {SINGLE} {UNDEFINED}"),
    ("7", "none", "0", ""),
    ("1 5\n8 2", "layer norm", "0", f"There are two features: {TWO}"),
    ("1 5\n8 2", "batch norm", "0", f"The batch has two examples: {TWO}"),
    ("1 5\n8 2", "RMS norm", "0", ""),
    (ZEROS, "layer norm", "0", f"The numbers of example 1 {EQUAL_UNDEFINED}"),
    (ZEROS, "layer norm", "1e-5", f"The numbers of example 1 {EQUAL}"),
    (ZEROS, "RMS norm", "0", f"The numbers of example 1 {ALL_ZERO}"),
    (ZEROS, "RMS norm", "1e-5", ""),
    (
        ZEROS,
        "group norm",
        "1e-5",
        f"A group is two features: {TWO} The numbers of group 1 of example 1 (and of 2 more) "
        f"{EQUAL}",
    ),
    (FOURS, "layer norm", "0", f"The numbers of example 1 (and of 1 more) {EQUAL_UNDEFINED}"),
    (
        "1 a 3\n4 5\n6 b 8",
        "layer norm",
        "0",
        f"Example 1, feature 2 holds “a”, {EXPECTED} 2 more cells hold no number.{UNTIL_THEN}",
    ),
    ("1e200 2 3 4\n1 1 2 3", "layer norm", "0", BIG),
    ("1e-200 2e-200", "RMS norm", "0", f"“too small”: {SMALL}"),
    ("1e-200 2e-200", "layer norm", "0", f"There are two features: {TWO} “too small”: {SMALL}"),
]


def test_every_warning_names_its_cause(reader):
    for text, name, eps, warning in WARNINGS:
        reader.paste(text)
        reader.choose("norm", name)
        reader.choose("eps", eps)
        assert reader.message("warning") == warning, (text, name)


@pytest.mark.parametrize(
    ("text", "eps", "outputs"),
    [
        (ZEROS, "0", [["0/0"] * 4, ["−1.508", "−0.302", "0.905", "0.905"]]),
        ("1e200 2 3 4", "0", [["too big"] * 4]),
        ("1e-200 2e-200 4e-200", "0", [["too small"] * 3]),
        ("1 two 3\n5 5 5", "1e-5", [["?"] * 3, ["0.000"] * 3]),
    ],
)
def test_an_output_that_is_no_number_says_why(reader, text, eps, outputs):
    reader.paste(text)
    reader.choose("eps", eps)
    assert reader.texts("y") == outputs


def test_features_without_running_averages_are_reported(reader):
    reader.choose("norm", TEST_TIME)
    for words in ("Feature 7 has no running averages from training", "Feature 7 and those after"):
        reader.press("more feature")
        assert reader.message("warning").startswith(words)
        assert_page_is_right(reader)
