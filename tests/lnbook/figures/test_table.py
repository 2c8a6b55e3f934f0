"""Tables with labels, as HTML and as text."""

import re

import numpy as np

from lnbook.figures.table import Table, badge, mark
from lnlab import comparison

HOLDS, FAILS, OPEN = "✓ holds", "✗ does not hold", "≈ undecided"


def columns(table):
    return re.findall(r'<th scope="col">(.*?)</th>', table.to_html())


def row(table, k):
    line = re.findall(r"<tr>(.*?)</tr>", table.to_html())[1 + k]
    return re.findall(r"<td.*?>(.*?)</td>", line)


def span(kind, words):
    return f'<span class="verdict {kind}">{words}</span>'


def test_several_labels_follow_their_numbers_in_the_same_cell():
    table = Table(
        ["claim", "points", "verdict", "updates", "fewer?"],
        [["faster", "+7", FAILS, "80%", HOLDS], ["lower", "not recorded", "–", "30%", OPEN]],
        "Two.",
    )
    assert columns(table) == ["Claim", "Points", "Updates: fewer?"]
    assert row(table, 0) == [f"+7<br>{span('fails', FAILS)}", f"80%<br>{span('holds', HOLDS)}"]
    assert row(table, 1) == ["not recorded", f"30%<br>{span('mixed', OPEN)}"]
    assert 'data-column="Updates: fewer"' in table.to_html()  # before the cell, on a phone
    assert repr(table).splitlines()[1] == "claim   points        verdict          updates  fewer?"


def test_a_count_of_seeds_has_no_sign_and_no_color_of_a_verdict():
    ten = -np.arange(1.0, 11)
    of = {
        "✓ holds": (comparison.exact(np.zeros(1)), "holds"),
        "✗ does not hold": (comparison.exact(np.ones(1)), "fails"),
        "✓ supported": (comparison.label(ten), "holds"),
        "✗ contradicted": (comparison.label(-ten), "fails"),
        "≈ undecided": (comparison.label(ten - ten.mean()), "mixed"),
        "3 of 3 seeds": (comparison.label(ten[:3]), "count"),
        "not testable here: diverged": (comparison.untestable("diverged"), "late"),
    }
    for text, (label, color) in of.items():
        assert (badge(label), mark(text)) == (text, color)
    assert mark("1 to 3 of 3 seeds") == mark("all seeds in 1 of 2 measures") == "count"
    assert mark("3 seeds") == mark("holds") == ""


def test_tables_escape_their_content():
    assert "<b>" not in Table(["a"], [["<b>"]], "<b>").to_html()
