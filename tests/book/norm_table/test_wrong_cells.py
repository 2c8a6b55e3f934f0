"""Invalid cells and undefined outputs are marked and explained, and do not affect others."""

import pytest

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


ZEROS, FOURS = "0 0 0 0\n1 2 3 3", "4 4 4\n4 4 4\n1 2 3"
WARNINGS = [  # the pasted numbers, the norm, eps, and what the warning says
    ("7", "layer norm", "1e-5", ("There is one feature", "every output is the bias")),
    ("7", "batch norm", "0", ("The batch has one example", "0/0 is not a number")),
    ("7", "RMS norm", "0", ("There is one feature", "only its sign")),
    ("7", "group norm", "1e-5", ("A group is one feature",)),
    ("7", "none", "0", ()),
    ("1 5\n8 2", "batch norm", "0", ("The batch has two examples", "become −1 and 1")),
    ("1 5\n8 2", "RMS norm", "0", ()),
    (ZEROS, "layer norm", "0", ("The numbers of example 1 are equal", "0/0 is not a number")),
    (ZEROS, "layer norm", "1e-5", ("example 1 are equal", "the output is the bias")),
    (ZEROS, "RMS norm", "0", ("The numbers of example 1 are all 0",)),
    (ZEROS, "RMS norm", "1e-5", ()),
    (FOURS, "layer norm", "0", ("The numbers of example 1 (and of 1 more) are equal",)),
    (
        "1 a 3\n4 5\n6 b 8",
        "layer norm",
        "0",
        ("feature 2 holds “a”", "2 more cells hold no number"),
    ),
    ("1e200 2 3 4\n1 1 2 3", "layer norm", "0", ("“too big”", "beyond 1.8e308")),
    ("1e-200 2e-200", "RMS norm", "0", ("“too small”", "below 1e-290")),
]


def test_every_warning_names_its_cause(reader):
    for text, name, eps, parts in WARNINGS:
        reader.paste(text)
        reader.choose("norm", name)
        reader.choose("eps", eps)
        warning = reader.message("warning")
        assert bool(warning) == bool(parts), (text, name)
        assert [part for part in parts if part not in warning] == [], (text, name)
