"""Claims and their verdicts: from made-up records, whose outcome is known, and from none."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from lnlib import claims, compare
from lnlib.__main__ import main
from lnlib.claims import NOT_YET, OPEN, Finding, numbers, trained
from lnlib.claims.finding import Claim, Records, Weighed
from lnlib.experiments import find, mnist
from lnlib.experiments.handwriting.results import TASK
from lnlib.runs import record

ROOT = Path(__file__).parents[2]
EPOCHS = [0.0, 0.5, 1.0, 1.5, 2.0]
SEEDS = range(3)
HOLDS, FAILS, UNDECIDED = compare.HOLDS, compare.FAILS, compare.UNDECIDED
OF = {claim.name: claim for claim in (*claims.PAPER, *claims.TUTORIALS)}
# All curves on which the claims of these experiments rest, and which way is better.
CURVES = {
    "attentive_reader": {"val_error": 1, "test_error": 1},
    "skip_thoughts": {"val_nll": 1, "mr": -1, "cr": -1, "subj": -1, "caption_pairs": -1},
    "draw": {"val_bound": 1, "test_bound": 1, "test_bound_of_all": 1},
    "handwriting": {"val_new_nll": 1, "test_new_nll": 1},
    "convnet": {"val_error": 1, "test_error": 1},
}
# The claims that hold where layer norm is better, and there alone.
ABOUT_LAYER = {
    "attentive_reader": ["reader-faster", "reader-better"],
    "skip_thoughts": ["skip-speedup", "skip-better"],
    "draw": ["draw-twice", "draw-bound"],
    "handwriting": ["pen-faster"],
    "convnet": ["conv-speedup"],
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


def made(experiment, arm, seed, better=0.0, *, ms=10.0, curves=(), **other):
    """A run of an arm; ``better`` lowers what is to be low and lets it fall sooner."""
    about = find(experiment)
    given = dict(trained.TASKS[experiment].arms[arm]) | other
    settings = about.settings(**{"learning_rate": 0.1} | given).as_dict()
    falls = [5.0, 4.0, 3.0, 2.5, 2.0] if better <= 0 else [5.0, 2.0, 1.9, 1.8, 1.7]
    low = [value - better - seed / 100 for value in falls]
    told = {name: [sign * value / 10 for value in low]
            for name, sign in CURVES.get(experiment, {}).items()}  # fmt: skip
    told |= {"epoch": EPOCHS, "wall_s": [3 * e for e in EPOCHS]} | dict(curves)
    if experiment == "skip_thoughts":
        told["update_ms"] = [None, ms, ms, ms, ms]
    return {"experiment": experiment, "settings": settings, "seed": seed, "curves": told,
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
    return claims.weigh(None, [OF[name]])[0] if runs is None else _weigh(name, Made(runs))


def _weigh(name, records):
    findings = tuple(OF[name].weigh(records))
    return Weighed(OF[name], findings, {})


@pytest.mark.parametrize(
    ("better", "outcome"),
    [((1.0, 1.1, 0.9), HOLDS), ((-1.0, -0.9, -1.1), FAILS), ((1.0, -1.0, 1.0), UNDECIDED)],
    ids=["better", "worse", "mixed"],
)
@pytest.mark.parametrize(
    ("experiment", "name"), [(e, name) for e, names in ABOUT_LAYER.items() for name in names]
)
def test_a_claim_holds_where_layer_norm_is_better_and_there_alone(
    experiment, name, better, outcome
):
    assert verdict(name, book(experiment, better)).verdict == outcome


@pytest.mark.parametrize(
    "name", [claim.name for claim in claims.PAPER if len(claim.experiments) == 1]
)
def test_without_runs_or_with_one_seed_a_claim_is_not_yet_recorded(name):
    assert verdict(name, []).verdict == NOT_YET
    (experiment,) = OF[name].experiments
    if experiment in CURVES:
        assert verdict(name, book(experiment, (1.0,))).verdict == NOT_YET


def test_the_curves_that_claims_rest_on_are_those_that_the_experiments_measure():
    more = {"convnet": [f"{k}_1" for k in ("border_on", "inner_on", "border_deviation")],
            "attentive_reader": ["val_longer_error"], "skip_thoughts": ["update_ms"],
            "landscape": ["smoothness", "loss_range", "gradient_change", "shift_1", "moments_1"],
            "order_embeddings": ["val_image_recall_5", "test_caption_mean_rank"]}  # fmt: skip
    for experiment in trained.TASKS:
        for name in (*CURVES.get(experiment, ()), *more.get(experiment, ())):
            assert find(experiment).unit(name), (experiment, name)


def test_what_is_never_reached_is_infinitely_late_and_no_tie():
    runs = book("draw", (1.0, 1.0, -3.0))
    (finding, *_) = [f for f in verdict("draw-twice", runs).findings if f.counts]
    assert np.isinf(finding.differences).tolist() == [False, False, True]
    assert finding.verdict == UNDECIDED
    assert claims.interval(finding).startswith("never in 1 of 3 seeds, else ")


def test_shares_are_those_of_the_experiments_own_table():
    runs = book("handwriting", (1.0, 1.1, 0.9))
    ours = TASK.at_best_rates(runs)
    race = TASK.race(ours["none"], ours["layer"])
    finding = verdict("pen-faster", runs).counting[0]
    np.testing.assert_allclose(finding.differences, race - 1)
    told = f"{100 * race.mean():.0f} % ({100 * race.min():.0f} to {100 * race.max():.0f}); fewer: "
    assert "updates of layer norm to the other's best: " in TASK.text(runs)
    assert told + finding.verdict in TASK.text(runs)


def test_each_arm_counts_at_its_best_rate_and_the_usual_settings_decide():
    runs = book("draw", (1.0, 1.0, 1.0))
    runs += [
        run | {"settings": run["settings"] | {"learning_rate": 0.2},
               "curves": run["curves"] | {"val_bound": [9.0] * 5}}
        for run in runs
    ]  # fmt: skip
    runs += book("draw", (-1.0, -1.0, -1.0), glimpses=16)
    found = verdict("draw-bound", runs)
    assert found.verdict == HOLDS
    assert [f.verdict for f in found.findings if "glimpses 16" in f.what] == [FAILS, FAILS]
    # Other settings alone decide where there are no usual ones.
    assert (
        verdict("draw-bound", [r for r in runs if r["settings"]["glimpses"] == 16]).verdict == FAILS
    )


def test_two_runs_of_one_seed_are_refused():
    runs = [
        {"experiment": "mnist", "seed": seed, "curves": {"epoch": [0.0, 1.0]},
         "settings": {"norm": norm, "batch_size": 4, "learning_rate": 1e-3, "data": "mnist",
                      "epochs": 1}}
        for norm in ("layer", "batch") for seed in (0, 1, 0)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="must differ in the seed, got two with seed 0"):
        verdict("faster-at-4", runs)


def test_alike_is_within_the_margin_and_not_merely_lower():
    assert verdict("pen-comparable", book("handwriting", (0.5, -0.4, 0.2))).verdict == HOLDS
    assert verdict("pen-comparable", book("handwriting", (3.0, 3.1, 3.2))).verdict == FAILS
    assert verdict("pen-faster", book("handwriting", (3.0, 3.1, 3.2))).verdict == HOLDS


@pytest.mark.parametrize(("ms", "outcome"), [(10.5, HOLDS), (12.0, FAILS), (8.0, FAILS)])
def test_an_update_takes_as_long_to_a_tenth(ms, outcome):
    runs = [made("skip_thoughts", arm, seed, ms=ms if arm == "layer" else 10.0)
            for arm in ("none", "layer") for seed in SEEDS]  # fmt: skip
    assert verdict("skip-time", runs).verdict == outcome


def test_gain_one_is_held_against_a_tenth_and_batch_norm_against_all():
    runs = book("attentive_reader", (1.0, 1.0, 1.0))
    assert verdict("reader-gain", runs).verdict == HOLDS
    batch = [made("convnet", arm, seed, 2.0 if arm == "batch" else 0.0)
             for arm in trained.TASKS["convnet"].arms for seed in SEEDS]  # fmt: skip
    assert verdict("conv-batch", batch).verdict == HOLDS
    group = [made("convnet", arm, seed, {"batch": 1.0, "group": 2.0}.get(arm, 0.0))
             for arm in trained.TASKS["convnet"].arms for seed in SEEDS]  # fmt: skip
    found = verdict("conv-batch", group)
    assert found.verdict == UNDECIDED
    assert [f.what for f in found.findings if f.verdict == FAILS] == ["test error against group"]


@pytest.mark.parametrize(
    ("on", "deviation", "outcome"), [(0.5, 1.3, HOLDS), (1.5, 1.05, FAILS), (0.5, 0.6, HOLDS)]
)
def test_units_at_the_border_are_held_against_the_rest(on, deviation, outcome):
    curves = {}
    for k in (1, 2, 3):
        curves |= {f"border_on_{k}": [0, on * 0.4], f"inner_on_{k}": [0, 0.4],
                   f"border_deviation_{k}": [0, deviation]}  # fmt: skip
    runs = [
        made("convnet", arm, seed, curves=curves) for arm in ("none", "layer") for seed in SEEDS
    ]
    assert verdict("conv-border", runs).verdict == outcome
    assert verdict("conv-statistics", runs).verdict == outcome


def test_longer_sequences_are_held_against_the_usual_ones():
    usual, late = book("draw", (1.0, 1.0, 1.0)), book("draw", (0.2, 0.2, 0.2), glimpses=16)
    findings = [f for f in OF["long-and-small"].weigh(Made(usual + late))]
    assert [f.differences.tolist() for f in findings] == [[0.0] * 3]  # both race to the same point
    sooner = [run | {"curves": run["curves"] | {"val_bound": [5.0, 5.0, 0.1, 0.1, 0.1]}}
              if run["settings"]["norm"] == "layer" else run for run in usual]  # fmt: skip
    (found,) = OF["long-and-small"].weigh(Made(sooner + late))
    np.testing.assert_allclose(found.differences, -0.25)
    assert found.verdict == HOLDS


def rule(*verdicts, exact=False):
    signs = {HOLDS: -1.0, FAILS: 1.0}
    findings = tuple(Finding("x", np.full(3, signs[v]), "points", exact=exact) for v in verdicts)
    return Weighed(OF["table-1"], findings, {}).verdict


def test_measures_that_differ_leave_a_claim_undecided_but_one_exception_refutes_mathematics():
    assert rule(HOLDS, HOLDS) == HOLDS
    assert rule(FAILS, FAILS) == FAILS
    assert rule(HOLDS, FAILS) == UNDECIDED
    assert rule(HOLDS, FAILS, exact=True) == FAILS
    cases = Finding("x", np.array([-1.0, 1.0]), "cases", exact=True)
    assert cases.verdict == FAILS
    beside = Finding("x", np.ones(3), "points", counts=False)
    one = Weighed(OF["table-1"], (Finding("x", -np.ones(3), "points"), beside), {})
    assert one.verdict == HOLDS
    assert Weighed(OF["skip-month"], (), {}).verdict == OPEN


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


def test_a_measure_of_which_more_is_better_is_told_with_its_own_sign():
    finding = Finding("R@1", np.array([-1.0, -2.0, -3.0]), "points", turned=True)
    assert claims.interval(finding) == "+2 points (+1 to +3, lowest to highest of 3 seeds)"
    share = Finding("updates", np.array([-0.5, -0.4]), "of its updates")
    assert (
        claims.interval(share) == "−45% of its updates (−50 to −40, lowest to highest of 2 seeds)"
    )


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("differences", "told"),
    [
        ([NAN, -4.471, -4.43],
         "−4.45 nats (−4.47 to −4.43, lowest to highest of 2 of 3 seeds, 1 without a number)"),
        ([NAN, *range(5)],
         "+2 nats (+0 to +4, lowest to highest of 5 of 6 seeds, 1 without a number)"),
        ([NAN, -4.4, NAN], "−4.4 nats (1 of 3 seeds, 2 without a number)"),
        ([NAN] * 3, "no number, in 3 seeds"),
        ([NAN], "no number, in 1 seed"),
        ([NAN, INF, -1], "never in 1 of 3 seeds, 1 without a number, else −1 to −1 nats"),
        ([NAN, INF, INF], "never in 2 of 3 seeds, 1 without a number"),
        ([INF, INF], "never, in 2 seeds"),
    ],
)  # fmt: skip
def test_a_seed_without_a_number_is_told_and_not_counted(differences, told):
    finding = Finding("bound", np.array(differences), "nats")
    assert claims.interval(finding) == told
    assert finding.verdict == (FAILS if told.startswith("never, in") else UNDECIDED)


def test_runs_that_exploded_are_missing_in_claims_and_in_the_papers_tables():
    runs = book("draw", (1.0, 1.1, 0.9))
    told, cells = [], []
    for run in (run for run in runs if run["settings"]["norm"] == "layer"):
        run["curves"]["test_bound_of_all"] = [None] * 5
        told.append(claims.interval(verdict("draw-bound", runs).counting[0]))
        cells.append(numbers.rows("figure-4", Made(runs))[0].cells[-1])
    lost = [text.rpartition("seeds, ")[2].rstrip(")") for text in told]
    assert lost == ["1 without a number", "2 without a number", "no number, in 3 seeds"]
    alone = f"{runs[-1]['curves']['test_bound'][-1]:.2f}"
    assert cells[1:] == [f"{alone}, 1 of 3 seeds", "no number"]


@pytest.mark.parametrize(
    ("lost", "told"), [("none", "no number, in 3 seeds"), ("layer", "never, in 3 seeds")]
)
def test_of_a_plain_arm_that_exploded_at_once_no_race_is_told(lost, told):
    runs = book("attentive_reader", (1.0, 1.1, 0.9))
    for run in (run for run in runs if run["settings"]["norm"] == lost):
        run["curves"]["val_error"] = [None] * len(EPOCHS)
    (race, *_) = verdict("reader-faster", runs).counting
    assert claims.interval(race) == told


def test_a_task_of_which_nothing_was_a_number_is_told():
    runs = book("skip_thoughts", (1.0, 1.1, 0.9), curves={"mr": [None] * 5})
    (task, *_) = [f for f in verdict("skip-better", runs).findings if f.what.startswith("mr")]
    assert claims.interval(task) == "no number, in 3 seeds"
    cells = {row.what: row.cells for row in numbers.rows("table-3", Made(runs))}
    assert cells["MR, %"][-2:] == ["no number", "no number"]


def test_every_claim_has_its_own_name_a_section_of_the_paper_and_a_page_that_exists():
    anchors = set(
        re.findall(r"^\(paper-section-([\d-]+)\)=", (ROOT / "book/paper.md").read_text(), re.M)
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
        assert claim.says.endswith(".")


def test_what_speaks_against_table_1_speaks_for_the_puzzles_of_the_chapter():
    refuted = {"all-rescaling", "curvature", "feature-shifting"}
    for name in ("table-1", "case-rescaling", *refuted):
        assert _weigh(name, Made([])).verdict == (FAILS if name in refuted else HOLDS)


@pytest.fixture
def few(tmp_path):
    """A folder with the runs of section 6.6 that one claim rests on."""
    (tmp_path / "mnist").mkdir()
    for path in (record.folder() / "mnist").glob("mnist-*-b4-seed*.json"):
        shutil.copy(path, tmp_path / "mnist")
    return tmp_path


def test_a_new_record_changes_the_verdict(few):
    (before,) = claims.weigh(few, [OF["faster-at-4"]])
    assert before.verdict == HOLDS
    path = few / "mnist" / "mnist-layer-b4-seed1.json"
    slow = record.read(path)
    slow["curves"]["train_nll"] = [5.0] * len(slow["curves"]["epoch"])
    path.write_text(json.dumps(slow))
    (after,) = claims.weigh(few, [OF["faster-at-4"]])
    assert after.verdict == UNDECIDED


def test_json_names_each_record_behind_a_verdict_with_its_checksum(few):
    found = claims.as_json(claims.weigh(few, [OF["faster-at-4"], OF["skip-month"]]))
    one, other = json.loads(json.dumps(found, allow_nan=False))["claims"]
    files = {
        f"mnist/mnist-{norm}-b4-seed{s}.json" for norm in ("batch", "layer") for s in mnist.SEEDS
    }
    assert set(one["records"]) == files
    for name, digest in one["records"].items():
        assert hashlib.sha256((few / name).read_bytes()).hexdigest() == digest
    assert [f["counts"] for f in one["findings"]] == [True, False, False]
    assert all(f["low"] <= f["mean"] <= f["high"] for f in one["findings"])
    assert (other["verdict"], other["records"], found["counts"]) == (OPEN, {}, {HOLDS: 1, OPEN: 1})


def test_json_tells_what_was_never_reached_from_what_is_no_number():
    finding = Finding("x", np.array([-0.5, np.inf, np.nan]), "of its updates")
    claim = Claim("a", "6.4", "b", "C.", "d", "e", "", ("draw",), lambda records: [finding])
    (found,) = claims.as_json([Weighed(claim, (finding,), {})])["claims"]
    assert found["findings"][0]["differences"] == [-0.5, None, "no number"]
    assert [found["findings"][0][name] for name in ("mean", "low", "high")] == ["no number"] * 3
    assert all(f"{null}: " in claims.SCHEMA for null in ("null", '"no number"'))
    json.dumps(found, allow_nan=False)


def test_the_command_weighs_a_folder_and_says_what_to_run(tmp_path, capsys):
    noise = next((record.folder() / "noise").glob("*.json"))
    shutil.copy(noise, tmp_path)  # a folder without any record is refused
    assert main(["claims", "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "NOT YET RECORDED  6.4" in said
    assert "python -m lnlib replay draw" in said
    assert main(["claims", "--runs", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"][NOT_YET] > 10
    assert main(["claims", "--runs", str(tmp_path / "gone")]) == 1
    assert capsys.readouterr().err.startswith("lnlib claims: --runs must be a folder with records")


def test_the_best_rates_are_compared_seed_by_seed():
    runs = []
    for arm, best in (("none", 0.1), ("layer", 0.3)):
        for seed in SEEDS:
            for rate in (0.1, 0.3):
                at = 0.5 if rate == best else 0.0
                runs.append(made("handwriting", arm, seed, at, learning_rate=rate))
    (found,) = OF["higher-rates"].weigh(Made(runs))
    np.testing.assert_allclose(found.differences, -np.log10(3) * np.ones(3))
    assert found.verdict == HOLDS
