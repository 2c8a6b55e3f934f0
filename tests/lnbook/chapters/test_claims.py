"""The chart says what was found, and hides what was not chosen."""

import html
import re

import numpy as np
import pytest

from lnbook.chapters.claims.chart import ClaimChart
from lnbook.figures.table import badge, mark
from lnlab import claims, comparison


@pytest.fixture(scope="module")
def weighed():
    """The claims by the book's records, by name."""
    return {one.claim.name: one for one in claims.evaluate()}


@pytest.fixture(scope="module")
def page(weighed):
    return ClaimChart(list(weighed.values()), "All claims", "claims.json").to_html()


def lines(page):
    """Each line of the chart: its attributes, and what it holds."""
    return re.findall(r'<details class="ln-claim"([^>]*)>(.*?)</details>', page, re.S)


def ordered(weighed):
    """The claims in the order of the chart: by kind of evidence."""
    return [one_ for of in claims.by_evidence(list(weighed.values())).values() for one_ in of]


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
        assert badge(label) == text
        assert mark(text) == color
    assert mark("1 to 3 of 3 seeds") == mark("all seeds in 1 of 2 measures") == "count"
    assert mark("3 seeds") == mark("holds") == ""


def test_every_claim_is_a_line_with_its_label_evidence_and_words(weighed, page):
    result = lines(page)
    assert len(result) == len(weighed)
    for one_, (_, body) in zip(ordered(weighed), result, strict=True):
        text = html.unescape(re.sub("<[^>]+>", "", body))
        assert one_.claim.statement in text
        assert one_.claim.quote in text
        assert str(one_.label).lower() in text.lower()
        head = html.unescape(re.search(r"<summary>(.*?)</summary>", body, re.S)[1])
        assert f">{one_.label.reason or badge(one_.label)}</span>" in head
        assert f"<small>{one_.evidence}</small>" in head
        for command in one_.claim.commands:
            assert command in text
        assert f'id="claim-{one_.claim.name}"' in body


# Beside what other pages say.


def test_the_sentence_counts_the_claims_and_what_was_tested(weighed):
    shown = ClaimChart(list(weighed.values()), "All claims")
    total, *parts, tested = [int(n) for n in re.findall(r"\d+", shown.sentence())]
    assert total == len(weighed) == sum(parts)
    assert tested == len(claims.comparisons(list(weighed.values())))
    assert all(one_.claim.statement in repr(shown) for one_ in weighed.values())
