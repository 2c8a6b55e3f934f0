"""Tables of claims: the findings of the page on every claim, of a chapter's own runs alone."""

import math
from statistics import fmean

import numpy as np
import pytest

from lnbook.figures import claims as shown
from lnbook.figures.run_groups import NO_NORM
from lnbook.figures.table import badge
from lnlab import claims
from lnlab.claims import Finding
from lnlab.comparison import NO_PLATEAU
from tests.cases import oracle, protocol
from tests.cases.learning_curve_chapters import CASES, CHAPTERS, arms, read, records
from tests.cases.oracle import parsed

ALL = pytest.mark.parametrize("name", CHAPTERS)
EVERY = pytest.mark.parametrize("case", CASES)


def findings(name, case):
    """Evaluate the claims by the runs with usual settings."""
    runs = [run for run in records(name, case) if oracle.has_default_settings(run)]
    return shown.evaluate_records(CHAPTERS[name].experiment, runs)


def check(difference, label, finding):
    """Hold two cells to a plain count of the differences, and to their mean."""
    d = [-v if finding.turned else v for v in finding.differences]
    scale = 100 if finding.unit.startswith("of ") else 1
    if finding.untestable:
        assert label == f"not testable here: {finding.untestable}"
    else:
        assert label == f"{sum(v < 0 for v in finding.differences)} of {len(d)} seeds"
    if np.isfinite(d).all():
        assert parsed(difference)[0] == pytest.approx(scale * np.mean(d), rel=0.006, abs=1e-9)


@ALL
@EVERY
def test_a_chapter_has_the_claims_on_its_experiment_with_the_findings_of_its_own_runs(name, case):
    rows, expected = iter(read(name, case).claims().rows), findings(name, case)
    assert [one.claim for one in expected] == claims.about(CHAPTERS[name].experiment)
    for one in expected:
        says, evidence, label = next(rows)
        assert (says, label.split(":")[0]) == (one.claim.statement, one.label.text)
        assert evidence == one.evidence
        for finding in one.counting:
            what, *cells = next(rows)
            assert what.removeprefix("– ") == finding.description
            check(*cells, finding)
    assert not [*rows]


@ALL
@EVERY
def test_each_network_has_its_updates_to_targets_that_no_norm_sets(name, case):
    known, result = read(name, case), arms(name, case)
    mean = protocol.mean_curve(result[NO_NORM].values(), oracle.score)
    way = protocol.end(mean) - mean[0]
    for (arm, (label, *_)), row in zip(known.STYLES.items(), known.targets().rows, strict=True):
        runs = result[arm].values()
        assert row[0] == label
        assert float(row[1].strip("*")) == next(iter(runs))["settings"]["learning_rate"]
        for part, cell in zip((0.5, 0.75, 0.9), row[2:], strict=True):
            steps = [protocol.steps(oracle.updates(run), oracle.score(run), mean[0] + part * way)
                     for run in runs]  # fmt: skip
            if math.inf in steps:
                assert cell == f"never in {steps.count(math.inf)} of {len(steps)} seeds"
            else:
                wanted = [fmean(steps), min(steps), max(steps)]
                np.testing.assert_allclose(parsed(cell), wanted, atol=0.51)


@pytest.mark.parametrize(
    ("differences", "given", "label"),
    [
        ([-1, -2, 3], {}, "2 of 3 seeds"),
        ([-1, -2, -3], {"counts": False}, "3 of 3 seeds"),  # a count is no verdict
        (range(-11, -1), {}, "✓ supported"),
        (range(2, 12), {}, "✗ contradicted"),
        ([-1, 1] * 5, {}, "≈ undecided"),
        (range(-11, -1), {"counts": False}, "not tested"),
        (range(-11, -1), {"untestable": NO_PLATEAU}, f"not testable here: {NO_PLATEAU}"),
    ],
)
def test_a_label_is_a_count_below_ten_seeds_and_a_verdict_where_one_is_tested(
    differences, given, label
):
    assert shown.label(Finding("x", np.array(differences, float), "nats", **given)) == label


def test_labels_of_chapters_are_corrected_for_the_whole_page_of_claims():
    of = shown.page()
    assert [*of] == [claim.name for claim in (*claims.PAPER, *claims.TUTORIALS)]
    assert shown.page() is of
    first, *_ = of["faster-at-4"].counting
    assert first.corrected > 2 * claims.p_value(first.differences)
    rows = shown.findings([of["faster-at-4"]], "One.").rows
    assert [row[2] for row in rows] == [
        badge(label) for label in (of["faster-at-4"].label, *(
            finding.label for finding in of["faster-at-4"].counting))
    ]  # fmt: skip
