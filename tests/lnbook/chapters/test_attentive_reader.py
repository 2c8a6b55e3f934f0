"""Figures and tables of the attentive reader are those of its records."""

import numpy as np
import pytest

from lnbook.chapters.attentive_reader import figures
from lnlab.experiments.attentive_reader import EPOCHS_25, results
from tests.cases import learning_curve_chapters, oracle, toy_records


def test_main_runs_cut_to_25_epochs_join_the_shorter_ones_of_the_same_seeds():
    every = learning_curve_chapters.records("attentive_reader", "better")
    every = [run for run in every if oracle.has_default_settings(run)]
    main = [run | {"curves": run["curves"] | {"epoch": np.linspace(0, 40, 12).tolist()}}
            for run in every]  # fmt: skip
    main = [run for run in main if run["settings"]["learning_rate"] == toy_records.LOW]
    arm = results.TASK.arms[figures.BATCH_LSTM]
    of_arm = [run for run in main if arm.items() <= run["settings"].items()]
    batch = next(run for run in of_arm if run["seed"] == 1)
    curves = batch["curves"] | {"epoch": np.linspace(0, 25, 12).tolist()}
    shorter = batch | {"settings": batch["settings"] | EPOCHS_25, "curves": curves}
    main = [run for run in main if run not in of_arm]
    result = figures.AttentiveReaderRuns([*main, shorter], results.TASK)
    assert list(result.recorded()) == [figures.MAIN, figures.WITH_BATCH_NORM]
    for name, arm in result.groups[figures.WITH_BATCH_NORM].items():
        assert list(arm.runs) == [batch["seed"]], name
        epochs = arm.runs[batch["seed"]]["curves"]["epoch"]
        assert (len(epochs) == 7 and max(epochs) < 25) or name == figures.BATCH_LSTM
    same = result.groups[figures.MAIN][figures.LAYER].runs[batch["seed"]]["curves"]
    cut = result.groups[figures.WITH_BATCH_NORM][figures.LAYER].runs[batch["seed"]]["curves"]
    assert cut["val_error"] == same["val_error"][:7]
    epochs = {row[0]: row[4].rpartition(" of ")[2] for row in figures.errors(result).rows[:5]}
    assert epochs.pop("batch norm in the LSTM") == "25"
    assert set(epochs.values()) == {"40"}


def test_attention_on_names_and_answers_are_those_of_the_record():
    texts = ["@e1 or @e0 .\n@blank ?\n@e1\nruth 1:2", "@e5 @e5 @e0 .\n@blank ?\n@e5\njob 3:4"]
    texts.append("@e2 @e2 @e3 .\n@blank ?\n@e3\nacts 5:6")  # with it the mean is no median
    text = np.stack([np.frombuffer(t.encode().ljust(40, b"\0"), "u1") for t in texts])
    plain, run = (
        {"settings": {"epochs": 9} | results.TASK.arms[arm], "seed": 0, "arrays": {}}
        for arm in (figures.NO_NORM, figures.LAYER)
    )
    attention = np.full((4, 3, 4), 0.25)
    attention[-1] = [[0.7, 0, 0.3, 0], [0.2, 0.3, 0.5, 0], [0.2, 0.3, 0.1, 0.4]]
    run["arrays"] = {"attention": attention, "text": np.stack([text] * 4)}
    late = {**run, "seed": 1}
    result = figures.with_attention([late, plain, run])
    assert result == {figures.LAYER: run}
    assert figures.on_answer(run, "Ruth 1:2") == pytest.approx([25, 25, 25, 70])
    assert figures.on_answer(run, "Job 3:4")[-1] == pytest.approx(50)
    assert figures.on_names(run) == pytest.approx([*[200 / 3] * 3, 260 / 3])
    chances = np.zeros((4, 3, 12))
    chances[-1, [0, 1], [1, 0]] = 1
    run["arrays"]["chances"] = chances
    assert [figures.is_correct(run, verse) for verse in ("Ruth 1:2", "Job 3:4")] == [True, False]


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
        assert row[4] == ", ".join(f"{epoch:.0f}" for epoch in epochs) + " of 16"
    curves = result["layer"][min(result["layer"])]["curves"]
    rules = ("random", "last", "frequent", "frequent_unasked")
    for rule, row in zip(rules, (first, second, third, fourth), strict=True):
        wanted = [100 * curves[f"{split}_{rule}_error"][0] for split in ("val", "test")]
        np.testing.assert_allclose([float(row[2]), float(row[3])], wanted, atol=0.051)
