"""How runs are compared: which are of one kind, at which rate, by what, and what is printed."""

import dataclasses
import math

import numpy as np
import pytest

from lnlab import records
from lnlab.experiments import draw, handwriting
from lnlab.experiments._task import LAYER, NO_NORM, STARTS, TUNED_INIT, Measure, Task, lowest
from lnlab.experiments.attentive_reader import results as reader
from lnlab.experiments.draw import results as draws
from lnlab.experiments.handwriting import results as pens
from lnlab.experiments.skip_thoughts import results as skip

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]


@dataclasses.dataclass
class Settings:
    """Those of a made-up experiment."""

    norm: str = "layer"
    start: str = "usual"
    gain: float = 1.0
    learning_rate: float = 0.1
    epochs: int = 3
    batch_size: int = 4
    updates_an_epoch: int = 100
    keep: int = 0

    def as_dict(self):
        return vars(self)


TASK = Task(
    Settings,
    lowest("val"),
    "loss on validation",
    STARTS,
    (
        Measure("right, %", lambda run: 100 * TASK.at_best(run, "test"), better=1, digits=1),
        Measure("never measured", lambda run: TASK.at_best(run, "other")),
        Measure("at the end", lambda run: run["curves"]["test"][-1]),
    ),
    unit="bits",
    factor=-10,
)


def made(arm, rate, seed, val, test=(0.1, 0.2, 0.3, 0.4, 0.5), **given):
    """A record with this loss; 2 s an epoch and 1 s to begin."""
    settings = Settings(**STARTS[arm], learning_rate=rate, **given)
    curves = {"epoch": EPOCHS, "val": val, "test": test, "wall_s": [2 * e + 1 for e in EPOCHS]}
    return {"settings": settings.as_dict(), "seed": seed, "curves": curves}


def book(**given):
    """None is best at its last point, layer norm there at a third of it; and a run explodes."""
    results = []
    for s in range(3):
        results += [
            made(NO_NORM, 0.1, s, [9, 8, 7, 6, 5 + s / 10], **given),
            made(NO_NORM, 0.2, s, [9, 8, 4 + 9 * (s > 0), None, None], **given),
            made(TUNED_INIT, 0.1, s, [9, 8, 7, 4.5, 4.6], **given),
            made(LAYER, 0.1, s, [9, 9, 9, 9, 9], **given),
            made(LAYER, 0.2, s, [9, 6, 5 - s / 10, 4.7, 4.8], (0, 0, 0, 0.5 + s / 10, 1), **given),
        ]
    return results


def test_a_rate_that_fewer_seeds_tried_does_not_count():
    result = TASK.at_best_rates([*book(), made(NO_NORM, 0.3, 0, [1, 1, 1, 1, 1])])
    assert (result[NO_NORM].rate, 0.3 in result[NO_NORM].rates) == (0.1, False)
    # The lowest losses are 5 to 5.2, and 4, 8 and 8.
    assert "0.1: -51*  0.2: -66.67  (at the edge)" in TASK.text(book())


def test_rates_are_compared_on_the_seeds_that_all_of_them_have():
    # Over all five seeds, the mean of the first rate would be the higher one.
    more = [made(NO_NORM, 0.1, seed, [20] * 5) for seed in (3, 4)]
    result = TASK.at_best_rates([*book(), *more])[NO_NORM]
    assert result.rate == 0.1
    assert list(result.runs) == [0, 1, 2, 3, 4]
    assert result.rates == {0.1: pytest.approx(5.1), 0.2: pytest.approx(20 / 3)}


def test_points_are_after_so_many_updates():
    run = made(LAYER, 0.1, 0, [9, 8, None, 6, 7])
    assert TASK.updates(run).tolist() == [0, 50, 100, 200, 300]
    assert TASK.at_best(run, "test") == 0.4
    assert math.isnan(TASK.at_best(run, "other"))
    assert math.isnan(TASK.at_best(made(LAYER, 0.1, 0, [None] * 5), "test"))


def test_runs_of_other_settings_are_another_kind_and_the_usual_one_is_first():
    result = TASK.run_groups(book(batch_size=8, epochs=5) + book() + book(batch_size=2))
    assert [changed for changed, _ in result] == [
        {},
        {"batch_size": 2},
        {"batch_size": 8, "epochs": 5},
    ]
    assert [len(runs) for _, runs in result] == [15, 15, 15]


def test_of_twins_the_one_counts_that_keeps_nothing():
    extra = made(LAYER, 0.2, 1, [1, 1, 1, 1, 1], keep=7)
    for both in ([*book(), extra], [extra, *book()]):
        assert TASK.text(both) == TASK.text(book())
    ((_, alone),) = TASK.run_groups([extra])
    assert alone == [extra]


def test_a_measure_is_taken_where_the_score_is_lowest_and_seed_by_seed():
    result = TASK.at_best_rates(book()[5:])  # the first seed has no run without norm
    first, end = TASK.rows(result[NO_NORM], result[LAYER])
    assert (first.name, end.name) == ("right, %", "at the end")
    np.testing.assert_allclose(first.none, [50, 50])
    np.testing.assert_allclose(first.layer, [60, 70])
    np.testing.assert_allclose(first.difference, [10, 20])


def test_records_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match=r"records must differ in arm, .*, got none, 0\.1 twice"):
        TASK.text([*book(), made(NO_NORM, 0.1, 0, [9, 8, 7, 6, 5])])


def test_rates_without_a_common_seed_cannot_be_compared():
    other = [made(NO_NORM, 0.3, seed, [9, 8, 7, 6, 5]) for seed in (3, 4, 5)]
    with pytest.raises(ValueError, match=r"none must have a seed in common .*0\.3: \[3, 4, 5\]"):
        TASK.at_best_rates([*book(), *other])


def test_sentence_tasks_count_at_the_end_and_what_was_not_judged_is_left_out():
    run = {"curves": {"mr": [0.5, None, 0.7, None], "cr": [None] * 4}}
    np.testing.assert_allclose(skip.scored(run, "mr"), [50, 70])
    assert skip.scored(run, "cr").tolist() == skip.scored(run, "subj").tolist() == []
    values = {m.name: m.value(run) for m in skip.TASK.measures if "MR" in m.name}
    assert values["MR, %"] == pytest.approx(70)
    assert values["untrained: MR, %"] == pytest.approx(50)
    assert math.isnan(values["words: MR, %"])


def test_the_reader_s_arms_are_told_apart_by_norm_and_gain():
    arms = {(norm, gain): [name for name, given in reader.TASK.arms.items()
                           if given["norm"] == norm and given.get("gain", 1.0) == gain]
            for norm, gain in (("layer", 1.0), ("layer", 0.1), ("batch", 0.1))}  # fmt: skip
    assert list(arms.values()) == [[LAYER], [reader.SMALL_GAIN], [reader.BATCH_LSTM]]
    run = {"data": {"cases": {"train_questions": 43}}, "settings": {"batch_size": 4},
           "curves": {"epoch": EPOCHS}}  # fmt: skip
    assert reader.TASK.updates(run).tolist() == [0, 5, 10, 20, 30]


@pytest.mark.parametrize(
    ("experiment", "task", "tuned"),
    [(draw, draws.TASK, draw.TUNED), (handwriting, pens.TASK, handwriting.TUNED)],
    ids=["draw", "handwriting"],
)
def test_the_rates_of_the_book_are_the_best_of_its_sweep_and_not_at_its_edge(
    experiment, task, tuned
):
    sweep = experiment.SWEEP.overrides
    changed = {k: v for k, v in sweep.items() if k != "learning_rate" and not isinstance(v, tuple)}
    result = task.at_best_rates(records.read_all(experiment.EXPERIMENT.name, **changed))
    assert set(result) >= {"none", "layer"}
    for arm, of in result.items():
        assert tuple(of.rates) == experiment.RATES
        assert of.rate == tuned[tuple(STARTS[arm].values())[:2]]
        assert not of.at_edge
