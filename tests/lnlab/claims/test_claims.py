"""Claims and their verdicts: from made-up records, whose outcome is known, and from none."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from lnlab import claims, comparison, experiments
from lnlab import records as record
from lnlab.claims import Finding, Records, feedforward, numbers
from lnlab.claims.finding import Claim, ClaimResult
from lnlab.claims.scale import relative
from lnlab.cli import main
from tests.cases import toy_records
from tests.cases.oracle import has_default_settings
from tests.cases.toy_records import EPOCHS, POINTS, InMemory, make

ROOT = Path(__file__).parents[3]
NOT_YET = f"{comparison.UNTESTABLE}: {comparison.NOT_RECORDED}"
OF = {claim.name: claim for claim in (*claims.PAPER, *claims.TUTORIALS)}


def book(experiment, *seeds):
    """The default runs of all arms with these seeds; layer norm is better."""
    return [run for run in toy_records.of_arms("better", experiment)
            if run["seed"] in seeds and has_default_settings(run)]  # fmt: skip


def verdict(name, runs):
    return ClaimResult(OF[name], tuple(OF[name].evaluate(InMemory(runs))), {})


@pytest.mark.parametrize(
    "name", [claim.name for claim in claims.PAPER if len(claim.experiments) == 1]
)
def test_without_runs_or_with_one_seed_a_claim_is_not_yet_recorded(name):
    assert str(verdict(name, []).label) == NOT_YET
    (experiment,) = OF[name].experiments
    if experiment in ("attentive_reader", "skip_thoughts", "draw", "handwriting", "convnet"):
        assert str(verdict(name, book(experiment, 1)).label) == NOT_YET


def test_a_rival_without_runs_is_not_recorded_yet_and_the_others_do_not_stand_for_it():
    runs = book("attentive_reader", 1, 2)
    assert str(verdict("reader-better", runs).label) == "2 of 2 seeds"
    without = [run for run in runs if run["settings"]["norm"] != "batch_everywhere"]
    result = verdict("reader-better", without)
    assert result.label.reason == f"1 of 3 measures: {comparison.NOT_RECORDED}"
    assert result.seeds == "2 seeds"
    (missing,) = (one for one in result.findings if one.untestable)
    assert claims.interval(missing) == "no runs"
    assert str(verdict("reader-gain", without).label) == "2 of 2 seeds"


def test_two_runs_of_one_seed_are_refused():
    curves = dict.fromkeys(("epoch", "train_nll", "test_error"), EPOCHS)
    runs = [make("mnist", seed, curves, norm=norm, batch_size=4)
            for norm in ("layer", "batch") for seed in (0, 1, 0)]  # fmt: skip
    with pytest.raises(ValueError, match="must differ in the seed, got two with seed 0"):
        verdict("faster-at-4", runs)


def test_the_seeds_of_a_claim_are_those_of_the_findings_that_decide():
    def seeds(*given):
        findings = tuple(Finding("x", -np.ones(n), "nats", **more) for n, more in given)
        return ClaimResult(OF["table-1"], findings, {}).seeds

    secondary, exact = {"counts": False}, {"exact": True}
    assert seeds((10, {}), (3, secondary)) == seeds((10, {}), (20, secondary)) == "10 seeds"
    assert seeds((10, {}), (3, {}), (5, {})) == "3 to 10 seeds"
    assert seeds((1, {}), (1, exact), (3, secondary)) == "1 seed"
    assert seeds((1, exact), (3, secondary)) == ""


def gains(changes):
    """Runs of three seeds whose final error depends on norm and initial gain."""
    return [
        make("attentive_reader", seed, {"epoch": EPOCHS, "val_error": [0.9, *[end] * (POINTS - 1)]},
             norm=norm, gain=gain)
        for norm in changes for gain in (1.0, 0.1) for seed in range(3)
        for end in [0.5 - (gain == 1) * changes[norm] - seed / 1000]
    ]  # fmt: skip


def test_sensitivity_to_the_initial_gain_needs_both_gains_of_both_norms():
    runs = gains({"layer": 0.1, "batch": 0.3, "batch_everywhere": -0.05})
    layer = [run for run in runs if run["settings"]["norm"] == "layer"]
    for some in ([], layer, [r for r in runs if r in layer or r["settings"]["gain"] == 0.1]):
        assert str(verdict("reader-scale", some).label) == NOT_YET
    without = [run for run in runs if run["settings"]["norm"] != "batch_everywhere"]
    label = verdict("reader-scale", without).label
    assert label.reason == f"1 of 2 measures: {comparison.NOT_RECORDED}"
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
        ([NAN], "no number in 1 of 1 seed"),
        ([NAN, INF, -1], "never in 1, no number in 1 of 3 seeds, else −1 to −1 nats"),
        ([INF, -INF, -1], "never in 1, baseline never in 1 of 3 seeds, else −1 to −1 nats"),
        ([INF, *range(-12, -2)], "never in 1 of 11 seeds, else −12 to −3 nats"),
        ([-1.0], "−1 nats (one seed)"),
    ],
)  # fmt: skip
def test_a_seed_without_a_number_is_told_and_not_counted(differences, reported):
    finding = Finding("bound", np.array(differences), "nats")
    assert claims.interval(finding) == reported


def test_where_higher_is_better_differences_are_told_with_their_own_sign():
    finding = Finding("recall", np.array([-0.1, -0.3, -0.2]), "of it", turned=True)
    told = "+20% of it (+10 to +30, lowest to highest of 3 seeds)"
    assert claims.interval(finding) == told


def test_runs_that_exploded_are_missing_in_the_papers_tables():
    runs, cells = book("draw", 1, 2, 3), []
    best = [run for run in runs if run["settings"]["norm"] == "layer"
            and run["settings"]["learning_rate"] == toy_records.HIGH]  # fmt: skip
    alone = f"{best[-1]['curves']['test_bound_of_all'][-1]:.2f}"
    for run in best:
        run["curves"]["test_bound_of_all"] = [None] * POINTS
        cells.append(numbers.rows("figure-4", InMemory(runs))[0].cells[-1])
    assert cells[1:] == [f"{alone}, 1 of 3 seeds", "no number"]


def test_a_baseline_that_exploded_at_once_has_no_targets():
    runs = book("attentive_reader", 1, 2, 3)
    for run in (run for run in runs if run["settings"]["norm"] == "none"):
        run["curves"]["val_error"] = [None] * POINTS
    one = verdict("reader-faster", runs)
    assert str(one.label) == f"{comparison.UNTESTABLE}: {comparison.DIVERGED}"
    assert claims.interval(one.counting[0]) == "3 seeds"


CASES = {"train": 50_000, "train_images": 1_280, "train_captions": 6_400,
         "train_questions": 51_200, "train_pieces": 6_000}  # fmt: skip


@pytest.mark.parametrize(
    ("experiment", "hidden", "batch_size", "updates_per_epoch", "ends", "reported"),
    [
        # 10 x 500 batches of 100 are 10 passes over 50,000 images, of 200.
        ("draw", 64, 100, 500, [10], "25%, 25% of its glimpses, 5% of its epochs, the same data"),
        ("skip_thoughts", 600, 100, 200, [25],
         "25%, 0.5% of its updates, other data: 50,000 sentences"),
        ("mnist", [500, 1000], 100, 500, [60, 15, 60], "50%, 25 to 100% of its epochs, the same"),
        # 177 times 5 rounds of 10 batches are a tenth of 88,500.
        ("order_embeddings", 512, 128, 1, [177],
         "50%, 10% of its code's updates, other data: 1,280 images"),
        # 20 times 400 batches are a hundredth of 800,000.
        ("attentive_reader", 60, 128, 1, [20],
         "25%, 1% of its figure's updates, other data: 51,200 questions"),
    ],
)  # fmt: skip
def test_units_and_length_of_training_are_told_as_shares_of_the_papers(
    experiment, hidden, batch_size, updates_per_epoch, ends, reported
):
    settings = {"hidden": hidden, "updates_per_epoch": updates_per_epoch, "batch_size": batch_size,
                "glimpses": 16}  # fmt: skip
    runs = [{"experiment": experiment, "settings": settings, "curves": {"epoch": [0, 1, end]},
             "data": {"cases": CASES}} for end in ends]  # fmt: skip
    assert relative(runs).startswith(reported.replace("%,", "% of the paper's units,", 1))


def test_batch_sizes_are_compared_after_the_epochs_that_all_runs_have():
    """What the longer runs do later, here to diverge, changes nothing."""

    def runs(norm, size, ends):
        for seed, end in enumerate(ends):
            curve = [3.0, 2.0, *[end] * 9]
            more = {128: 4, 4: 0}[size]
            yield {
                "experiment": "mnist", "seed": seed, "provenance": {"device": "CPU: made up"},
                "settings": {"norm": norm, "batch_size": size, "epochs": 10 + more, "data": "mnist",
                             "hidden": [1000, 1000], "learning_rate": 1e-3},
                "curves": {"epoch": [*range(11 + more)],
                           "train_nll": [*curve, *[90.0 * len(norm)] * more],
                           "test_error": [*curve, *[90.0 * len(norm)] * more]},
            }  # fmt: skip

    made_up = Records.from_runs("mnist", [
        *runs("layer", 128, (1.0, 1.0)), *runs("layer", 4, (1.1, 1.2)),
        *runs("batch", 128, (1.0, 1.0)), *runs("batch", 4, (1.5, 1.5)),
    ])  # fmt: skip
    nll, error = feedforward.robust(made_up)
    np.testing.assert_allclose(nll.differences, [-0.4, -0.3])
    np.testing.assert_allclose(error.differences, [-40, -30])
    assert "10 epochs" in nll.description
    assert {run["curves"]["epoch"][-1] for run in nll.compared} == {10}


@pytest.mark.parametrize(("rises", "reason"), [(0.0, ""), (0.1, comparison.WORSENS)])
def test_the_gap_between_two_losses_needs_a_plateau_of_both(rises, reason):
    falling = [3.0, 2.0, *[1.0] * 9]
    made_up = Records.from_runs("mnist", [
        {
            "experiment": "mnist", "seed": seed, "provenance": {"device": "CPU: made up"},
            "settings": {"norm": norm, "batch_size": 128, "epochs": 10, "data": "mnist",
                         "hidden": [1000, 1000], "learning_rate": 1e-3},
            "curves": {"epoch": [*range(11)], "train_nll": falling,
                       "test_nll": [nll + 0.5 + slope * k for k, nll in enumerate(falling)]},
        }
        for seed in (0, 1) for norm, slope in (("none", rises), ("batch", 0.0))
    ])  # fmt: skip
    (gap,) = feedforward.regularizer(made_up)
    assert gap.untestable == reason
    np.testing.assert_allclose(gap.differences, -9 * rises, atol=1e-9)


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
        assert set(claim.experiments) <= {*experiments.names()}
        assert claim.statement.endswith(".")


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
