"""What is drawn and judged is what the records say, whatever there is."""

import numpy as np
import pytest

from lnbook.chapters.skip_thoughts import figures, network, runs, tasks
from lnlab.claims.numbers import PAPER_TABLE_3
from lnlab.experiments.skip_thoughts import TASKS, Settings, results
from tests.cases import drawn, oracle, race_chapters

EPOCHS = [0.0, 0.5, 1.0, 2.0, 3.0]
ARMS = {
    figures.PLAIN: {"norm": "none", "start": "code"},
    figures.CHOSEN: {"norm": "none", "start": "scaled"},
    figures.LAYER: {"norm": "layer"},
}
CASES = {"mr": 10, "mr_most": 6, "cr": 10, "cr_most": 5, "subj": 4, "subj_most": 3,
         "caption_pairs": 6, "caption_pairs_most": 4}  # fmt: skip


def made(arm, rate, seed, losses, worth, ms=10.0, **other):
    """A record of 300 updates, judged before them, after 200 and at the end, on four tasks."""
    given = {"epochs": 3, "updates_an_epoch": 100, "judge_every": 2} | other
    settings = Settings(**ARMS[arm], learning_rate=rate, **given)
    curves = {"epoch": EPOCHS, "val_nll": losses, "update_ms": [None, *[ms] * 4]}
    if given["judge_every"]:
        for k, task in enumerate(TASKS):
            curves[task] = [0.5, None, None, *(w + k / 100 for w in worth)]
            curves[f"bag_{task}"] = [0.55, None, None, 0.6, 0.7 + seed / 100]
    return {"settings": settings.as_dict(), "seed": seed, "curves": curves,
            "data": {"cases": CASES}}  # fmt: skip


def book(**other):
    """Layer norm has no norm's best loss at half its updates, and each update takes longer."""
    result = []
    for s in range(3):
        result += [
            made(figures.PLAIN, 0.1, s, [9, 8, 7, 6, 5], (0.6, 0.70), **other),
            made(figures.CHOSEN, 0.1, s, [9, 7, 6, 4.2, 4.1], (0.6, 0.8), **other),
            made(figures.LAYER, 0.2, s, [9, 6, 5.5, 5 - s, 4.5], (0.6, 0.7 + (s - 1) / 50),
                 ms=10.5 + s, **other),
        ]  # fmt: skip
    return result


def sweep():
    return [
        made(arm, rate, 0, [9, 8, 7, 6, low], (), judge_every=None)
        for arm, lows in ((figures.PLAIN, (5.5, 5.0, 7.0)), (figures.LAYER, (4.0, 4.1, 4.2)))
        for rate, low in zip((0.1, 0.2, 0.3), lows, strict=True)
    ]


@pytest.fixture(scope="module")
def known():
    longer = book(length=50, batch_size=16, judge_every=None)
    slow = [made(figures.LAYER, 0.3, s, [9, 8, 7, 7, 7], (), length=50, batch_size=16,
                 judge_every=None) for s in range(3)]  # fmt: skip
    return figures.Runs(sweep() + book() + longer + slow, results.TASK)


def test_runs_are_told_apart_by_their_kind_and_by_their_own_best_rate(known):
    assert list(known.recorded()) == [figures.MAIN, runs.LONGER]
    assert known.missing == [runs.SMALLER]
    assert {name: arm.rate for name, arm in known.sweep.items()} == {"none": 0.2, "layer": 0.1}
    assert known.kinds[runs.LONGER][figures.LAYER].rate == 0.2
    small = figures.Runs(book(batch_size=4, judge_every=None), results.TASK)
    assert list(small.kinds) == [runs.SMALLER]


def test_no_records_are_refused_with_the_command_that_makes_them():
    with pytest.raises(ValueError, match=r"no records were given; .* replay skip_thoughts"):
        figures.Runs([], results.TASK)


def test_a_task_is_read_where_it_was_evaluated(known):
    where, values = figures.scores(known, figures.LAYER, "cr")
    assert where.tolist() == [0, 200, 300]
    np.testing.assert_allclose(values, [[50, 61, 71 + 2 * (s - 1)] for s in range(3)])
    where, values = tasks.word_scores(known, "mr")
    assert where.tolist() == [0, 200, 300]
    np.testing.assert_allclose(values[:, -1], [70, 71, 72] * 3)  # of the runs of every arm
    assert [tasks.chance_level(known, name) for name in ("mr", "subj", "caption_pairs")] == [
        60,
        75,
        50,
    ]


def test_table_3_has_the_paper_s_numbers_beside_ours(known):
    rows = {row[0]: row[1:] for row in figures.table_3(known).rows}
    assert rows["MR, %"] == ["70.0", "80.0", "70.0", "50.0", "71.0", *PAPER_TABLE_3["MR, %"]]
    assert rows["SUBJ, %"][-2:] == ["92.6", "93.4"]
    assert rows["caption pairs, AUC in %"][-2:] == ["–", "–"]
    assert "after 300 updates, mean of 3 seeds" in figures.table_3(known).caption


def map_of(arm, neighbors):
    texts = ["Is it?", "Was it?", "It is.", "It was."]
    encoded = np.array([[np.frombuffer(t.encode().ljust(9, b"\0"), "u1") for t in texts]] * 2)
    return {
        "settings": ARMS[arm] | {"start": ARMS[arm].get("start", "code"), "keep": True,
                                 "updates_an_epoch": 100},
        "curves": {"epoch": [0, 3]},
        "arrays": {"texts": encoded, "neighbors": np.array(neighbors, "u2")[..., None]},
    }  # fmt: skip


def test_the_shares_of_a_kind_are_those_of_the_runs_with_neighbors():
    plain = map_of(figures.PLAIN, [[1, 0, 3, 2], [1, 2, 0, 0]])
    layer = map_of(figures.LAYER, [[2, 2, 0, 0], [1, 0, 3, 2]])
    result = figures.with_neighbors(
        [{"settings": plain["settings"] | {"keep": False}}, layer, plain]
    )
    assert list(result) == [figures.PLAIN, figures.LAYER]
    for run, expected in zip(result.values(), ([1, 0.5], [0, 1]), strict=True):
        shares, chance = figures.alike(run, "questions")
        np.testing.assert_allclose(shares, expected)
        assert chance == pytest.approx(1 / 3)


def test_both_decoders_and_the_classifier_are_given_the_vector_alone():
    ways = {}
    for wire in network.FLOW.wires:
        ways.setdefault(wire.source, []).append(wire.target)
    assert ways["x"] == ["encoder"]
    assert ways["encoder"] == ["v"]
    assert ways["v"] == ["after", "before", "task"]
    given = [wire.source for wire in network.FLOW.wires if wire.target in ways["v"]]
    assert given == ["v"] * 3


TASK_NAMES = ("mr", "cr", "subj", "caption_pairs")
LINES = {
    "none": "no norm",
    "none, tuned initialization": "no norm, tuned initialization",
    "layer": "layer norm",
}


def worth(run, name):
    """What a task measured, in percent, by the update after which it did."""
    return {u: 100 * v for u, v in zip(oracle.updates(run), run["curves"][name], strict=True)
            if v is not None}  # fmt: skip


@pytest.mark.parametrize("case", race_chapters.CASES)
def test_tasks_are_drawn_with_the_range_of_the_seeds_and_said_at_the_end(case):
    known = race_chapters.read("skip_thoughts", case)
    result = race_chapters.arms("skip_thoughts", case)
    text = tasks.describe_tasks(known).partition("seeds. ")[2].split("; ")
    table = {row[0]: row[1:] for row in tasks.table_3(known).rows}
    heads = ("MR, %", "CR, %", "SUBJ, %", "caption pairs, AUC in %")
    knows_nothing = {"mr": 60, "cr": 62.5, "subj": 75, "caption_pairs": 50}
    for task, head, part, panel in zip(
        TASK_NAMES, heads, text, tasks.draw_tasks(known), strict=True
    ):
        ends, first, words = [], [], []
        for arm, label in LINES.items():
            rows = [worth(result[arm][s], task) for s in sorted(result[arm])]
            drawn.check_band(drawn.lines(panel)[label], list(rows[0]), [r.values() for r in rows])
            ends.append(np.mean([list(r.values())[-1] for r in rows]))
            first += [next(iter(r.values())) for r in rows]
            words += [list(worth(run, f"bag_{task}").values()) for run in result[arm].values()]
        drawn.check_band(drawn.lines(panel)["mean word vector"], list(rows[0]), words)
        ends.append(np.mean([row[-1] for row in words]))
        np.testing.assert_allclose(oracle.parsed(part), ends, atol=0.051)
        assert panel.data[-1].y == (knows_nothing[task],) * 2
        drawn.check_inside(panel)
        wanted = [*ends[:3], np.mean(first), ends[3]]
        np.testing.assert_allclose([float(v) for v in table[head][:5]], wanted, atol=0.051)
