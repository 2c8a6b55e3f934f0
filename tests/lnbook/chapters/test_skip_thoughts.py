"""Figures and tables show the recorded values."""

import numpy as np
import pytest

from lnbook.chapters.skip_thoughts import figures, tasks
from tests.cases import drawn, learning_curve_chapters, oracle

ARMS = {
    figures.NO_NORM: {"norm": "none", "start": "code"},
    figures.TUNED_INIT: {"norm": "none", "start": "scaled"},
    figures.LAYER: {"norm": "layer"},
}


def map_of(arm, neighbors):
    texts = ["Is it?", "Was it?", "It is.", "It was."]
    encoded = np.array([[np.frombuffer(t.encode().ljust(9, b"\0"), "u1") for t in texts]] * 2)
    return {
        "settings": ARMS[arm] | {"start": ARMS[arm].get("start", "code"), "keep": True,
                                 "updates_an_epoch": 100},
        "curves": {"epoch": [0, 3]},
        "arrays": {"texts": encoded, "neighbors": np.array(neighbors, "u2")[..., None]},
    }  # fmt: skip


def test_fractions_of_a_category_come_from_runs_with_neighbors():
    plain = map_of(figures.NO_NORM, [[1, 0, 3, 2], [1, 2, 0, 0]])
    layer = map_of(figures.LAYER, [[2, 2, 0, 0], [1, 0, 3, 2]])
    result = figures.with_neighbors(
        [{"settings": plain["settings"] | {"keep": False}}, layer, plain]
    )
    assert list(result) == [figures.NO_NORM, figures.LAYER]
    for run, expected in zip(result.values(), ([1, 0.5], [0, 1]), strict=True):
        shares, chance = figures.agreement(run, "questions")
        np.testing.assert_allclose(shares, expected)
        assert chance == pytest.approx(1 / 3)


TASK_NAMES = ("mr", "cr", "subj", "caption_pairs")
LINES = {
    "none": "no norm",
    "none, tuned initialization": "no norm (tuned initialization)",
    "layer": "layer norm",
}


def worth(run, name):
    """The scores of a task in percent, by number of updates."""
    return {u: 100 * v for u, v in zip(oracle.updates(run), run["curves"][name], strict=True)
            if v is not None}  # fmt: skip


@pytest.mark.parametrize("case", learning_curve_chapters.CASES)
def test_tasks_are_drawn_with_the_range_over_seeds_and_stated_at_the_end(case):
    known = learning_curve_chapters.read("skip_thoughts", case)
    result = learning_curve_chapters.arms("skip_thoughts", case)
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
