"""The chart of the claims on synthetic records: dots, bars, colors and words are the records'."""

import html
import math
import re
from statistics import fmean

import numpy as np
import pytest

from lnbook.chapters.claims.chart import ClaimChart
from lnbook.figures.table import badge, mark
from lnlab import claims
from lnlab.claims.finding import corrected, evaluate
from tests.cases.protocol import ends
from tests.cases.toy_records import InMemory
from tests.lnlab.claims import truth

CASES = ("better", "worse", "mixed")
CLAIMS = {claim.name: claim for claim in (*claims.PAPER, *claims.TUTORIALS)}


@pytest.fixture(scope="module")
def weighed():
    """The recorded claims by case and name."""
    results = {}
    for case in CASES:
        records = InMemory(truth.records(case))
        of = corrected([evaluate(CLAIMS[name], records) for name in truth.RECORDED])
        results[case] = {one.claim.name: one for one in of}
    return results


@pytest.fixture(scope="module")
def charts(weighed):
    """What is drawn of each claim, by case."""
    return {
        case: drawn(ClaimChart([*of.values()], "All").to_html()) for case, of in weighed.items()
    }


def drawn(page):
    """What is drawn of each claim: dot and ends of each line in percent, and its class."""
    results = {}
    for body in re.findall(r'<details class="ln-claim"[^>]*>.*?</details>', page, re.S):
        name = re.search(r'id="claim-([\w-]+)"', body)[1]
        marks = []
        for kind, inner in re.findall(r'<g class="ln-(\w+)[^"]*">(.*?)</g>', body, re.S):
            line = re.search(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', inner)
            dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', inner)]
            word = re.search(r">(never|baseline never|no number)</text>", inner)
            sides = [float(x) for x in line.groups()] if line else []
            marks.append((kind, dots, sides, word[1] if word else ""))
        labels = re.search(r'role="img" aria-label="([^"]*)"', body)
        badge = re.search(r'<span class="verdict (\w+)">', body)[1]
        results[name] = (marks, html.unescape(labels[1]) if labels else None, badge, body)
    return results


def at(share):
    """Where a share is on the strip: 0 in its middle, 1 at 46 percent to the right of it."""
    return 50 + 46 * max(-1.04, min(1.04, share))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_draws_the_shares_on_the_side_where_they_lie(case, weighed, charts):
    page = charts[case]
    for name in truth.RECORDED:
        answers = [
            (one, finding)
            for one, finding in zip(
                truth.expected(name, case), weighed[case][name].findings, strict=True
            )
            if one.shares is not None
        ]
        marks, label, color, _ = page[name]
        assert color == mark(badge(weighed[case][name].label))
        if not any(one.counts for one, _ in answers):
            assert (marks, label) == ([], None)
            continue
        assert len(marks) == len(answers), name
        for (kind, dots, sides, word), (answer, finding) in zip(marks, answers, strict=True):
            assert kind == (mark(badge(finding.label)) if answer.counts else "count"), name
            known = [share for share in answer.shares if math.isfinite(share)]
            if len(known) == len(answer.shares):
                low, high = ends(answer.shares)
                np.testing.assert_allclose(dots, [at(fmean(known))], atol=0.06)
                np.testing.assert_allclose(sides, [at(low), at(high)], atol=0.06)
                assert not word
            else:
                np.testing.assert_allclose(dots, [at(share) for share in known], atol=0.06)
                never, first = math.inf in answer.shares, -math.inf in answer.shares
                assert word == ("never" if never else "baseline never" if first else "no number")


@pytest.mark.parametrize("case", CASES)
def test_each_line_has_the_claim_its_label_and_its_findings(case, weighed, charts):
    assert charts[case].keys() == weighed[case].keys()
    for name, (_, label, _, body) in charts[case].items():
        one = weighed[case][name]
        head, _, behind = html.unescape(body).partition("</summary>")
        text = plain(behind)
        assert f"{one.claim.statement}<small>{one.evidence}</small>" in head
        assert f">{one.label.reason or badge(one.label)}</span>" in head
        assert [part for part in (one.claim.quote, *one.claim.commands) if part not in text] == []
        listed = re.findall(r"<li>(.*?)</li>", body, re.S)
        for line, finding in zip(map(plain, listed), one.findings, strict=True):
            assert f": {claims.interval(finding)}; " in line
            label_of = badge(finding.label) if finding.counts else claims.label_text(finding)
            assert line.endswith(f"; {label_of}")
        if label:
            counted = [f for f in one.findings if f.counts and f.shares is not None]
            assert label == "; ".join(claims.interval(f) for f in counted[:3])


def plain(source):
    return html.unescape(re.sub("<[^>]+>", "", source))


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_counts_the_claims_and_what_was_tested(case, weighed):
    every = [*weighed[case].values()]
    total, *counts, tested = map(int, re.findall(r"\d+", ClaimChart(every, "All").sentence()))
    assert total == len(every) == sum(counts)
    assert tested == len(claims.comparisons(every))
