"""Figures and tables show the recorded values."""

import numpy as np
import pytest

from lnbook.chapters.skip_thoughts import figures
from tests.cases import drawn, learning_curve_chapters, oracle

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
    text = figures.describe_tasks(known).partition("seeds. ")[2].split("; ")
    for task, part, panel in zip(TASK_NAMES, text, figures.draw_tasks(known), strict=True):
        ends, words = [], []
        for arm, label in LINES.items():
            rows = [worth(result[arm][s], task) for s in sorted(result[arm])]
            drawn.check_band(drawn.lines(panel)[label], list(rows[0]), [r.values() for r in rows])
            ends.append(np.mean([list(r.values())[-1] for r in rows]))
            words += [list(worth(run, f"bag_{task}").values()) for run in result[arm].values()]
        drawn.check_band(drawn.lines(panel)["mean word vector"], list(rows[0]), words)
        ends.append(np.mean([row[-1] for row in words]))
        np.testing.assert_allclose(oracle.parsed(part), ends, atol=0.051)
