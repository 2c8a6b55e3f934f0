"""Tables with labels, as HTML and as text."""

import re

from lnbook.figures.table import Table

HOLDS, FAILS, OPEN = "✓ holds", "✗ does not hold", "≈ undecided"


def columns(table):
    return re.findall(r'<th scope="col">(.*?)</th>', table.to_html())


def row(table, k):
    line = re.findall(r"<tr>(.*?)</tr>", table.to_html())[1 + k]
    return re.findall(r"<td.*?>(.*?)</td>", line)


def badge(kind, words):
    return f'<span class="verdict {kind}">{words}</span>'


def test_several_labels_follow_their_numbers_in_the_same_cell():
    table = Table(
        ["claim", "points", "verdict", "updates", "fewer?"],
        [["faster", "+7", FAILS, "80%", HOLDS], ["lower", "not recorded", "–", "30%", OPEN]],
        "Two.",
    )
    assert columns(table) == ["Claim", "Points", "Updates: fewer?"]
    assert row(table, 0) == [f"+7<br>{badge('fails', FAILS)}", f"80%<br>{badge('holds', HOLDS)}"]
    assert row(table, 1) == ["not recorded", f"30%<br>{badge('mixed', OPEN)}"]
    assert 'data-column="Updates: fewer"' in table.to_html()  # before the cell, on a phone
    assert repr(table).splitlines()[1] == "claim   points        verdict          updates  fewer?"
