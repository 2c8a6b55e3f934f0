"""Every claim on synthetic records with a known answer, in numbers, sentence and JSON."""

import json
import math
from statistics import fmean

import numpy as np
import pytest

from lnlab import claims
from lnlab.claims import numbers
from lnlab.claims.finding import Records, corrected, evaluate
from lnlab.cli import main
from tests.cases import oracle, protocol, toy_records
from tests.cases.oracle import at_best, lowest, parsed
from tests.cases.protocol import Answer, ends, holm, key, outcome
from tests.cases.toy_records import InMemory, write
from tests.lnlab.claims import truth

CLAIMS = {claim.name: claim for claim in (*claims.PAPER, *claims.TUTORIALS)}
CASES = toy_records.CASES
#: Nothing in this library measures these.
OPEN = {"skip-month", "benefit-most"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the records of the mixed case; those of the others are not files."""
    where = tmp_path_factory.mktemp("mixed")
    write(truth.records("mixed"), where)
    return where


@pytest.fixture(scope="module")
def weighed(folder):
    """The recorded claims as the library weighs them, by case and name."""
    recorded = [CLAIMS[name] for name in truth.RECORDED]
    results = {
        case: corrected([evaluate(claim, InMemory(truth.records(case))) for claim in recorded])
        for case in CASES
        if case != "mixed"
    }
    results["mixed"] = claims.evaluate(folder, recorded)
    return {case: {one.claim.name: one for one in of} for case, of in results.items()}


def test_every_claim_has_a_known_answer():
    assert set(CLAIMS) == {*truth.RECORDED, *COMPUTED, *OPEN}
    for name, claim in CLAIMS.items():
        assert bool(claim.experiments) == (name in truth.RECORDED), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", truth.RECORDED)
def test_differences_and_shares_are_those_of_the_records(name, case, weighed):
    answers, result = truth.expected(name, case), weighed[case][name]
    assert len(result.findings) == len(answers)
    for finding, answer in zip(result.findings, answers, strict=True):
        np.testing.assert_allclose(finding.differences, answer.differences, rtol=1e-6, atol=1e-9)
        if answer.shares is None:
            assert finding.shares is None, finding.description
        else:
            np.testing.assert_allclose(finding.shares, answer.shares, rtol=1e-6, atol=1e-9)
        for field in ("unit", "counts", "turned", "exact", "untestable"):
            assert getattr(finding, field) == getattr(answer, field), finding.description
    used = result.files if case == "mixed" else truth.file_names(result.findings)
    assert truth.checksum(used) == truth.files(name, case)


def is_finite(answer):
    return all(map(math.isfinite, answer.differences))


def test_the_json_of_the_command_has_the_same_numbers(folder, capsys):
    case = "mixed"
    assert main(["claims", "--runs", str(folder), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in reported["claims"]] == list(CLAIMS)
    results = {one["name"]: one for one in reported["claims"]}
    computed_here = [
        Answer(one["differences"], one["unit"], counts=one["counts"], exact=one["exact"],
               what=one["what"])
        for name in COMPUTED for one in results[name]["findings"]
    ]  # fmt: skip
    p_values = holm(
        [one for name in truth.RECORDED for one in truth.expected(name, case)] + computed_here
    )
    assert reported["comparisons"] == len(p_values)
    for name in truth.RECORDED:
        answers = truth.expected(name, case)
        assert len(results[name]["findings"]) == len(answers)
        for finding, answer in zip(results[name]["findings"], answers, strict=True):
            meant = {None: math.inf, "no number": math.nan, "baseline never": -math.inf}
            values = [meant.get(d, d) for d in finding["differences"]]
            np.testing.assert_allclose(values, answer.differences, rtol=1e-5)
            assert (finding["unit"], finding["counts"]) == (answer.unit, answer.counts)
            label = finding["label"] and " ".join(
                [finding["label"]["text"] + ":" * bool(finding["label"]["reason"]),
                 finding["label"]["reason"]]).strip()  # fmt: skip
            p = p_values.get(key(answer)) if answer.counts else None
            assert label == (outcome(answer, p) if answer.counts else None)
            assert finding["p_corrected"] == (pytest.approx(p, rel=0.01) if p else p)
            if is_finite(answer):
                low, high = ends(answer.differences)
                wanted = fmean(answer.differences), low, high
                numbers = [finding[key] for key in ("mean", "low", "high")]
                np.testing.assert_allclose(numbers, wanted, rtol=1e-5)
    groups = [
        "a count of few seeds" if one["label"]["evidence"] == "few seeds" else one["label"]["text"]
        for one in reported["claims"]
    ]
    assert reported["counts"] == {group: groups.count(group) for group in set(groups)}


# Claims that are computed: label, unit, and the mean differences of the findings that count and of
# the others. Their measurements on small networks are compared with PyTorch in
# test_at_initialization.py.
POWERS = "powers of ten"
COMPUTED = {
    "same-computation": ("holds", "largest change", [-1e-9], [1.046]),
    "vanishing": ("undecided", POWERS, [-21.72, -8.291, -0.1144], []),
    "hidden-gradients": ("undecided", POWERS, [-1.053, 1.033, 1.872], []),
    "longer-sequences": ("supported", POWERS, [-0.2997], []),
    "table-1": ("holds", "cells", [0], []),
    "all-rescaling": ("does not hold", "largest change", [-1e-9, 6.758, -1e-9], []),
    "case-rescaling": ("holds", "largest change", [-1e-9], [5.785]),
    # Twice the length turns half as far, which squared is a quarter: 0.25 from one half.
    "curvature": ("does not hold", "of the block", [0.25 - 0.01], []),
    "feature-shifting": ("does not hold", "largest change", [2.335], [-1e-9]),
    "steady-gradients": ("undecided", POWERS, [-1.053, 1.033, 1.872], []),
    "variable-lengths": ("holds", "largest change", [-1e-9], [0.9977]),
    "correlated-changes": ("undecided", "correlation", [-0.1597, 0.07252, -0.1892, -0.02728], []),
    "hidden-dynamics": (
        "supported", POWERS, [-14.49, -0.7708, -0.07411], [0.0009134, 0.00401, -0.05534],
    ),
    "no-parameterization": ("holds", "of the output", [-2.269], [-1e-9]),
    "robust-scaling": (
        "supported", POWERS, [-0.1794, -0.1794, -1.11, -1.11, -1.204, -1.204],
        [0.1291, -1.11, 0, 0, 0, 0],
    ),
    "minimal-memory": ("does not hold", "numbers", [64 * 1024 + 2 * 64], [0]),
    "pre-norm-flow": (
        "undecided", POWERS, [-0.5872, 0.344, -0.6614, 0.1831], [-0.1467, 0.1232, -0.2738, 0.1401],
    ),
}  # fmt: skip
#: The same as shares of the network without a norm, or with batch norm.
SHARES = {
    "hidden-gradients": [-0.04663, 0.1103, 1.772],
    "steady-gradients": [-0.04663, 0.1103, 1.772],
    "longer-sequences": [-1.0],
    "hidden-dynamics": [-0.9998, -0.9956, -0.955, 0.1119, 1.917, -0.7668],
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_computed_claim_has_its_label_and_numbers(name):
    (result,) = claims.evaluate(Records(), [CLAIMS[name]])
    label, unit, counting, others = COMPUTED[name]
    assert str(result.label) == label
    findings = result.findings
    assert {finding.unit for finding in findings[: len(counting)]} == {unit}
    assert [finding.counts for finding in findings] == [True] * len(counting) + [False] * len(
        others
    )
    means = [float(finding.differences.mean()) for finding in findings]
    np.testing.assert_allclose(means, counting + others, rtol=1e-3, atol=1e-8)
    exact = unit not in (POWERS, "correlation")
    for finding in findings:
        assert (finding.exact, finding.seeds) == (exact, 1 if exact else 10)
    shares = [float(finding.shares.mean()) for finding in findings if finding.shares is not None]
    np.testing.assert_allclose(shares, SHARES.get(name, []), rtol=1e-3)


@pytest.mark.parametrize("name", sorted(OPEN))
def test_an_open_claim_has_no_finding(name):
    assert CLAIMS[name].evaluate(Records()) == []


# The numbers beside those of the paper's figures and tables: means over all seeds of an arm.


def mean(experiment, case, value, arm):
    runs = oracle.arm(truth.records(case), experiment, arm, "main")
    return fmean(value(run) for run in runs.values())


def final(name, factor=100):
    return lambda run: factor * protocol.end(oracle.numbers(run, name))


def best(name, factor=1):
    return lambda run: factor * at_best(run, name)


PAPER_NUMBERS = {
    "figure-1": ("order_embeddings", [best("epoch"), lambda run: -lowest(run)]),
    "table-2": ("order_embeddings", [
        best(f"test_{way}_{measure}", 1 if measure == "mean_rank" else 100)
        for way in ("caption", "image")
        for measure in ("recall_1", "recall_5", "recall_10", "mean_rank")
    ]),
    "figure-2": ("attentive_reader", [final("val_error"), "ratio"]),
    "figure-3": ("skip_thoughts", ["ratio"]),
    "table-3": ("skip_thoughts", [None, None, None, final("mr"), final("cr"), final("subj"),
                                  None, final("caption_pairs")]),
    "figure-4": ("draw", [final("test_bound_of_all", 1), "ratio"]),
    "figure-5": ("handwriting", [final("val_new_nll", 1), "ratio"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ["better", "worse", "later"])
@pytest.mark.parametrize("name", numbers.OF)
def test_the_numbers_beside_the_papers_are_means_of_the_records(name, case):
    experiment, values = PAPER_NUMBERS[name]
    rows = numbers.rows(name, InMemory(truth.records(case)))
    assert len(rows) == len(values)
    for row, value in zip(rows, values, strict=True):
        assert row.experiment == experiment
        if value is None:
            assert row.here == ("", "not among the tasks")
        elif value == "ratio":
            none, layer = (oracle.arm(truth.records(case), experiment, arm, "main")
                           for arm in ("none", "layer"))  # fmt: skip
            *_, ratios = protocol.ratios(none, layer, oracle.score, oracle.updates)
            assert row.here[0] == "100%"
            if all(map(math.isfinite, ratios)):
                assert parsed(row.here[1]) == [pytest.approx(100 * fmean(ratios), abs=0.51)]
            else:
                never = sum(map(math.isinf, ratios))
                assert parsed(row.here[1]) == [never, len(ratios)]
        else:
            digits = len(row.here[0].partition(".")[2])
            wanted = [mean(experiment, case, value, arm) for arm in ("none", "layer")]
            assert digits >= 1
            here = [float(value.replace("−", "-")) for value in row.here]
            np.testing.assert_allclose(here, wanted, rtol=0, atol=0.51 * 10**-digits)
