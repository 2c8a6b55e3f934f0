"""Figures and tables of the attentive reader are those of its records."""

import numpy as np
import pytest

from lnbook.chapters.attentive_reader import figures, network, runs
from lnlab.experiments.attentive_reader import HEURISTICS, LEVELED, RELEASED, Settings, results
from tests.cases import learning_curve_chapters, oracle

EPOCHS = [0.0, 0.5, 1.0, 2.0]
HEURISTIC_ERRORS = dict(zip(HEURISTICS, (0.9, 0.8, 0.85, 0.6), strict=True))


def make_record(arm, rate, seed, errors, test=0.5, seconds=10.0, **other):
    """A record whose test error is lowest where the validation error is not."""
    norm = results.TASK.arms[arm]["norm"]
    given = LEVELED | {k: v for k, v in results.TASK.arms[arm].items() if k != "gain"} | other
    if norm == "layer":
        given["gain"] = results.TASK.arms[arm]["gain"]
    settings = Settings(learning_rate=rate, **given)
    curve = {"epoch": EPOCHS, "wall_s": [0, *np.linspace(1, seconds, 3)], "val_error": errors}
    curve["test_error"] = [0.1, 0.1, 0.1, test] if np.argmin(errors) == 3 else [0.1, 0.1, test, 0.1]
    for split in ("val", "test"):
        curve |= {f"{split}_{name}_error": [e] * 4 for name, e in HEURISTIC_ERRORS.items()}
    cases = {"train_questions": 100 * settings.batch_size}
    return {"settings": settings.as_dict(), "seed": seed, "curves": curve, "data": {"cases": cases},
            "arrays": {}}  # fmt: skip


def main_records(**other):
    """Layer norm takes half the updates of no norm and never matches batch norm."""
    result = []
    for s in range(3):
        result += [
            make_record(figures.NO_NORM, 0.1, s, [0.9, 0.8, 0.7, 0.5], **other),
            make_record(figures.LAYER, 0.2, s, [0.9, 0.6, 0.5, 0.4 + s / 100], seconds=20, **other),
        ]
        if not other:
            result += [
                make_record(figures.TUNED_INIT, 0.1, s, [0.9, 0.8, 0.4 + (s - 1) / 20, 0.6]),
                make_record(figures.BATCH_LSTM, 0.1, s, [0.9, 0.8, 0.7, 0.3]),
                make_record(figures.BATCH_EVERYWHERE, 0.1, s, [0.9, 0.8, 0.7, 0.6]),
                make_record(figures.SMALL_GAIN, 0.1, s, [0.9, 0.8, 0.7, 0.65]),
            ]
    return result


def sweep_records():
    return [
        make_record(arm, rate, 0, [0.9, 0.8, 0.7, low], epochs=1, pictures=0)
        for arm, lows in ((figures.NO_NORM, (0.55, 0.5, 0.7)), (figures.LAYER, (0.4, 0.41, 0.42)))
        for rate, low in zip((0.1, 0.2, 0.3), lows, strict=True)
    ]


@pytest.fixture(scope="module")
def known():
    small = main_records(batch_size=8)
    return figures.Runs(sweep_records() + main_records() + small, results.TASK)


def test_runs_with_the_settings_of_the_public_code_form_a_group():
    options = {name: value for name, value in RELEASED.items() if name != "start"}
    released = [
        run | {"settings": run["settings"] | {"start": "orthogonal_tied"}}
        for run in main_records(**options)
    ]
    result = figures.Runs(main_records() + released, results.TASK, results.RELEASED_TASK)
    assert list(result.recorded()) == [figures.MAIN, runs.RELEASED_CODE]
    assert {name: arm.rate for name, arm in result.groups[runs.RELEASED_CODE].items()} == {
        figures.NO_NORM: 0.1, figures.LAYER: 0.2,
    }  # fmt: skip


def test_attention_on_names_and_answers_are_those_of_the_record():
    texts = ["@e1 or @e0 .\n@blank ?\n@e1\nruth 1:2", "@e5 @e5 @e0 .\n@blank ?\n@e5\njob 3:4"]
    texts.append("@e2 @e2 @e3 .\n@blank ?\n@e3\nacts 5:6")  # with it the mean is no median
    text = np.stack([np.frombuffer(t.encode().ljust(40, b"\0"), "u1") for t in texts])
    run = make_record(figures.LAYER, 0.1, 0, [0.9, 0.8, 0.7, 0.6])
    attention = np.full((4, 3, 4), 0.25)
    attention[-1] = [[0.7, 0, 0.3, 0], [0.2, 0.3, 0.5, 0], [0.2, 0.3, 0.1, 0.4]]
    run["arrays"] = {"attention": attention, "text": np.stack([text] * 4)}
    late = {**run, "seed": 1}
    result = figures.with_attention([late, make_record(figures.NO_NORM, 0.1, 0, [0.9] * 4), run])
    assert result == {figures.LAYER: run}
    assert figures.on_answer(run, "Ruth 1:2") == pytest.approx([25, 25, 25, 70])
    assert figures.on_answer(run, "Job 3:4")[-1] == pytest.approx(50)
    assert figures.on_names(run) == pytest.approx([*[200 / 3] * 3, 260 / 3])
    chances = np.zeros((4, 3, 12))
    chances[-1, [0, 1], [1, 0]] = 1
    run["arrays"]["chances"] = chances
    assert [figures.is_correct(run, verse) for verse in ("Ruth 1:2", "Job 3:4")] == [True, False]


def test_score_and_answer_depend_on_passage_and_question():
    ways = {}
    for wire in network.FLOW.wires:
        ways.setdefault(wire.target, set()).add(wire.source)
    assert ways["score"] == {"read", "query"}
    assert ways["attend"] == {"read", "score"}
    assert ways["sum_up"] == {"attend", "query"}


@pytest.mark.parametrize("case", learning_curve_chapters.CASES)
def test_each_network_ends_with_the_numbers_of_synthetic_records(case):
    known = learning_curve_chapters.read("attentive_reader", case)
    table = figures.errors(known)
    result = learning_curve_chapters.arms("attentive_reader", case)
    *networks, first, second, third, fourth = table.rows
    assert len(networks) == len(result)
    for (arm, (label, *_)), row in zip(known.STYLES.items(), networks, strict=True):
        of = [result[arm][seed] for seed in sorted(result[arm])]
        val = [100 * oracle.lowest(run) for run in of]
        test = [100 * oracle.at_best(run, "test_error") for run in of]
        epochs = [oracle.at_best(run, "epoch") for run in of]
        assert row[:2] == [label, f"{of[0]['settings']['learning_rate']:g}"]
        wanted = [sum(val) / len(val), min(val), max(val)]
        np.testing.assert_allclose(oracle.parsed(row[2]), wanted, atol=0.051)
        np.testing.assert_allclose(float(row[3]), sum(test) / len(test), atol=0.051)
        assert row[4] == ", ".join(f"{epoch:.0f}" for epoch in epochs)
    curves = result["layer"][min(result["layer"])]["curves"]
    rules = ("random", "last", "frequent", "frequent_unasked")
    for rule, row in zip(rules, (first, second, third, fourth), strict=True):
        wanted = [100 * curves[f"{split}_{rule}_error"][0] for split in ("val", "test")]
        np.testing.assert_allclose([float(row[2]), float(row[3])], wanted, atol=0.051)
