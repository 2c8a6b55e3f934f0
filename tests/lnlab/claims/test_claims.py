"""Claims and their verdicts: from made-up records, whose outcome is known, and from none."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from lnlab import claims, comparison
from lnlab import records as record
from lnlab.claims import Finding, numbers, trained
from lnlab.claims.finding import Claim, ClaimResult, Records
from lnlab.claims.scale import relative
from lnlab.cli import main
from lnlab.experiments import find

ROOT = Path(__file__).parents[3]
EPOCHS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
POINTS = len(EPOCHS)
SEEDS = range(3)
NOT_YET = f"{comparison.UNTESTABLE}: {comparison.NOT_RECORDED}"
OF = {claim.name: claim for claim in (*claims.PAPER, *claims.TUTORIALS)}
# All curves on which the claims of these experiments rest, and which way is better.
CURVES = {
    "attentive_reader": {"val_error": 1, "val_nll": 1, "test_error": 1},
    "skip_thoughts": {"val_nll": 1, "mr": -1, "cr": -1, "subj": -1, "caption_pairs": -1},
    "draw": {"val_bound": 1, "test_bound": 1, "test_bound_of_all": 1},
    "handwriting": {"val_new_nll": 1, "test_new_nll": 1, "val_seen_nll": 1, "batch_nll": 1},
    "convnet": {"val_error": 1, "val_nll": 1, "test_error": 1, "test_nll": 1},
}


class Made(Records):
    """Records that need not have been, of no folder."""

    def __init__(self, runs):
        self._read = {}
        for name in (*trained.TASKS, "mnist", "sequence", "weights"):
            self._read[f"{name}-*"] = [(None, run) for run in runs if run["experiment"] == name]

    def files(self, runs):
        return {}


CASES = ("train", "train_images", "train_questions")


def made(experiment, arm, seed, better=0.0, *, curves=(), **other):
    """A run of an arm; ``better`` lowers what is to be low and lets it fall sooner."""
    about = find(experiment)
    given = dict(trained.TASKS[experiment].arms[arm]) | other
    settings = about.settings(**{"learning_rate": 0.1} | given).as_dict()
    falls = [5.0, 4.5, 3.5, 3.0, 2.5, *[2.0] * 6] if better <= 0 else [5.0, *[2.0] * 10]
    low = [value - better - seed / 100 for value in falls]
    reported = {name: [sign * value / 10 for value in low]
            for name, sign in CURVES.get(experiment, {}).items()}  # fmt: skip
    reported |= {"epoch": EPOCHS, "wall_s": [3 * e for e in EPOCHS]} | dict(curves)
    if experiment == "skip_thoughts":
        reported |= {
            f"bag_{task}": [-1.0] * POINTS for task in ("mr", "cr", "subj", "caption_pairs")
        }
    return {"experiment": experiment, "settings": settings, "seed": seed, "curves": reported,
            "data": {"cases": dict.fromkeys(CASES, 640)},
            "provenance": {"device": "CPU: made up"}}  # fmt: skip


def book(experiment, better, **other):
    """All arms of an experiment, seed by seed; layer norm better by as much."""
    return [
        made(experiment, arm, seed, better[seed] if arm == "layer" else 0.0, **other)
        for arm in trained.TASKS[experiment].arms
        for seed in range(len(better))
    ]


def verdict(name, runs):
    return claims.evaluate(None, [OF[name]])[0] if runs is None else _weigh(name, Made(runs))


def _weigh(name, records):
    findings = tuple(OF[name].evaluate(records))
    return ClaimResult(OF[name], findings, {})


@pytest.mark.parametrize(
    "name", [claim.name for claim in claims.PAPER if len(claim.experiments) == 1]
)
def test_without_runs_or_with_one_seed_a_claim_is_not_yet_recorded(name):
    assert str(verdict(name, []).label) == NOT_YET
    (experiment,) = OF[name].experiments
    if experiment in CURVES:
        assert str(verdict(name, book(experiment, (1.0,))).label) == NOT_YET


def test_a_rival_without_runs_is_not_recorded_yet_and_the_others_do_not_stand_for_it():
    runs = book("attentive_reader", (1.0, 1.1, 0.9))
    assert str(verdict("reader-better", runs).label) == "3 of 3 seeds"
    without = [run for run in runs if run["settings"]["norm"] != "batch_everywhere"]
    result = verdict("reader-better", without)
    assert result.label.reason == f"1 of 3 measures: {comparison.NOT_RECORDED}"
    assert result.seeds == "3 seeds"
    (missing,) = (one for one in result.findings if one.untestable)
    assert claims.interval(missing) == "no runs"
    assert str(verdict("reader-gain", without).label) == "3 of 3 seeds"


def test_two_runs_of_one_seed_are_refused():
    runs = [run | {"experiment": "mnist", "settings": {
        "norm": norm, "batch_size": size, "learning_rate": 1e-3, "data": "mnist", "epochs": 8}}
        for norm in ("layer", "batch") for size in (128, 4)
        for run in book("draw", (1.0, 1.0))[:2]]  # fmt: skip
    with pytest.raises(ValueError, match="must differ in the seed, got two with seed 0"):
        verdict("faster-at-4", [*runs, *runs])


def test_the_seeds_of_a_claim_are_those_of_the_findings_that_decide():
    def seeds(*given):
        findings = tuple(Finding("x", -np.ones(n), "nats", **more) for n, more in given)
        return ClaimResult(OF["table-1"], findings, {}).seeds

    secondary, exact = {"counts": False}, {"exact": True}
    assert seeds((10, {}), (3, secondary)) == seeds((10, {}), (20, secondary)) == "10 seeds"
    assert seeds((10, {}), (3, {}), (5, {})) == "3 to 10 seeds"
    assert seeds((1, {}), (1, exact), (3, secondary)) == "1 seed"
    assert seeds((1, exact), (3, secondary)) == ""


def gains(changes, *norms):
    """Runs of three seeds whose final error depends on norm and initial gain."""
    return [
        made("attentive_reader", "layer", seed, norm=norm, gain=gain, curves={
            "val_error": [0.9, *[0.5 - (gain == 1) * changes[norm] - seed / 1000] * (POINTS - 1)]})
        for norm in norms for gain in (1.0, 0.1) for seed in SEEDS
    ]  # fmt: skip


def test_sensitivity_to_the_initial_gain_needs_both_gains_of_both_norms():
    norms = "layer", "batch", "batch_everywhere"
    runs = gains({"layer": 0.1, "batch": 0.3, "batch_everywhere": -0.05}, *norms)
    layer = [run for run in runs if run["settings"]["norm"] == "layer"]
    for some in ([], layer, [r for r in runs if r in layer or r["settings"]["gain"] == 0.1]):
        assert str(verdict("reader-scale", some).label) == NOT_YET
    one = verdict("reader-scale", runs)
    np.testing.assert_allclose([f.differences for f in one.findings], [[-20] * 3, [5] * 3])
    assert str(one.label) == "0 to 3 of 3 seeds"
    assert [len(f.runs) for f in one.findings] == [12, 12]
    for run in runs:
        run["curves"]["val_error"] = [1 - 0.05 * k for k in range(POINTS)]
    assert verdict("reader-scale", runs).label.reason == comparison.NO_PLATEAU


# Tables 2 and 3 as they are printed: a row without the norm, a row with it.
PRINTED = {
    "PAPER_TABLE_2": (
        "46.6 79.3 89.1 5.2 37.8 73.6 85.7 7.9",
        "48.5 80.6 89.8 5.1 38.9 74.3 86.3 7.6",
    ),
    "PAPER_TABLE_3": (
        "0.842 0.767 0.298 77.3 81.8 92.6 87.9",
        "0.854 0.785 0.277 79.5 82.6 93.4 89.0",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_numbers_of_a_table_are_those_that_the_paper_prints(name):
    pairs = zip(*(line.split() for line in PRINTED[name]), strict=True)
    assert list(getattr(numbers, name).values()) == list(pairs)


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("differences", "reported"),
    [
        ([NAN, -4.471, -4.43], "no number in 1 of 3 seeds, else −4.47 to −4.43 nats"),
        ([NAN, -4.4, NAN], "no number in 2 of 3 seeds, else −4.4 to −4.4 nats"),
        ([NAN] * 3, "no number in 3 of 3 seeds"),
        ([NAN], "no number in 1 of 1 seed"),
        ([NAN, INF, -1], "never in 1, no number in 1 of 3 seeds, else −1 to −1 nats"),
        ([INF, -INF, -1], "never in 1, baseline never in 1 of 3 seeds, else −1 to −1 nats"),
        ([INF, INF], "never in 2 of 2 seeds"),
        ([INF, *range(-12, -2)], "never in 1 of 11 seeds, else −12 to −3 nats"),
        ([-1.0], "−1 nats (one seed)"),
    ],
)  # fmt: skip
def test_a_seed_without_a_number_is_told_and_not_counted(differences, reported):
    finding = Finding("bound", np.array(differences), "nats")
    assert claims.interval(finding) == reported


def test_runs_that_exploded_are_missing_in_claims_and_in_the_papers_tables():
    runs = book("draw", (1.0, 1.1, 0.9))
    reported, cells = [], []
    for run in (run for run in runs if run["settings"]["norm"] == "layer"):
        run["curves"]["test_bound_of_all"] = [None] * POINTS
        reported.append(claims.interval(verdict("draw-bound", runs).counting[0]))
        cells.append(numbers.rows("figure-4", Made(runs))[0].cells[-1])
    assert [text.partition(" of ")[0] for text in reported] == [
        f"no number in {k}" for k in (1, 2, 3)
    ]
    alone = f"{runs[-1]['curves']['test_bound'][-1]:.2f}"
    assert cells[1:] == [f"{alone}, 1 of 3 seeds", "no number"]


def test_a_baseline_that_exploded_at_once_has_no_targets():
    runs = book("attentive_reader", (1.0, 1.1, 0.9))
    for run in (run for run in runs if run["settings"]["norm"] == "none"):
        run["curves"]["val_error"] = [None] * POINTS
    one = verdict("reader-faster", runs)
    assert str(one.label) == f"{comparison.UNTESTABLE}: {comparison.DIVERGED}"
    assert claims.interval(one.counting[0]) == "3 seeds"


@pytest.mark.parametrize(
    ("experiment", "hidden", "updates_an_epoch", "epochs", "reported"),
    [
        # 10 x 500 batches of 100 are 10 passes over 50,000 images, of 200.
        ("draw", 64, 500, 10, "25% of the paper's units, 5% of its epochs, the same data"),
        ("skip_thoughts", 600, 200, 25,
         "25% of the paper's units, 0.5% of its updates, other data"),
        ("mnist", [500, 1000], 500, 15,
         "50% of the paper's units, 25% of its epochs, the same data"),
        ("handwriting", 100, 500, 9,
         "25% of the paper's units, length of its training not given, other data"),
    ],
)  # fmt: skip
def test_units_and_length_of_training_are_told_as_shares_of_the_papers(
    experiment, hidden, updates_an_epoch, epochs, reported
):
    settings = {"hidden": hidden, "updates_an_epoch": updates_an_epoch, "batch_size": 100}
    run = {"experiment": experiment, "settings": settings, "curves": {"epoch": [0, 1, epochs]},
           "data": {"cases": {"train": 50_000, "val": 7_000, "test": 10_000}}}  # fmt: skip
    assert relative([run]) == reported


def test_every_claim_has_its_own_name_a_section_of_the_paper_and_a_page_that_exists():
    anchors = set(
        re.findall(r"^\(paper-section-([\d-]+)\)=", (ROOT / "book/equations.md").read_text(), re.M)
    )
    assert len(OF) == len(claims.PAPER) + len(claims.TUTORIALS)
    for claim in claims.PAPER:
        assert claim.section.replace(".", "-") in anchors, claim.name
        assert len(claim.quote.split()) <= 9, claim.name
    for claim in OF.values():
        assert not claim.page or (ROOT / "book" / f"{claim.page}.ipynb").exists()
        assert set(claim.experiments) <= {
            *trained.TASKS,
            "mnist",
            "sequence",
            "weights",
            "transformer",
        }
        assert claim.statement.endswith(".")


def test_what_speaks_against_table_1_speaks_for_the_puzzles_of_the_chapter():
    refuted = {"all-rescaling", "curvature", "feature-shifting"}
    for name in ("table-1", "case-rescaling", *refuted):
        label = _weigh(name, Made([])).label.text
        assert label == (comparison.FAILS if name in refuted else comparison.HOLDS)


def test_json_tells_what_was_never_reached_from_what_is_no_number():
    finding = Finding("x", np.array([-0.5, np.inf, -np.inf, np.nan]), "of the updates")
    claim = Claim("a", "6.4", "b", "C.", "d", "e", "", ("draw",), lambda records: [finding])
    (result,) = claims.as_json([ClaimResult(claim, (finding,), {})])["claims"]
    assert result["findings"][0]["differences"] == [
        -0.5, None, "baseline never", "no number",
    ]  # fmt: skip
    assert [result["findings"][0][name] for name in ("mean", "low", "high")] == ["no number"] * 3
    assert all(word in claims.SCHEMA for word in ("null: ", '"no number": ', '"baseline never"'))
    json.dumps(result, allow_nan=False)


def test_the_command_weighs_a_folder_and_says_what_to_run(tmp_path, capsys, monkeypatch):
    weigh, few = claims.evaluate, [OF["draw-bound"], OF["skip-month"]]  # to compute all takes long
    monkeypatch.setattr(claims, "evaluate", lambda where: weigh(where, few))
    noise = next((record.folder() / "noise").glob("*.json"))
    shutil.copy(noise, tmp_path)  # a folder without any record is refused
    assert main(["claims", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert f"{NOT_YET}  6.4" in text
    assert "python -m lnlab replay draw" in text
    assert main(["claims", "--runs", str(tmp_path / "gone")]) == 1
    assert capsys.readouterr().err.startswith("lnlab claims: --runs must be a folder with records")


def test_the_size_of_runs_that_were_cut_is_that_of_the_shortest():
    with_it = {one.claim.name: one for one in claims.evaluate(None, [OF["robust"]])}
    (finding, *_) = with_it["robust"].counting
    assert max(run["curves"]["epoch"][-1] for run in finding.runs) == 60
    assert "20 epochs" in finding.what
    assert "33% of its epochs" in with_it["robust"].evidence
    assert {run["curves"]["epoch"][-1] for run in finding.compared} == {20}
