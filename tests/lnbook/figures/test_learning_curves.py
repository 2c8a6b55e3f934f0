"""Learning curves and sentences compared with a second computation from the records."""

import math
from statistics import fmean

import numpy as np
import pytest

from lnbook.figures.run_groups import LAYER
from tests.cases import oracle
from tests.cases.drawn import check_band, lines
from tests.cases.learning_curve_chapters import CASES, CHAPTERS, arms, module, read, sweep
from tests.cases.oracle import parsed
from tests.cases.toy_records import ARMS

ALL = pytest.mark.parametrize("name", CHAPTERS)
EVERY = pytest.mark.parametrize("case", CASES)
MAIN = "standard settings"


@pytest.fixture(scope="module")
def runs():
    """The records of each chapter and case, read by the chapter's class."""
    return {(name, case): read(name, case) for name in CHAPTERS for case in CASES}


def curves(name, case, arm):
    """Return the horizontal positions of an arm, and its curves by seed."""
    result, chapter = arms(name, case), CHAPTERS[name]
    of = {s: [chapter.factor * v for v in result[arm][s]["curves"][chapter.curve]]
          for s in sorted(result[arm])}  # fmt: skip
    return oracle.updates(next(iter(result[arm].values()))), of


def without(text, labels):
    """A text without the names of lines, some of which contain numbers."""
    for label in sorted(labels, key=len, reverse=True):
        text = text.replace(label, "")
    return text


@ALL
@EVERY
def test_curves_show_mean_and_range_and_the_text_states_their_ends(name, case, runs):
    known, learning_curves = runs[name, case], module(name).LEARNING_CURVES
    (figure,) = learning_curves.draw_curves(known, "loss")
    drawn = lines(figure)
    ends = []
    for arm, (label, *_) in known.STYLES.items():
        where, by_seed = curves(name, case, arm)
        check_band(drawn[label], where, by_seed.values())
        ends.append((where[-1], fmean(values[-1] for values in by_seed.values())))
    text = learning_curves.describe_curves(known, "loss")
    reported, _, levels = without(text, [look[0] for look in known.STYLES.values()]).partition(
        "Without training"
    )
    end, seeds, *result = parsed(reported)
    assert (end, seeds) == (round(ends[-1][0]), 4)
    np.testing.assert_allclose(
        result, [value for _, value in ends], atol=0.51 * 10**-learning_curves.digits
    )
    assert "lowest seed to the highest" in learning_curves.curves.alt
    if levels:
        flat = {t.y[0] for label, (t, *_) in drawn.items() if "edge" not in label
                and label not in [look[0] for look in known.STYLES.values()]}  # fmt: skip
        np.testing.assert_allclose(sorted(parsed(levels)), sorted(flat), atol=0.051)


@ALL
@EVERY
def test_differences_are_layer_norm_minus_the_other_network(name, case, runs):
    known, learning_curves = runs[name, case], module(name).LEARNING_CURVES
    (figure,) = learning_curves.draw_curves(known, "lead")
    drawn, wanted, labels = lines(figure), [], []
    where, own = curves(name, case, LAYER)
    for other in known.others(MAIN):
        _, theirs = curves(name, case, other)
        leads = [[a - b for a, b in zip(own[s], theirs[s], strict=True)]
                 for s in sorted(own.keys() & theirs.keys())]  # fmt: skip
        label = known.STYLES[other][0]
        check_band(drawn[f"compared with {label}"], where, leads)
        means = [fmean(column) for column in zip(*leads, strict=True)]
        best = means.index(min(means))
        wanted += [abs(means[best]), where[best], abs(means[-1])]
        labels.append((label, means[best], means[-1]))
    text = learning_curves.describe_curves(known, "lead")
    result = parsed(without(text, [label for label, *_ in labels]))[:-1]  # without the seeds
    np.testing.assert_allclose(result, wanted, atol=0.51, rtol=0)
    np.testing.assert_allclose(result[::3], wanted[::3], atol=0.51 * 10**-learning_curves.digits)
    np.testing.assert_allclose(result[2::3], wanted[2::3], atol=0.51 * 10**-learning_curves.digits)
    for part, (label, best, last) in zip(text.partition(": ")[2].split("; "), labels, strict=True):
        assert label in part
        sides = [word.strip("., ") for word in part.split() if "ahead" in word or "behind" in word]
        assert sides == ["ahead" if value < 0 else "behind" for value in (best, last)]


def first_at(target, times, values):
    """The first time at which a falling curve reaches a target; NaN if it never does."""
    if values[0] <= target:
        return times[0]
    time, low = times[0], values[0]
    for t, value in zip(times[1:], values[1:], strict=True):
        if value >= low:
            continue
        if value <= target:
            return time + (low - target) / (low - value) * (t - time)
        time, low = t, value
    return math.nan


@ALL
@EVERY
def test_relative_training_times_are_times_to_each_point_of_the_other_network(name, case, runs):
    known, learning_curves = runs[name, case], module(name).LEARNING_CURVES
    (figure,) = learning_curves.draw_curves(known, "share")
    drawn, result = lines(figure), arms(name, case)
    text = learning_curves.describe_curves(known, "share")
    wanted = []
    for other in known.others(MAIN):
        rows = []
        for seed in sorted(result[LAYER].keys() & result[other].keys()):
            ours, theirs = result[LAYER][seed], result[other][seed]
            updates = oracle.updates(theirs)
            early = min(CHAPTERS[name].early, updates[-1])
            row, lowest = [], math.inf
            for k, value in enumerate(oracle.score(theirs)):
                lowest = min(lowest, value)
                reached = first_at(lowest, oracle.updates(ours), oracle.score(ours))
                if updates[k] >= early:
                    row.append(reached / updates[k])
            rows.append(row)
        where, shares = known.relative_training_time(MAIN, other)
        np.testing.assert_allclose(shares, rows, rtol=1e-6)
        late = [u for u in updates if u >= early]
        np.testing.assert_allclose(where, late)
        percent = [[100 * share for share in row] for row in rows]
        middle, *edges = drawn[f"compared with {known.STYLES[other][0]}"]
        np.testing.assert_allclose(middle.y, np.mean(percent, 0), rtol=1e-6)
        if edges[0] is not None:
            np.testing.assert_allclose(edges[0].y, np.min(percent, 0), rtol=1e-6)
            np.testing.assert_allclose(edges[1].y, np.max(percent, 0), rtol=1e-6)
        mean = np.mean(percent, 0)
        for k in (len(late) // 4, -1):
            wanted += [*([] if math.isnan(mean[k]) else [mean[k]]), late[k]]
    labels = [label[0].upper() + label[1:] for label, *_ in known.STYLES.values()]
    numbers = parsed(without(text, labels))[:-1]
    np.testing.assert_allclose(numbers, wanted, atol=0.51)


@ALL
def test_rates_are_drawn_with_mean_lowest_losses_and_the_best_is_marked(name, runs):
    known, learning_curves = runs[name, "better"], module(name).LEARNING_CURVES
    (figure,) = learning_curves.draw_rates(known)
    text = learning_curves.describe_rates(known)
    rings = [(t.x[0], t.y[0]) for t in figure.data if t.mode == "markers"]
    chapter, wanted, marked = CHAPTERS[name], [], []
    for arm, (label, *_) in known.STYLES.items():
        of = oracle.matching(sweep(name), chapter.experiment, **ARMS[chapter.experiment][arm])
        lows = {}
        for run in of:
            low = chapter.factor * min(oracle.known(oracle.score(run)))
            lows.setdefault(run["settings"]["learning_rate"], []).append(low)
        means = {rate: fmean(values) for rate, values in sorted(lows.items())}
        (line,) = [t for t in figure.data if t.name == label]
        np.testing.assert_allclose(line.x, list(means))
        np.testing.assert_allclose(line.y, list(means.values()), rtol=1e-9)
        best = min(means, key=means.get)
        marked.append((best, means[best]))
        wanted += [best, means[best], max(means.values())]
        (part,) = [p for p in text.split("; ") if f"{label} at " in p]
        assert ("the edge of the grid" in part) == (best != sorted(means)[1])
    np.testing.assert_allclose(rings, marked, rtol=1e-9)
    reported = without(text.partition(": ")[2], [look[0] for look in known.STYLES.values()])
    np.testing.assert_allclose(parsed(reported), wanted, atol=0.51 * 10**-learning_curves.digits)
