"""Findings of the page of claims in chapters: the same words, intervals and labels."""

import numpy as np

from lnbook.show.findings import findings, weighed
from lnbook.show.table import badge
from lnlib import claims
from lnlib.claims import Finding, Weighed


def test_a_claim_has_its_label_and_below_it_the_findings_on_which_it_rests():
    claim = claims.PAPER[0]
    d = np.array([-1.0, -2.0, -1.5])
    of = (
        Finding("updates", d, "of its updates"),
        Finding("error", d + 1.7, "points"),
        Finding("other", d, "points", counts=False),
    )
    one = Weighed(claim, of, {})
    assert findings([one], "One claim.").rows == [
        [claim.says, one.evidence, "1 to 3 of 3 seeds"],
        ["– updates", "−150% of its updates (−200 to −100, lowest to highest of 3 seeds)",
         "3 of 3 seeds"],
        ["– error", "+0.2 points (−0.3 to +0.7, lowest to highest of 3 seeds)", "1 of 3 seeds"],
    ]  # fmt: skip


def test_labels_of_chapters_are_corrected_for_the_whole_page_of_claims():
    of = weighed()
    assert [*of] == [claim.name for claim in (*claims.PAPER, *claims.TUTORIALS)]
    assert weighed() is of
    first, *_ = of["faster-at-4"].counting
    assert first.corrected > 2 * claims.p_value(first.differences)
    rows = findings([of["faster-at-4"]], "One.").rows
    assert [row[2] for row in rows] == [
        badge(label) for label in (of["faster-at-4"].label, *(
            finding.label for finding in of["faster-at-4"].counting))
    ]  # fmt: skip
