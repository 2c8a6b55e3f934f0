"""Every claim on synthetic records with a known answer, in numbers, sentence and JSON."""

import functools
import json
import math
from statistics import fmean

import numpy as np
import pytest

from lnlab import claims, comparison
from lnlab.claims import computed, numbers, tutorials
from lnlab.claims.finding import ClaimResult, Records, corrected, evaluate
from lnlab.cli import main
from tests.cases import protocol as oracle
from tests.cases import toy_records
from tests.cases.oracle import at_best, lowest, parsed
from tests.cases.protocol import Answer, ends, holm, key, outcome
from tests.cases.toy_records import InMemory, write
from tests.lnlab.claims import at_start_answers, truth

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


def compare_with(findings, answers):
    """Hold findings to the answers, number by number."""
    assert len(findings) == len(answers)
    for finding, answer in zip(findings, answers, strict=True):
        np.testing.assert_allclose(finding.differences, answer.differences, rtol=1e-9, atol=1e-12)
        assert finding.unit == answer.unit, finding.what
        assert (finding.counts, finding.turned) == (answer.counts, answer.turned), finding.what
        if answer.shares is None:
            assert finding.shares is None, finding.what
        else:
            np.testing.assert_allclose(finding.shares, answer.shares, rtol=1e-9, atol=1e-12)
        assert finding.exact == answer.exact
        assert finding.untestable == answer.untestable, finding.what


def test_every_claim_has_a_known_answer():
    assert set(CLAIMS) == {*truth.RECORDED, *COMPUTED, *OPEN}
    for name, claim in CLAIMS.items():
        assert bool(claim.experiments) == (name in truth.RECORDED), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", truth.RECORDED)
def test_differences_and_shares_are_those_of_the_records(name, case, folder, weighed):
    answers, result = truth.expected(name, case), weighed[case][name]
    compare_with(result.findings, answers)
    behind = {f"{run['experiment']}/{run['stem']}.json" for one in answers for run in one.runs}
    used = {f"{r['experiment']}/{r['stem']}.json" for f in result.findings for r in f.runs} if (
        case != "mixed") else set(result.files)  # fmt: skip
    assert used == behind
    assert case != "mixed" or all((folder / path).exists() for path in behind)


@functools.cache
def of_all(case):
    """The corrected p value of every comparison of a case."""
    return holm([one for name in truth.RECORDED for one in truth.expected(name, case)])


def words(answer, case):
    return outcome(answer, of_all(case).get(key(answer)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", truth.RECORDED)
def test_labels_follow_the_side_of_the_differences_and_the_number_of_seeds(name, case, weighed):
    answers = [one for one in truth.expected(name, case) if one.counts]
    result = weighed[case][name]
    each = [words(one, case) for one in answers]
    assert [str(one.label) for one in result.counting] == each
    if not each:
        assert str(result.label) == f"{comparison.UNTESTABLE}: {comparison.NOT_RECORDED}"
    elif len(set(each)) == 1:
        assert str(result.label) == each[0]
    elif any(text.startswith("not testable here") for text in each):
        assert result.label.text == comparison.UNTESTABLE
        for text in each:
            assert text.partition("not testable here: ")[2] in result.label.reason
    else:
        counts = [int(text.split()[0]) for text in each if text.endswith("of 3 seeds")]
        if len(counts) == len(each):
            assert str(result.label) == f"{min(counts)} to {max(counts)} of 3 seeds"
        elif not counts:
            assert result.label.text == comparison.UNDECIDED


def test_every_recorded_claim_has_seeds_that_agree_and_seeds_that_do_not(weighed):
    sides = {name: {of[name].label.side for of in weighed.values()} for name in truth.RECORDED}
    never = {name for name, result in sides.items() if result != {-1, 0, 1}}
    assert never == {"training-time", "skip-time", "reader-scale"}  # never testable
    kinds = {of[name].label.evidence for of in weighed.values() for name in truth.RECORDED}
    assert kinds == {comparison.Evidence.MANY, comparison.Evidence.FEW, comparison.Evidence.NONE}


# The sentence.


def reported(answer):
    """What a reader is told of an answer: mean, lowest and highest with the sign of the measure."""
    sign = -1 if answer.turned else 1
    scale = 100 if answer.unit.startswith("of ") else 1
    values = [sign * scale * d for d in answer.differences]
    return fmean(values), *ends(values)


def finite(answers):
    return [one for one in answers if all(map(math.isfinite, one.differences))]


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_tells_mean_bounds_and_number_of_seeds(case, weighed):
    count = 0
    for name in truth.RECORDED:
        answers = truth.expected(name, case)
        for finding, answer in zip(weighed[case][name].findings, answers, strict=True):
            if answer not in finite([answer]):
                continue
            text = claims.interval(finding)
            mean, low, high, *rest = parsed(text.replace("95% interval", "interval"))
            np.testing.assert_allclose([mean, low, high], reported(answer), rtol=6e-3, atol=1e-9)
            assert rest == [len(answer.differences)], text
            few = "lowest to highest" in text
            assert few == ("95% interval" not in text) == (len(answer.differences) < 10), text
            count += 1
    assert count > 40


def test_what_was_never_reached_is_counted_in_the_sentence(weighed):
    for name in truth.RECORDED:
        answers = truth.expected(name, "worse")
        for finding, answer in zip(weighed["worse"][name].findings, answers, strict=True):
            if not any(map(math.isinf, answer.differences)):
                continue
            never, seeds = sum(map(math.isinf, answer.differences)), len(answer.differences)
            text = claims.interval(finding)
            assert text.startswith(f"never in {never}")
            assert parsed(text)[:2] == [never, seeds], text


# JSON.


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
            if answer in finite([answer]):
                low, high = ends(answer.differences)
                wanted = fmean(answer.differences), low, high
                numbers = [finding[key] for key in ("mean", "low", "high")]
                np.testing.assert_allclose(numbers, wanted, rtol=1e-5)
    groups = [
        "a count of few seeds" if one["label"]["evidence"] == "few seeds" else one["label"]["text"]
        for one in reported["claims"]
    ]
    assert reported["counts"] == {group: groups.count(group) for group in set(groups)}


# Claims that are computed: what they measure is replaced by numbers that are known.

TINY = 1e-9  # a change up to this is rounding


class Fake:
    """Stands for a module: answers some calls itself, and has all else of the module."""

    def __init__(self, module, **answers):
        self.__dict__ |= vars(module) | answers


def same_computation(patch):
    follow = type("Stream", (), {"train": np.array([1.0, 2.0, 3.0]),
                                 "test": np.array([9.0, 1.0, 2.5, 2.8])})  # fmt: skip
    patch(computed, running=Fake(computed.running, follow=lambda *args: follow))
    return [Answer([-TINY], "largest change", exact=True),
            Answer([0.5 - TINY], "largest change", counts=False, exact=True)]  # fmt: skip


def decades(patch):
    """Gradients that shrink or grow by known powers of ten, by scale and kind of network."""
    powers = {("plain", 0.5): -4.0, ("plain", 1.0): 0.5, ("plain", 2.0): 2.0,
              ("paper", 0.5): -1.0, ("paper", 1.0): 1.5, ("paper", 2.0): -2.0}  # fmt: skip

    def carry(x, dh, params, form):
        (scale,) = (
            s
            for s in (0.5, 1.0, 2.0)
            if np.allclose(params["W_hh"] @ params["W_hh"].T, s * s * np.eye(64))
        )
        power = powers[form, scale] * (1 + abs(x[0, 0, 0]) / 10)  # of its own for every seed
        ends = [7.0, 99.0, 7.0 * 10**power]
        return type("Carried", (), {"gradient": np.array(ends)})  # fmt: skip

    patch(computed, recurrence=Fake(computed.recurrence, carry=carry))
    computed.carried.cache_clear()
    noise = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        computed.recurrence.orthogonal(8, 64, rng)
        noise.append(1 + abs(rng.normal(size=(50, 16, 8))[0, 0, 0]) / 10)
    return {key: [abs(power) * one for one in noise] for key, power in powers.items()}


def vanishing(patch):
    sizes = decades(patch)
    return [Answer([1 - d for d in sizes["plain", scale]], "powers of ten")
            for scale in (0.5, 1.0, 2.0)]  # fmt: skip


def hidden_dynamics(patch):
    sizes, result = decades(patch), []
    for scale in (0.5, 1.0, 2.0):
        pairs = [*zip(sizes["plain", scale], sizes["paper", scale], strict=True)]
        result.append(Answer([b - a for a, b in pairs], "powers of ten",
                            [(b - a) / a for a, b in pairs]))  # fmt: skip
    return result


def longer(patch):
    layers, batches = [], []

    def over_time(training, test, params):
        assert [len(batch) for batch in training] == [10] * 10
        assert len(test) == 40
        layer, batch = 0.1 + abs(test[0, 0, 0]), 2 + abs(test[0, 0, 0]) ** 2
        layers.append(layer)
        batches.append(batch)
        # From the last step of training, the tenth, to the last of all.
        size = {"layer": [5.0] * 9 + [2.0] * 30 + [2.0 * 10**-layer],
                "each step": [5.0] * 9 + [3.0] * 30 + [3.0 * 10**batch]}  # fmt: skip
        return type("OverTime", (), {"size": {k: np.array(v) for k, v in size.items()}})

    patch(computed, recurrence=Fake(computed.recurrence, over_time=over_time))
    CLAIMS["longer-sequences"].evaluate(Records())  # the numbers depend on what is drawn
    pairs = [*zip(layers, batches, strict=True)]
    layers.clear()
    return [Answer([a - b for a, b in pairs], "powers of ten",
                   [(a - b) / b for a, b in pairs])]  # fmt: skip


# Table 1 of the paper, row by row: whether the output stays the same.
TABLE_1 = {
    "batch": (True, False, True, True, True, False),
    "weight": (True, False, True, False, False, False),
    "layer": (True, True, False, True, False, True),
}
CHANGES = ("weight_matrix_rescaling", "weight_matrix_recentering", "weight_vector_rescaling",
           "dataset_rescaling", "dataset_recentering", "single_case_rescaling")  # fmt: skip


def measured(patch, values, default=0.0):
    def measure(norm, change, **options):
        assert not options
        return values.get((norm, change), default)

    patch(computed, invariance=Fake(computed.invariance, measure=measure))


def table_one(patch):
    cells = {
        (norm, change): 0.0 if same else 0.5
        for norm, row in TABLE_1.items()
        for change, same in zip(CHANGES, row, strict=True)
    }
    cells["batch", "weight_vector_rescaling"] = 1e-6  # more than rounding
    cells["layer", "dataset_recentering"] = 1e-10
    cells["weight", "single_case_rescaling"] = 0.0
    measured(patch, cells)  # fmt: skip
    return [Answer([3.0], "cells", exact=True)]


def all_rescaling(patch):
    changes = (("batch", 0.0), ("weight", 0.25), ("layer", 1e-12))
    measured(patch, {(norm, "dataset_rescaling"): change for norm, change in changes}, default=7.0)
    return [Answer([change - TINY], "largest change", exact=True)
            for change in (0.0, 0.25, 1e-12)]  # fmt: skip


def case_rescaling(patch):
    measured(patch, {("layer", "single_case_rescaling"): 0.0,
                     ("layer", "negative_rescaling"): 2.0}, default=7.0)  # fmt: skip
    return [Answer([-TINY], "largest change", exact=True),
            Answer([2.0 - TINY], "largest change", counts=False, exact=True)]  # fmt: skip


def feature_shifting(patch):
    measured(patch, {("layer", "feature_shift"): 1.5}, default=7.0)
    return [Answer([1.5 - TINY], "largest change", exact=True),
            Answer([-TINY], "largest change", counts=False, exact=True)]  # fmt: skip


def curvature(patch):
    # Twice the length turns half as far, which squared is a quarter: 0.25 from one half.
    return [Answer([0.25 - 0.01], "of the block", exact=True)]


def padding(patch):
    """Real steps of a sequence alone are off by its length in tenths, twice that for batch norm."""

    def padded_states(x, lengths, params, form):
        if len(lengths) == 4:
            return np.zeros((20, 4, 64))
        assert len(x) == lengths[0]
        assert len(lengths) == (1 if form == "paper" else 2)
        return np.full((len(x), len(lengths), 64), (-0.1 if form == "paper" else 0.2) * len(x))

    patch(tutorials, recurrence=Fake(tutorials.recurrence, padded_states=padded_states))
    return [Answer([2.0 - TINY], "largest change", exact=True),
            Answer([4.0 - TINY], "largest change", counts=False, exact=True)]  # fmt: skip


COMPUTED = {
    "same-computation": same_computation,
    "vanishing": vanishing,
    "hidden-gradients": hidden_dynamics,
    "longer-sequences": longer,
    "table-1": table_one,
    "all-rescaling": all_rescaling,
    "case-rescaling": case_rescaling,
    "curvature": curvature,
    "feature-shifting": feature_shifting,
    "steady-gradients": hidden_dynamics,
    "variable-lengths": padding,
    **at_start_answers.COMPUTED,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_computed_claim_counts_what_was_measured(name, monkeypatch):
    def patch(module, **names):
        for attribute, value in names.items():
            monkeypatch.setattr(module, attribute, value)

    answers = COMPUTED[name](patch)
    findings = CLAIMS[name].evaluate(Records())
    monkeypatch.undo()
    at_start_answers.clear()
    compare_with(findings, answers)
    for finding, answer in zip(findings, answers, strict=True):
        d = answer.differences
        assert str(finding.label) == outcome(answer)
        if answer.exact:
            assert parsed(claims.interval(finding))[0] == pytest.approx(max(0, d[0]), rel=0.05)
    one = ClaimResult(CLAIMS[name], tuple(findings), {})
    if all(answer.exact for answer in answers):
        wrong = any(answer.counts and max(answer.differences) > 0 for answer in answers)
        assert one.label.text == (comparison.FAILS if wrong else comparison.HOLDS)


@pytest.mark.parametrize("name", sorted(OPEN))
def test_an_open_claim_has_no_finding(name):
    assert CLAIMS[name].evaluate(Records()) == []


# The numbers beside those of the paper's figures and tables: means over all seeds of an arm.


def mean(experiment, case, value, arm):
    runs = oracle.arm(truth.records(case), experiment, arm, "main")
    return fmean(value(run) for run in runs.values())


def final(name, factor=100):
    return lambda run: factor * oracle.end(oracle.numbers(run, name))


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
            *_, ratios = oracle.ratios(none, layer, oracle.score, oracle.updates)
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
